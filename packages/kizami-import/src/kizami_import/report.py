"""What an import did: each row of the source is imported, known from before, or skipped for a reason."""

from __future__ import annotations

from collections import Counter

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    Kind = Literal["observation", "summary", "prompt", "chunk"]
    Reason = Literal[
        "empty",
        "internal",
        "private",
        "other project",
        "repeated",
        "saved from its transcript",
        "deleted there",
        "broken",
    ]


class Project(Record):
    """A project of the source, where its memories are kept, and how many rows of it are here."""

    name: str
    project_path: str
    rows: int


class ImportReport(Record):
    """What an import did, or would do. Counts are of rows of the source, by kind.

    ``known`` rows were imported before (their chunks may have been deleted since), ``updated`` ones of these
    have grown. ``moved`` chunks left ``claude-mem:NAME``, since the folder is known now.
    """

    source: str
    is_dry_run: bool
    sessions: int
    imported: Mapping[str, int]
    known: Mapping[str, int]
    updated: Mapping[str, int]
    skipped: Mapping[str, Mapping[str, int]]
    chunks_written: int
    moved: int
    projects: tuple[Project, ...]


class Tally:
    """Counts while an import runs."""

    def __init__(self) -> None:
        self.imported: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.updated: Counter[str] = Counter()
        self.chunks_written = 0
        self.moved = 0
        self._skipped: dict[str, Counter[str]] = {}
        self._sessions: set[str] = set()
        self._projects: Counter[tuple[str, str]] = Counter()

    def skip(self, kind: Kind, reason: Reason, rows: int = 1) -> None:
        """Count rows that are left out."""
        if rows:
            self._skipped.setdefault(reason, Counter())[kind] += rows

    def keep(self, session_id: str, name: str, project_path: str) -> None:
        """Count a row that is here after the import."""
        self._sessions.add(session_id)
        self._projects[name, project_path] += 1

    def report(self, source: str, *, is_dry_run: bool) -> ImportReport:
        """Return the counts, projects with most rows first."""
        projects = sorted(self._projects.items(), key=lambda item: (-item[1], item[0]))
        return ImportReport(
            source,
            is_dry_run,
            len(self._sessions),
            dict(sorted(self.imported.items())),
            dict(sorted(self.known.items())),
            dict(sorted(self.updated.items())),
            {reason: dict(sorted(kinds.items())) for reason, kinds in sorted(self._skipped.items())},
            self.chunks_written,
            self.moved,
            tuple(Project(name, path, rows) for (name, path), rows in projects),
        )
