"""Forgetting in the archives of what maintenance removed (``maintenance.keeping``): they are rewritten."""

from __future__ import annotations

import os

from kizami_core.archive.files import file_lines, write_file
from kizami_core.archive.lines import ResolutionLine, SessionLine, read_lines
from kizami_core.archive.writing import archive_lines
from kizami_core.errors import ArchiveError
from kizami_core.forgetting.memories import keep_away
from kizami_core.json_text import parse
from kizami_core.records import Record
from kizami_core.storage.connection import transaction
from kizami_core.storage.turn_states import TurnState

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from kizami_core.archive.lines import Line
    from kizami_core.forgetting.wanted import Wanted

_ENDINGS = (".jsonl", ".jsonl.gz")
_PARTIAL = ".partial"  # what a process that was killed left of a file


class ArchiveTrace(Record):
    """An archive that holds the text in so many ``chunks``, or that can't be read to its end (None)."""

    path: str
    chunks: int | None


def archives_holding(folder: str, wanted: Wanted) -> list[ArchiveTrace]:
    """Return the archives of a folder that hold a text, or may hold it, in the order of their names."""
    traces = []
    for path in _files(folder, _ENDINGS):
        try:
            count = sum(number for _, number in _without(wanted, path, {}))
        except (ArchiveError, OSError):
            traces.append(ArchiveTrace(path, None))
            continue
        if count:
            traces.append(ArchiveTrace(path, count))
    return traces


def clean_archives(connection: sqlite3.Connection, folder: str, wanted: Wanted) -> list[ArchiveTrace]:
    """Write the archives that hold a text without it; return what was found, as ``archives_holding`` does.

    What is taken out of them is kept away from the database too, so that no copy of such an archive brings it
    back. A file that can't be read is left as it is.

    Raises:
        OSError: a file can't be written.
    """
    with transaction(connection):
        # Maintenance writes its files under this lock, so nobody is at work on these.
        for path in _files(folder, (_PARTIAL,)):
            os.unlink(path)
    traces = archives_holding(folder, wanted)
    for trace in traces:
        if trace.chunks is None:
            continue
        taken: dict[str, tuple[TurnState, set[int]]] = {}
        for _ in _without(wanted, trace.path, taken):
            pass  # read once to know what is taken, since a large archive does not fit into memory
        with transaction(connection):
            for state, places in taken.values():
                keep_away(connection, state.uuid, state.session_id, state.started_at, places)
        left = (line for line, _ in _without(wanted, trace.path, {}) if line is not None)
        write_file(trace.path, archive_lines(left))
    return traces


def _without(
    wanted: Wanted, path: str, taken: dict[str, tuple[TurnState, set[int]]]
) -> Iterator[tuple[Line | None, int]]:
    """Yield the lines of an archive without a text, None for one that goes, and how much each lost.

    Args:
        wanted: the text.
        path: the archive.
        taken: what is filled with the turns that lose parts, and the places of these.
    """
    project = ""
    for line in read_lines(file_lines(path), path):
        if isinstance(line, SessionLine):
            project = line.project_path
        if not wanted.is_of(project):
            yield line, 0
        elif isinstance(line, TurnState):
            places = _places(wanted, line)
            if places:
                taken[line.uuid] = (line, places)
            yield _stripped(line, places), len(places)
        elif isinstance(line, ResolutionLine):
            is_held = wanted.is_held_by(line.command) or wanted.is_held_by(line.error)
            is_taken = line.failed_turn in taken or line.resolved_turn in taken
            yield (None, int(not is_taken)) if is_held or is_taken else (line, 0)
        else:
            yield line, 0


def _places(wanted: Wanted, state: TurnState) -> set[int]:
    contents = {number: part.content for number, part in sorted(state.parts.items())}
    found = wanted.places(contents)
    found |= {number for number, part in state.parts.items() if _is_in_metadata(wanted, part.metadata)}
    is_awaited = state.awaited_answer is not None and wanted.is_held_by(state.awaited_answer)
    return found or (set(contents) if is_awaited else found)


def _is_in_metadata(wanted: Wanted, metadata: str) -> bool:
    lists = parse(metadata)
    assert isinstance(lists, dict)  # as it was read
    return any(
        isinstance(text, str) and wanted.is_held_by(text)
        for texts in lists.values()
        if isinstance(texts, list)
        for text in texts
    )


def _stripped(state: TurnState, places: set[int]) -> TurnState:
    if not places:
        return state
    return state.replace(
        awaited_answer=state.awaited_answer and "",
        deleted_parts=state.deleted_parts | places,
        parts={number: part for number, part in state.parts.items() if number not in places},
    )


def _files(folder: str, endings: tuple[str, ...]) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(endings)]
