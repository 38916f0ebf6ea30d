"""Importing an archive: what it knows and what the database knows become one (``joining``).

Lines are taken in batches, each one transaction. An import that is interrupted, or ends at a damaged line,
has taken in whole turns, and importing again completes it.
"""

from __future__ import annotations

from itertools import islice

from kizami_core.archive.joining import join
from kizami_core.archive.lines import Alias, ResolutionLine, SessionLine
from kizami_core.archive.writing import masked
from kizami_core.errors import ArchiveError
from kizami_core.privacy import redact
from kizami_core.records import Record
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import transaction
from kizami_core.storage.maintenance_log import write_log
from kizami_core.storage.project_aliases import join_alias, moved_path
from kizami_core.storage.resolutions import join_resolution, remove_deleted_resolutions
from kizami_core.storage.sessions import (
    list_sessions,
    move_session,
    name_parent,
    refresh_sessions,
    stored_session,
)
from kizami_core.storage.space import optimize_indexes, reclaim_space
from kizami_core.storage.turn_states import drop_repeated, move_turn, order_session, turn_state, write_state
from kizami_core.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from kizami_core.archive.lines import Line
    from kizami_core.storage.turn_states import TurnState

_BATCH_LINES = 300


class ImportReport(Record):
    """What an import did, or on a dry run would do. Of a changed turn the difference in chunks counts."""

    sessions: int
    turns_added: int
    turns_changed: int
    turns_unchanged: int
    chunks_added: int
    chunks_removed: int


def import_archive(
    connection: sqlite3.Connection, lines: Iterator[Line], *, now: float, dry_run: bool = False
) -> ImportReport:
    """Take in the lines of an archive; on a dry run only count.

    Raises:
        ArchiveError: a line can't be used. What came before it has been taken in, unless ``dry_run``.
    """
    importer = _Importer(connection, now=now, dry_run=dry_run)
    failure: ArchiveError | None = None
    while failure is None:
        batch: list[Line] = []
        try:
            batch.extend(islice(lines, _BATCH_LINES))
        except ArchiveError as error:
            failure = error
        if batch:
            importer.take(batch)
        elif failure is None:
            break
    importer.finish()
    if failure is not None:
        raise failure
    return importer.report()


class _Importer:
    """Takes batches of lines, and counts."""

    def __init__(self, connection: sqlite3.Connection, *, now: float, dry_run: bool) -> None:
        self._connection = connection
        self._now = now
        self._dry_run = dry_run
        self._session = SessionLine("", "", None, None)
        # Of this batch: the sessions that changed, and the projects that they were moved to.
        self._touched: dict[str, None] = {}
        self._paths: dict[str, str] = {}
        self._parents: dict[str, str] = {}
        self._sessions = self._added = self._changed = self._unchanged = 0
        self._chunks_added = self._chunks_removed = 0

    def take(self, batch: list[Line]) -> None:
        if self._dry_run:
            self._take(batch)
            return
        with transaction(self._connection):
            self._take(batch)
            self._settle()

    def finish(self) -> None:
        """Note the import in the log; nothing of deleted texts is left in indexes and free pages."""
        if self._dry_run or not (self._added or self._changed):
            return
        report = self.report()
        with transaction(self._connection):
            if report.chunks_removed:
                optimize_indexes(self._connection)
            detail = (
                f"turns added: {report.turns_added}, changed: {report.turns_changed}, "
                f"chunks added: {report.chunks_added}"
            )
            write_log(self._connection, "import", detail, now=self._now, chunks_deleted=report.chunks_removed)
        if report.chunks_removed:
            reclaim_space(self._connection)

    def report(self) -> ImportReport:
        return ImportReport(
            self._sessions,
            self._added,
            self._changed,
            self._unchanged,
            self._chunks_added,
            self._chunks_removed,
        )

    def _take(self, batch: list[Line]) -> None:
        for line in batch:
            if isinstance(line, SessionLine):
                self._sessions += 1
                self._take_session(line)
            elif isinstance(line, Alias):
                self._take_alias(line)
            elif isinstance(line, ResolutionLine):
                self._take_resolution(line)
            else:
                self._take_turn(masked(line))

    def _take_alias(self, alias: Alias) -> None:
        if self._dry_run or not join_alias(self._connection, (alias.old, alias.new, alias.renamed_at)):
            return
        for session in list_sessions(self._connection, include_agents=True):
            self._move(
                session.session_id,
                self._moved(session.project_path, session.started_at),
                session.project_path,
            )

    def _take_session(self, line: SessionLine) -> None:
        path = self._moved(line.project_path, line.started_at)
        stored = stored_session(self._connection, line.session_id)
        if stored is not None:
            # Which of two paths on different machines is the better one nobody knows; this is a choice.
            before = self._paths.get(line.session_id, stored.project_path)
            path = max(path, self._moved(before, stored.started_at))
            self._move(line.session_id, path, before)
        self._session = line.replace(project_path=path)
        if line.parent_session_id is not None:
            self._parents[line.session_id] = line.parent_session_id

    def _take_resolution(self, line: ResolutionLine) -> None:
        if not self._dry_run:
            command, error = redact(line.command), redact(line.error)
            session_id = join_resolution(
                self._connection, line.failed_turn, command, error, line.resolved_turn
            )
            if session_id is not None:
                self._touched[session_id] = None

    def _take_turn(self, state: TurnState) -> None:
        found = turn_state(self._connection, state.uuid)
        stored = None if found is None else masked(found)
        joined = join(state, state if stored is None else stored)
        if joined == stored:
            self._unchanged += 1
            return
        difference = len(joined.parts) - (len(stored.parts) if stored else 0)
        self._added += stored is None
        self._changed += stored is not None
        self._chunks_added += max(difference, 0)
        self._chunks_removed += max(-difference, 0)
        if not self._dry_run:
            self._write(joined, stored)

    def _write(self, joined: TurnState, stored: TurnState | None) -> None:
        session_id = joined.session_id
        home = stored_session(self._connection, session_id)
        path = self._paths.get(session_id, home.project_path if home else self._session.project_path)
        is_agent = home.parent_session_id is not None if home else self._session.parent_session_id is not None
        if stored is not None and stored.session_id != session_id:
            move_turn(self._connection, joined.uuid, session_id, path)
            self._touched[stored.session_id] = None
        write_state(
            self._connection,
            joined,
            project_path=path,
            is_agent=is_agent,
            imported_at=format_utc(self._now),
        )
        self._touched[session_id] = None

    def _moved(self, path: str, started_at: str | None) -> str:
        return moved_path(self._connection, path, started_at=started_at or "")

    def _move(self, session_id: str, path: str, before: str) -> None:
        if path != before and not self._dry_run:
            move_session(self._connection, session_id, path)
            self._paths[session_id] = path
            self._touched[session_id] = None

    def _settle(self) -> None:
        """Let everything follow that is derived from the turns of this batch."""
        for session_id in self._touched:
            self._chunks_removed += drop_repeated(self._connection, session_id)
            order_session(self._connection, session_id)
            remove_deleted_resolutions(self._connection, session_id)
        refresh_sessions(self._connection, self._touched)
        for session_id, parent in self._parents.items():
            name_parent(self._connection, session_id, parent)
        word_index.refresh(self._connection)
        self._touched.clear()
        self._paths.clear()
        self._parents = {
            session_id: parent
            for session_id, parent in self._parents.items()
            if session_id == self._session.session_id
        }
