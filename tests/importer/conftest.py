"""A database of Kizami's, and imports into it."""

import json
import sqlite3

import pytest

from claude_mem_databases import ClaudeMem
from kizami_core.config import Config
from kizami_core.storage.connection import open_database
from kizami_import import Folders, import_claude_mem, import_typescript

NOW = 1_798_761_600.0  # 2027-01-01 00:00:00 UTC


class Target:
    """Kizami's database, and Claude Code's folder beside it."""

    def __init__(self, folder):
        self.path = folder / "kizami" / "memory.db"
        self.claude_dir = folder / "claude"
        self.connection: sqlite3.Connection = open_database(str(self.path))
        self.config = Config(database_path=str(self.path))

    def folders(self, named=None):
        return Folders(self.connection, str(self.claude_dir), named)

    def import_claude_mem(self, source, *, named=None, **options):
        return import_claude_mem(
            self.connection,
            str(source),
            folders=self.folders(named),
            config=self.config,
            now=NOW,
            **options,
        )

    def import_typescript(self, source, **options):
        return import_typescript(
            self.connection, str(source), folders=self.folders(), config=self.config, now=NOW, **options
        )

    def contents(self):
        return [row[0] for row in self.connection.execute("SELECT content FROM chunks ORDER BY id")]

    def metadata(self):
        return [
            json.loads(row[0]) for row in self.connection.execute("SELECT metadata FROM chunks ORDER BY id")
        ]

    def projects(self):
        rows = self.connection.execute("SELECT DISTINCT session_id, project_path FROM chunks ORDER BY 1, 2")
        return rows.fetchall()

    def times(self):
        return [row[0] for row in self.connection.execute("SELECT created_at FROM chunks ORDER BY id")]

    def transcript(self, session_id, cwd):
        """Write the beginning of a transcript on disk; returns its path."""
        path = self.claude_dir / "projects" / "-lossy-name" / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        ids = {"sessionId": session_id, "cwd": str(cwd), "timestamp": "2026-01-05T01:00:00.000Z"}
        lines = [
            {"type": "file-history-snapshot"},
            {
                **ids,
                "type": "user",
                "uuid": f"{session_id}-u",
                "message": {"role": "user", "content": "Hello"},
            },
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path


@pytest.fixture
def target(tmp_path):
    made = Target(tmp_path)
    yield made
    made.connection.close()


@pytest.fixture
def source(tmp_path):
    """A database of the newest claude-mem with one conversation in it."""
    (tmp_path / "claude-mem").mkdir()
    made = ClaudeMem(tmp_path / "claude-mem" / "claude-mem.db")
    made.session("s1")
    return made
