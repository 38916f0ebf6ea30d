"""Databases and stores such as the TypeScript Kizami wrote them."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256

_CHUNKS = """
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, project_path TEXT NOT NULL,
  chunk_index INTEGER NOT NULL, content TEXT NOT NULL, role TEXT NOT NULL, metadata TEXT,
  created_at TEXT NOT NULL, token_count INTEGER NOT NULL DEFAULT 0
)
"""
_SESSIONS = """
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY, project_path TEXT NOT NULL, started_at TEXT, ended_at TEXT NOT NULL,
  chunk_count INTEGER DEFAULT 0, first_message TEXT, last_message TEXT
)
"""


def database(path, chunks, *, version=1, ended_at="2026-01-05T02:00:00.000Z"):
    """Write a database of a schema with chunks, each (session, project, index, content, created_at)."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(_CHUNKS)
        connection.execute(_SESSIONS)
        connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO schema_version VALUES (?)", (version,))
        if version >= 3:
            connection.execute("ALTER TABLE chunks ADD COLUMN external_id TEXT")
        if version >= 4:
            for column in ("turn_key TEXT", "source_order TEXT", "part_index INTEGER", "revision INTEGER"):
                connection.execute(f"ALTER TABLE chunks ADD COLUMN {column}")
        for session, project, index, content, created_at in chunks:
            connection.execute(
                "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
                " VALUES (?, ?, ?, ?, 'mixed', ?)",
                (session, project, index, content, created_at),
            )
            connection.execute(
                "INSERT OR IGNORE INTO sessions(session_id, project_path, ended_at) VALUES (?, ?, ?)",
                (session, project, ended_at),
            )


def chunk(content, *, session="s1", project="/p", number=0, name=None):
    """Return a line of the store's first version."""
    return {
        "v": 1,
        "type": "chunk",
        "id": name or f"{session}-{number}",
        "sessionId": session,
        "projectPath": project,
        "chunkIndex": number,
        "content": content,
        "role": "mixed",
        "metadata": None,
        "tokenCount": 1,
        "createdAt": "2026-01-05T01:00:00.000Z",
    }


def checkpoint(*contents, session="s1", turn="t1", revision=0, epoch=0):
    """Return a turn of the store's second version."""
    return {
        "v": 2,
        "type": "turn_checkpoint",
        "txId": "",
        "sessionId": session,
        "turnKey": turn,
        "historyEpoch": epoch,
        "revision": revision,
        "completedAt": "2026-01-05T01:30:00.000Z",
        "projectPath": "/p",
        "parts": [
            {"partIndex": number, "externalId": f"{turn}-{number}", "content": content}
            for number, content in enumerate(contents)
        ],
    }


def reset(*, session="s1", epoch=1):
    return {"v": 2, "type": "session_reset", "txId": "", "sessionId": session, "historyEpoch": epoch}


def deletion(name, *, session="s1"):
    return {"v": 2, "type": "chunk_delete", "txId": "", "sessionId": session, "externalId": name}


def transaction(*payloads, tx="x", count=None):
    """Return the lines of a whole transaction; a wrong ``count`` makes it broken."""
    lines = [json.dumps(payload, ensure_ascii=False) for payload in payloads]
    commit = {
        "v": 2,
        "type": "tx_commit",
        "txId": tx,
        "recordCount": len(lines) if count is None else count,
        "payloadDigest": sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest(),
    }
    return [json.dumps({"v": 2, "type": "tx_begin", "txId": tx}), *lines, json.dumps(commit)]


def write_store(folder, *lines, name="2026-01-host.jsonl"):
    """Write a file of a store; its lines are texts or values."""
    folder.mkdir(exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return folder
