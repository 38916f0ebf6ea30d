"""Whose database a file is: ours, one that the specification's version 1 describes, or another program's."""

from __future__ import annotations

from kizami_core.errors import ForeignSchemaError, SchemaTooNewError
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.storage.schema import APPLICATION_ID, SCHEMA_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_SPEC_TABLES = {"chunks", "chunks_fts", "sessions", "maintenance_log"}
_SPEC_COLUMNS = tuple(
    "id session_id project_path chunk_index content role metadata created_at token_count".split()
)


class _Kind(Record):
    """What tells whose database this is: application id, schema version (0 for none), tables, our columns."""

    application_id: int
    version: int
    tables: frozenset[str]
    columns: tuple[str, ...]


def _read_kind(connection: sqlite3.Connection) -> _Kind:
    """Read it all from one state of the file: another process may be migrating it."""
    is_ours = not connection.in_transaction
    if is_ours:
        connection.execute("BEGIN")
    try:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = frozenset(row[0] for row in rows)
        application_id = connection.execute("PRAGMA application_id").fetchone()[0]
        version = 0
        if "schema_version" in tables:
            version = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()[0]
        columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(chunks)"))
    finally:
        if is_ours and connection.in_transaction:
            connection.execute("ROLLBACK")
    return _Kind(application_id, version, tables, columns)


def check_kind(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version to go on from, 0 for an empty database; refuse what is not ours to touch.

    Raises:
        SchemaTooNewError: a newer Kizami wrote it.
        ForeignSchemaError: it holds the tables of another program, or of a later TypeScript Kizami.
    """
    kind = _read_kind(connection)
    version = kind.version
    if kind.application_id == APPLICATION_ID:
        if version > SCHEMA_VERSION:
            raise SchemaTooNewError(
                Message(
                    "{path} was written by a newer Kizami (schema {version}, this one knows "
                    "{known}). Upgrade: pip install --upgrade kizami-cli",
                    path=path,
                    version=version,
                    known=SCHEMA_VERSION,
                )
            )
        return version
    if not kind.tables:
        return 0
    if version == 1 and kind.columns == _SPEC_COLUMNS and kind.tables >= _SPEC_TABLES:
        return 1
    if kind.tables >= {"chunks", "sessions", "schema_version"}:
        raise ForeignSchemaError(
            Message(
                "{path} holds the tables of a later TypeScript Kizami (schema {version}); it was left "
                "untouched. Name another file with database.path in Kizami's config.json, or move this one "
                "away; then `kizami import-typescript --source {path}` brings its memories in.",
                path=path,
                version=version,
            )
        )
    raise ForeignSchemaError(
        Message(
            "{path} holds the tables of another program; it was left untouched. Name another file with "
            "database.path in Kizami's config.json, or move this one away.",
            path=path,
        )
    )
