"""Retrieval: from a query to scored chunks, and to the text that is shown of them."""
