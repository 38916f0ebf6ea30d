"""Storage: the SQLite database, its tables and the rows in them."""
