"""Databases such as claude-mem made them, of several versions, with rows of our own."""

import json
import sqlite3
from contextlib import closing

GENERATIONS = (4, 10, 23, 52)
_OBSERVATIONS = (
    "project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT,"
    " narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,"
    " created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL"
)
_SUMMARIES = (
    "project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,"
    " files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,"
    " created_at_epoch INTEGER NOT NULL"
)
_SESSIONS = (
    "project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL,"
    " status TEXT NOT NULL DEFAULT 'active'"
)
_PROMPTS = (
    "prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL,"
    " created_at_epoch INTEGER NOT NULL"
)
START = 1_767_574_800  # 2026-01-05 01:00:00 UTC


class ClaudeMem:
    """Writes a database of one generation (its schema's number) of claude-mem."""

    def __init__(self, path, generation=52):
        self.path = path
        self._content = "content_session_id" if generation >= 17 else "claude_session_id"
        self._observer = "memory_session_id" if generation >= 17 else "sdk_session_id"
        self._has_prompts = generation >= 10
        late = ", merged_into_project TEXT, metadata TEXT" if generation >= 52 else ""
        self.execute(f"CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, {self._content} TEXT NOT NULL,"
                     f" {self._observer} TEXT UNIQUE, {_SESSIONS})")  # fmt: skip
        self.execute(f"CREATE TABLE observations (id INTEGER PRIMARY KEY, {self._observer} TEXT NOT NULL,"
                     f" {_OBSERVATIONS}{late})")  # fmt: skip
        self.execute(f"CREATE TABLE session_summaries (id INTEGER PRIMARY KEY,"
                     f" {self._observer} TEXT NOT NULL, {_SUMMARIES})")  # fmt: skip
        if self._has_prompts:
            self.execute(f"CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, {self._content} TEXT NOT NULL,"
                         f" {_PROMPTS})")  # fmt: skip

    def execute(self, statement, values=()):
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement, values)

    def session(self, name, project="shop", prompt=None, at=START):
        """Add a conversation; its observer is called after it."""
        self._insert(
            "sdk_sessions",
            {self._content: name, self._observer: f"{name}-observer", "project": project,
             "user_prompt": prompt, "started_at": _iso(at), "started_at_epoch": at * 1000},
        )  # fmt: skip

    def prompt(self, session, text, number=1, at=START):
        if self._has_prompts:
            self._insert(
                "user_prompts",
                {self._content: session, "prompt_number": number, "prompt_text": text, **_times(at)},
            )

    def observation(self, session, title=None, *, project="shop", at=START, **columns):
        """Add an observation; lists become JSON."""
        self._insert(
            "observations",
            {self._observer: f"{session}-observer", "project": project, "type": "discovery", "title": title,
             **_times(at), **{name: _json(value) for name, value in columns.items()}},
        )  # fmt: skip

    def summary(self, session, *, project="shop", at=START, **columns):
        self._insert(
            "session_summaries",
            {self._observer: f"{session}-observer", "project": project, **_times(at),
             **{name: _json(value) for name, value in columns.items()}},
        )  # fmt: skip

    def _insert(self, table, values):
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self.execute(f"INSERT INTO {table}({names}) VALUES ({marks})", tuple(values.values()))


def ancient(path):
    """Write a database as claude-mem 3 made them."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE sessions (id INTEGER PRIMARY KEY, session_id TEXT, project TEXT, created_at TEXT,
              created_at_epoch INTEGER);
            CREATE TABLE memories (id INTEGER PRIMARY KEY, session_id TEXT, text TEXT NOT NULL, keywords TEXT,
              created_at TEXT, created_at_epoch INTEGER, project TEXT, title TEXT, subtitle TEXT, facts TEXT,
              concepts TEXT, files_touched TEXT);
            CREATE TABLE overviews (id INTEGER PRIMARY KEY, session_id TEXT, content TEXT, created_at TEXT,
              created_at_epoch INTEGER, project TEXT);
            CREATE TABLE streaming_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT,
              sdk_session_id TEXT, project TEXT, user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER);
            CREATE TABLE transcript_events (id INTEGER PRIMARY KEY, session_id TEXT, raw_json TEXT);
            """
        )
        at = (_iso(START), START * 1000)
        connection.execute("INSERT INTO sessions VALUES (1, 'old', 'shop', ?, ?)", at)
        connection.execute(
            "INSERT INTO memories VALUES (1, 'old', '認証はJWTを使う', 'auth, jwt', ?, ?, 'shop',"
            " 'Auth uses JWT', NULL, '[\"15 minutes\"]', '[\"decision\"]', '[\"auth.py\"]')",
            at,
        )
        connection.execute(
            "INSERT INTO overviews VALUES (1, 'old', 'The login was built.', ?, ?, 'shop')", at
        )
        connection.execute(
            "INSERT INTO streaming_sessions VALUES (1, 'old', NULL, 'shop', 'Build the login', ?, ?)", at
        )
        connection.execute("INSERT INTO transcript_events VALUES (1, 'old', '{\"raw\": \"payload\"}')")


def _times(at):
    return {"created_at": _iso(at), "created_at_epoch": at * 1000}


def _iso(at):
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', ?, 'unixepoch')", (at,)).fetchone()[
            0
        ]


def _json(value):
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
