"""Errors that Kizami raises on purpose.

::

    KizamiError
    ├── ConfigError            a value given on the command line or to the library can't be used
    ├── TranscriptError        a transcript can't be opened or read
    ├── ArchiveError           a file to import is damaged, cut off or no archive of Kizami
    ├── NotFoundError          an id, session or project names nothing, or more than one thing
    ├── StorageError           the database can't be opened, read or written
    │   ├── DatabaseBusyError      another process holds the lock for longer than we wait
    │   ├── DatabaseCorruptError   the file is damaged: `kizami doctor` tells what can be saved
    │   ├── SchemaTooNewError      a newer Kizami wrote it: upgrade
    │   ├── ForeignSchemaError     another program's tables stand at the path: name another path
    │   └── UnsupportedSqliteError this Python's SQLite is too old or lacks FTS5's trigram tokenizer
    └── SettingsError          Claude Code's settings.json can't be merged safely

Each message ends with what to do. Hooks turn all of them into one line of the error log and exit 0.
"""

from __future__ import annotations


class KizamiError(Exception):
    """Base of every error that Kizami raises on purpose."""


class ConfigError(KizamiError):
    """A value can't be used: correct it as the message says."""


class TranscriptError(KizamiError):
    """A transcript can't be opened or read: check the path and its permissions."""


class ArchiveError(KizamiError):
    """A file can't be imported (further): get a whole copy and import it again, nothing comes twice."""


class NotFoundError(KizamiError):
    """A name or id matches nothing, or is a prefix of more than one: list the ids and choose one."""


class StorageError(KizamiError):
    """The database can't be used."""


class DatabaseBusyError(StorageError):
    """Another process holds the write lock: try again when it has finished."""


class DatabaseCorruptError(StorageError):
    """The file is damaged: `kizami doctor` tells whether it can be repaired, or what can be rescued."""


class SchemaTooNewError(StorageError):
    """The database was written by a newer Kizami: upgrade this one."""


class ForeignSchemaError(StorageError):
    """The file belongs to another program (a later TypeScript Kizami): set another ``database.path``."""


class UnsupportedSqliteError(StorageError):
    """SQLite is older than 3.34 or built without FTS5: use another Python."""


class SettingsError(KizamiError):
    """Claude Code's settings can't be parsed, so they are left as they are: repair the file first."""
