"""Maintenance: what keeps the database small, sound and free of repetition."""
