"""Writing an archive: everything that is known, line by line, in an order that only its contents decide.

Secrets are masked once more, for rows that other programs wrote.
"""

from __future__ import annotations

import json

from kizami_core.archive.lines import Alias, ResolutionLine, SessionLine, header, trailer, written
from kizami_core.json_text import parse
from kizami_core.privacy import redact
from kizami_core.storage.project_aliases import all_aliases
from kizami_core.storage.resolutions import session_resolutions
from kizami_core.storage.sessions import stored_session
from kizami_core.storage.turn_states import session_ids, session_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from kizami_core.archive.lines import Line
    from kizami_core.storage.turn_states import Part, TurnState


def export_archive(
    connection: sqlite3.Connection, *, project_path: str | None = None, since: str = ""
) -> Iterator[str]:
    """Yield the lines of an archive of one project, or of all (None), turns from ``since`` on (UTC text).

    What is exported is one moment's state, whatever is saved meanwhile. Memory does not grow with the
    database.
    """
    is_own = not connection.in_transaction
    if is_own:
        connection.execute("BEGIN")
    try:
        yield from archive_lines(_everything(connection, project_path, since))
    finally:
        if is_own:
            connection.execute("COMMIT")


def archive_lines(lines: Iterator[Line]) -> Iterator[str]:
    """Yield the texts of lines with what an archive begins and ends with."""
    yield header()
    count = 0
    for line in lines:
        yield written(line)
        count += 1
    yield trailer(count)


def session_lines(
    connection: sqlite3.Connection,
    session_id: str,
    chosen: Callable[[TurnState], TurnState | None],
) -> Iterator[Line]:
    """Yield a session with what ``chosen`` makes of each of its turns (None: left out), or nothing at all."""
    session = stored_session(connection, session_id)
    uuids: set[str] = set()
    for state in session_states(connection, session_id):
        kept = chosen(state)
        if kept is None:
            continue
        if not uuids and session is not None:
            yield SessionLine(session_id, session.project_path, session.parent_session_id, session.started_at)
        uuids.add(kept.uuid)
        yield masked(kept)
    for failed, command, error, resolved in session_resolutions(connection, session_id):
        if failed in uuids and (resolved is None or resolved in uuids):
            yield ResolutionLine(session_id, failed, redact(command), redact(error), resolved)


def masked(state: TurnState) -> TurnState:
    """Return a turn without what looks like secrets or is private."""
    answer = state.awaited_answer
    return state.replace(
        awaited_answer=None if answer is None else redact(answer),
        parts={number: _masked_part(part) for number, part in state.parts.items()},
    )


def _everything(connection: sqlite3.Connection, project_path: str | None, since: str) -> Iterator[Line]:
    if project_path is None:
        for alias in all_aliases(connection):
            yield Alias(*alias)

    def chosen(state: TurnState) -> TurnState | None:
        latest = max([state.started_at, *(part.created_at for part in state.parts.values())])
        return state if latest >= since else None

    for session_id in session_ids(connection, project_path):
        yield from session_lines(connection, session_id, chosen)


def _masked_part(part: Part) -> Part:
    try:
        metadata = parse(part.metadata)
    except ValueError:
        metadata = {}
    lists = metadata if isinstance(metadata, dict) else {}
    kept = {
        str(key): [redact(item) for item in items if isinstance(item, str)]
        for key, items in lists.items()
        if isinstance(items, list)
    }
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return part.replace(content=redact(part.content), metadata=text)
