"""Transcripts: JSONL → entries → turns → text → chunks with their metadata."""
