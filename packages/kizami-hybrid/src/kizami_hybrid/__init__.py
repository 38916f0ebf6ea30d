"""Vectors beside Kizami's word search: the model, its resident process and the vector index."""
