"""The way back from maintenance: what it removes is first written to archives in the data directory.

Each run writes files of its own, which appear whole, so nothing that goes wrong later can damage them. What a
person deletes is never written here.
"""

from __future__ import annotations

import os

from kizami_core.archive.files import write_file
from kizami_core.archive.writing import archive_lines, session_lines
from kizami_core.errors import StorageError
from kizami_core.messages import Message
from kizami_core.paths import make_private_dir
from kizami_core.storage.chunks import bytes_by_session
from kizami_core.storage.connection import database_path
from kizami_core.storage.turn_states import places_of
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from kizami_core.archive.lines import Line
    from kizami_core.storage.turn_states import TurnState

_MB = 1024 * 1024
_FILES_WITHIN = 8  # so many files make the limit: of one large run only the oldest part has to go
_KINDS = ("deleted", "merged")
_ENDING = ".jsonl.gz"


def archive_folder(connection: sqlite3.Connection) -> str:
    """Return the folder of the archives: beside the database."""
    return os.path.join(os.path.dirname(database_path(connection)), "archive")


def keep_removed(
    connection: sqlite3.Connection,
    chunk_ids: Sequence[int],
    *,
    kind: Literal["deleted", "merged"],
    max_mb: float,
    now: float,
) -> list[str]:
    """Write chunks that are about to be removed to archives, and return the names of these.

    The oldest archives go until all together take at most ``max_mb``; 0 means that nothing is kept.

    Raises:
        StorageError: they can't be written; then the chunks must stay.
    """
    if not chunk_ids or not max_mb:
        return []
    places = places_of(connection, chunk_ids)
    folder = archive_folder(connection)
    written = []
    try:
        make_private_dir(folder)
        for sessions in _volumes(connection, places, max_mb * _MB / _FILES_WITHIN):
            name = _free_name(folder, kind, now)
            lines = (line for session in sessions for line in _removed(connection, session, places[session]))
            write_file(os.path.join(folder, name), archive_lines(lines))
            written.append(name)
        _drop_oldest(folder, max_mb * _MB)
    except OSError as error:
        raise StorageError(
            Message(
                "The archive of what maintenance removes can't be written to {folder} ({reason}), so "
                "nothing was removed. Free space, or set maintenance.archiveMaxMB to 0 in "
                "config.json.",
                folder=folder,
                reason=error.strerror,
            )
        ) from error
    return written


def _volumes(
    connection: sqlite3.Connection, places: Mapping[str, object], max_bytes: float
) -> Iterator[list[str]]:
    """Yield the sessions in groups that make a file each, those that ended first first."""
    group: list[str] = []
    filled = 0
    for session_id, size in bytes_by_session(connection).items():
        if session_id not in places:
            continue
        if group and filled + size > max_bytes:
            yield group
            group, filled = [], 0
        group.append(session_id)
        filled += size
    yield group


def _removed(
    connection: sqlite3.Connection, session_id: str, places: Mapping[str, set[int]]
) -> Iterator[Line]:
    def chosen(state: TurnState) -> TurnState | None:
        if state.uuid not in places:
            return None
        return state.replace(
            parts={place: part for place, part in state.parts.items() if place in places[state.uuid]}
        )

    return session_lines(connection, session_id, chosen)


def _free_name(folder: str, kind: str, now: float) -> str:
    moment = format_utc(now).replace("-", "").replace(":", "").replace(" ", "-")
    number = 1
    while os.path.exists(os.path.join(folder, f"{moment}-{kind}-{number:03}{_ENDING}")):
        number += 1
    return f"{moment}-{kind}-{number:03}{_ENDING}"


def _drop_oldest(folder: str, max_bytes: float) -> None:
    own = [
        name
        for name in sorted(os.listdir(folder))
        if name.endswith(_ENDING) and any(f"-{kind}-" in name for kind in _KINDS)
    ]
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in own}
    total = sum(sizes.values())
    for name in own:
        if total <= max_bytes:
            break
        os.unlink(os.path.join(folder, name))
        total -= sizes[name]
