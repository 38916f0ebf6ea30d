"""The database's tables and the numbered migrations that make them.

Version 1 is the schema of the specification, which the TypeScript Kizami writes at the same path: such a file
is carried on. Everything later is Kizami's own and is marked by SQLite's ``application_id``; the TypeScript
Kizami's versions 2 to 5 mean other tables, carry no mark and are refused untouched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x4B5A4D49  # "KZMI"

_VERSION_1 = """
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  project_path TEXT NOT NULL,
  chunk_index INTEGER NOT NULL,
  content TEXT NOT NULL,
  role TEXT NOT NULL CHECK(role IN ('human', 'assistant', 'mixed')),
  metadata TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  token_count INTEGER NOT NULL DEFAULT 0,
  UNIQUE(session_id, chunk_index)
);
CREATE INDEX idx_chunks_project ON chunks(project_path);
CREATE INDEX idx_chunks_created ON chunks(created_at DESC);
CREATE INDEX idx_chunks_session ON chunks(session_id);

CREATE VIRTUAL TABLE chunks_fts USING fts5(
  content,
  content=chunks,
  content_rowid=id,
  tokenize='trigram'
);
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts(rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER chunks_ad AFTER DELETE ON chunks BEGIN
  INSERT INTO chunks_fts(chunks_fts, rowid, content) VALUES('delete', old.id, old.content);
END;
CREATE TRIGGER chunks_au AFTER UPDATE OF content ON chunks BEGIN
  INSERT INTO chunks_fts(chunks_fts, rowid, content) VALUES('delete', old.id, old.content);
  INSERT INTO chunks_fts(rowid, content) VALUES (new.id, new.content);
END;

CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  project_path TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT NOT NULL DEFAULT (datetime('now')),
  chunk_count INTEGER DEFAULT 0,
  first_message TEXT,
  last_message TEXT
);
CREATE INDEX idx_sessions_project ON sessions(project_path);

CREATE TABLE schema_version (
  version INTEGER PRIMARY KEY,
  applied_at TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE TABLE maintenance_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  action TEXT NOT NULL,
  chunks_deleted INTEGER NOT NULL DEFAULT 0,
  bytes_freed INTEGER NOT NULL DEFAULT 0,
  executed_at TEXT NOT NULL DEFAULT (datetime('now'))
);
"""

# turns: the identity of what was saved. A row outlives its chunks, so that what a person or retention removed
#   is known and not saved again; is_locked says that (chunks edited or deleted: never rewritten).
#   text_length, in characters, tells an older reading of a growing turn from a newer one.
#   What merging two databases needs (archive/joining.py): reading is 'settled' once a person edited or
#   deleted a part, 'dropped' where maintenance took all parts (an import may bring them back); part_count is
#   the number of chunks that the reading made; tie orders turns of one session that began in the same second;
#   is_deleted: a person deleted the whole turn, everywhere and for good.
# chunks.part: the place of a chunk in its turn, from 0. edited_at: when a person last edited it, imported_at:
#   when an import brought it (retention counts its age from then), both UTC `YYYY-MM-DD HH:MM:SS`.
# deleted_parts: the parts of a turn that a person deleted. Chunks without a turn are parts of the row
#   `unidentified:<session>`, by their chunk_index.
# projects: small numbers for paths, used as scope tokens in the word index.
# project_aliases: folders that were moved (storage/project_aliases.py); the records of old transcripts go on
#   naming the old place. renamed_at is UTC `YYYY-MM-DD HH:MM:SS`: what began later at the old place is
#   another project.
# chunks_words: the word index (retrieval/word_index.py). It is contentless and holds no positions
#   (detail=none), which takes about a third of the space of positions; the reranker counts in the text.
# word_queue: what the word index has yet to follow: for each changed chunk, what the index holds for it now
#   (NULL: nothing). The triggers are plain SQL, so they also work in programs that don't have the analyzer,
#   and an edit by such a program is caught up later. Only the first change of a chunk is noted: the index
#   holds what was there before it. (NOT EXISTS rather than OR IGNORE, which an OR REPLACE of the outer
#   statement would override.)
# is_agent: the chunk is a sub-agent's, whose session row names its parent (parent_session_id: NULL for a
#   person's sessions, "" where the parent is unknown). A normal query never meets these: the word index holds
#   other terms for them.
# idx_sessions_size: how many chunks a project has, or all have, is summed from it before every prompt.
# awaited_answer: an answer that a hook told and the transcript did not hold yet, secrets masked;
#   awaited_after counts the answers of the turn that stood before it.
# transcripts: how far each file was read. offset, in bytes, is where the first turn that may still grow
#   begins; cwd, clock, queue, seen and begun are what the reader knew there (transcript/resume.py). size and
#   mtime (seconds since the epoch) are the file's when it was read, head a digest of what stands before
#   offset: a file that was written anew is read from its beginning. has_sidechains: sub-agents wrote into it,
#   which has yet to be saved.
# resolutions: a command that failed and later succeeded, byte for byte the same, in one session (secrets
#   masked). resolved_turn is NULL while it waits for that. Times and project are those of its turns and its
#   session.
# marks: what a person muted or pinned (storage/marks.py). Chunks keep their ids when they are saved again;
#   with a chunk that is deleted, by whatever program, its marks go.
_VERSION_2 = """
CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  text_length INTEGER NOT NULL,
  is_locked INTEGER NOT NULL DEFAULT 0 CHECK(is_locked IN (0, 1)),
  awaited_answer TEXT,
  awaited_after INTEGER,
  tie INTEGER NOT NULL DEFAULT 0,
  part_count INTEGER NOT NULL DEFAULT 0,
  reading TEXT NOT NULL DEFAULT 'open' CHECK(reading IN ('dropped', 'open', 'settled')),
  is_deleted INTEGER NOT NULL DEFAULT 0 CHECK(is_deleted IN (0, 1))
);
CREATE TABLE deleted_parts (
  turn_id INTEGER NOT NULL REFERENCES turns(id),
  part INTEGER NOT NULL,
  PRIMARY KEY(turn_id, part)
) WITHOUT ROWID;
CREATE INDEX idx_turns_session ON turns(session_id);
CREATE INDEX idx_turns_awaited ON turns(session_id) WHERE awaited_answer IS NOT NULL;
ALTER TABLE chunks ADD COLUMN turn_id INTEGER REFERENCES turns(id);
CREATE INDEX idx_chunks_turn ON chunks(turn_id);
ALTER TABLE chunks ADD COLUMN is_agent INTEGER NOT NULL DEFAULT 0 CHECK(is_agent IN (0, 1));
ALTER TABLE chunks ADD COLUMN part INTEGER;
ALTER TABLE chunks ADD COLUMN edited_at TEXT;
ALTER TABLE chunks ADD COLUMN imported_at TEXT;
ALTER TABLE sessions ADD COLUMN parent_session_id TEXT;
CREATE INDEX idx_sessions_size ON sessions(project_path, parent_session_id, chunk_count);
ALTER TABLE maintenance_log ADD COLUMN detail TEXT;

CREATE TABLE transcripts (
  path TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  offset INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime REAL NOT NULL,
  head TEXT NOT NULL,
  cwd TEXT NOT NULL,
  clock TEXT NOT NULL,
  queue TEXT NOT NULL,
  seen BLOB NOT NULL,
  begun TEXT NOT NULL,
  has_sidechains INTEGER NOT NULL CHECK(has_sidechains IN (0, 1))
);
CREATE INDEX idx_transcripts_session ON transcripts(session_id);
CREATE TABLE resolutions (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  command TEXT NOT NULL,
  error TEXT NOT NULL,
  failed_turn INTEGER NOT NULL REFERENCES turns(id),
  resolved_turn INTEGER REFERENCES turns(id),
  UNIQUE(failed_turn, command)
);
CREATE INDEX idx_resolutions_session ON resolutions(session_id);
CREATE INDEX idx_resolutions_resolved ON resolutions(resolved_turn);

CREATE TABLE projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  path TEXT NOT NULL UNIQUE
);
CREATE TABLE project_aliases (
  old TEXT PRIMARY KEY,
  new TEXT NOT NULL,
  renamed_at TEXT NOT NULL
);

CREATE TABLE marks (
  chunk_id INTEGER NOT NULL REFERENCES chunks(id),
  mark TEXT NOT NULL CHECK(mark IN ('muted', 'pinned')),
  PRIMARY KEY(chunk_id, mark)
) WITHOUT ROWID;
CREATE TRIGGER marks_ad AFTER DELETE ON chunks BEGIN
  DELETE FROM marks WHERE chunk_id = old.id;
END;

CREATE VIRTUAL TABLE chunks_words USING fts5(
  terms,
  content='',
  detail=none,
  columnsize=0,
  tokenize="ascii tokenchars '_.#+'"
);
CREATE TABLE word_queue (
  chunk_id INTEGER PRIMARY KEY,
  old_content TEXT,
  old_project_path TEXT,
  old_is_agent INTEGER
);
CREATE TRIGGER chunks_words_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO word_queue(chunk_id) SELECT new.id
    WHERE NOT EXISTS (SELECT 1 FROM word_queue WHERE chunk_id = new.id);
END;
CREATE TRIGGER chunks_words_ad AFTER DELETE ON chunks BEGIN
  INSERT INTO word_queue(chunk_id, old_content, old_project_path, old_is_agent)
    SELECT old.id, old.content, old.project_path, old.is_agent
    WHERE NOT EXISTS (SELECT 1 FROM word_queue WHERE chunk_id = old.id);
END;
CREATE TRIGGER chunks_words_au AFTER UPDATE OF content, project_path ON chunks
WHEN old.content <> new.content OR old.project_path <> new.project_path BEGIN
  INSERT INTO word_queue(chunk_id, old_content, old_project_path, old_is_agent)
    SELECT old.id, old.content, old.project_path, old.is_agent
    WHERE NOT EXISTS (SELECT 1 FROM word_queue WHERE chunk_id = old.id);
END;
INSERT INTO word_queue(chunk_id) SELECT id FROM chunks;
"""

# Statements of each version, run in one transaction together with its row in schema_version.
MIGRATIONS: dict[int, str] = {1: _VERSION_1, 2: _VERSION_2}
SCHEMA_VERSION = max(MIGRATIONS)


def statements(script: str) -> list[str]:
    """Split a script of this module into statements (triggers hold semicolons of their own)."""
    found: list[str] = []
    begun = ""
    for line in script.splitlines(keepends=True):
        begun += line
        ends = line.rstrip().endswith(";")
        if ends and ("CREATE TRIGGER" not in begun or line.strip() == "END;"):
            found.append(begun.strip())
            begun = ""
    return found


def apply_migration(connection: sqlite3.Connection, version: int) -> None:
    """Run one migration inside the caller's transaction."""
    for statement in statements(MIGRATIONS[version]):
        connection.execute(statement)
    connection.execute("INSERT INTO schema_version(version) VALUES (?)", (version,))
    if version >= 2:  # noqa: PLR2004 - from the first version of our own on
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
