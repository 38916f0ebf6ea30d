"""A small database of exchanges for the retrieval tests."""

import sqlite3

from kizami_core.config import Config
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import open_database, transaction

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
TODAY = "2026-01-01 00:00:00"
PROJECT = "/home/dev/app"
OTHER_PROJECT = "/home/dev/other-app"


def config(**changes):
    return Config(database_path="unused").replace(**changes)


def exchange(question, answer):
    return f"[User]\n{question}\n\n[Assistant]\n{answer}"


class MemoryBook:
    """Adds exchanges to a real database, one chunk each."""

    def __init__(self, path):
        self.connection: sqlite3.Connection = open_database(str(path))

    def add(self, question, answer, *, session="past", project=PROJECT, at=TODAY, content=None):
        with transaction(self.connection):
            place = self.connection.execute(
                "SELECT coalesce(max(chunk_index) + 1, 0) FROM chunks WHERE session_id = ?", (session,)
            ).fetchone()[0]
            row = self.connection.execute(
                "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at,"
                " token_count) VALUES (?, ?, ?, ?, 'mixed', ?, 1) RETURNING id",
                # Left gaps keep neighbours apart unless a test wants them together.
                (session, project, place * 2, content or exchange(question, answer), at),
            ).fetchone()
            self.connection.execute(
                "INSERT INTO sessions(session_id, project_path, ended_at, chunk_count, first_message,"
                " last_message) VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT(session_id) DO UPDATE SET"
                " chunk_count = chunk_count + 1, last_message = excluded.last_message,"
                " ended_at = excluded.ended_at",
                (session, project, at, question, question),
            )
            word_index.refresh(self.connection)
        return row[0]

    def add_noise(self, count=300, project=PROJECT):
        """Add exchanges about other things, so that rarity means something."""
        topics = [
            "一覧の並び替え",
            "画面の余白",
            "ログの整形",
            "button colours",
            "typing of the form",
            "テストの追加",
        ]
        for number in range(count):
            topic = topics[number % len(topics)]
            self.add(
                f"{topic} その{number}",
                f"{topic}を直しました。差分は{number}行です。",
                session=f"noise{number % 9}",
                project=project,
            )
