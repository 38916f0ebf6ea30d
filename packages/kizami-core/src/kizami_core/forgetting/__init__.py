"""Forgetting a text for good: in the database, beside it, and in what a later save would bring."""
