"""`kizami project rename`: the memories of a folder that was moved follow it."""

from __future__ import annotations

import os

from kizami_core.errors import ConfigError
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import transaction
from kizami_core.storage.maintenance_log import write_log
from kizami_core.storage.project_aliases import add_alias, is_within
from kizami_core.storage.project_rows import Rows, count_rows, find_folder, list_projects, move_rows
from kizami_core.storage.projects import resolve_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


class Renaming(Record):
    """What a renaming moves.

    ``moves`` holds pairs of project paths, before and after: more than one where projects lie below the
    folder. ``joined`` counts the sessions that the new paths held before.
    """

    old: str
    new: str
    moves: tuple[tuple[str, str], ...]
    sessions: int
    chunks: int
    joined: int


def rename_project(
    connection: sqlite3.Connection, old: str, new: str, *, now: float, dry_run: bool = False
) -> Renaming:
    """Bring the memories of a folder, and of the projects below it, to the folder that it was moved to.

    Transcripts that name the old folder belong to the new one from now on (``storage.project_aliases``).

    Args:
        connection: a connection that may write, unless ``dry_run``.
        old: the folder as it was, or the last part of the path of just one project.
        new: the folder as it is.
        now: seconds since the epoch.
        dry_run: only count.

    Raises:
        NotFoundError: nothing, or more than one thing, is stored under ``old``.
        ConfigError: there is no folder ``new``, or it is the same one.
    """
    target = os.path.realpath(os.path.abspath(new))
    if not os.path.isdir(target):
        raise ConfigError(
            Message(
                "{target} is no folder. Move the project there first, or correct the path.", target=target
            )
        )
    if dry_run:
        return _planned(connection, find_folder(connection, old), target)
    with transaction(connection):
        folder = find_folder(connection, old)
        planned = _planned(connection, folder, target)
        moved = [_move(connection, before, after) for before, after in planned.moves]
        add_alias(connection, folder, target, now=now)
        write_log(connection, "rename", f"{folder} → {target}", now=now)
    # Where two projects became one, the word index follows chunk by chunk. Other writers get their turn.
    word_index.catch_up(connection)
    return planned.replace(**_total(moved).as_dict())


def _planned(connection: sqlite3.Connection, old: str, new: str) -> Renaming:
    if is_within(new, old):
        # The folder went one level down. What lies below the old place need not have gone with it.
        stored = [old]
    else:
        stored = sorted(
            row.project_path for row in list_projects(connection) if is_within(row.project_path, old)
        )
    moves = tuple((path, resolve_project(new + path[len(old) :])) for path in stored)
    if any(before == after for before, after in moves):
        raise ConfigError(
            Message(
                "{old} and {new} are one project. Name the folder that it was moved to.", old=old, new=new
            )
        )
    total = _total([count_rows(connection, before) for before, _ in moves])
    joined = sum(count_rows(connection, path).sessions for path in {after for _, after in moves})
    return Renaming(old, new, moves, total.sessions, total.chunks, joined)


def _move(connection: sqlite3.Connection, old: str, new: str) -> Rows:
    word_index.refresh(connection)
    rows = move_rows(connection, old, new)
    word_index.rename_project(connection, old, new)
    return rows


def _total(counts: list[Rows]) -> Rows:
    return Rows(sum(rows.sessions for rows in counts), sum(rows.chunks for rows in counts))
