"""Where an import writes to, and what it takes of this machine for what its source does not say."""

from __future__ import annotations

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_import.folders import Folders


class Destination(Record):
    """Kizami's database, and how rows become turns of it.

    ``folders`` are those known on this machine; ``max_tokens`` bounds a chunk. ``now`` is in seconds since
    the epoch; ``fallback_time`` (UTC text) is that of rows without one. Of a dry run nothing is written.
    """

    connection: sqlite3.Connection
    folders: Folders
    max_tokens: int
    now: float
    fallback_time: str
    is_dry_run: bool
