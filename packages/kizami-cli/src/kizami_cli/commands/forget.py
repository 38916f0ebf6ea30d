"""`kizami forget`: a text goes for good, wherever Kizami keeps it, after showing what."""

from __future__ import annotations

import os
import sys
import time
from functools import partial

import click

from kizami_cli.chunk_text import show_chunk
from kizami_cli.console import confirm, count, say, short_ids, show, show_json
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.forgetting.erasure import find_traces, forget
from kizami_core.forgetting.wanted import Wanted
from kizami_core.privacy import redact_for_display
from kizami_core.retrieval.matches import matched_spans
from kizami_core.retrieval.query import analyze_query
from kizami_core.storage.chunks import find_chunk
from kizami_core.storage.sessions import list_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from kizami_core.forgetting.archives import ArchiveTrace
    from kizami_core.forgetting.erasure import Traces
    from kizami_core.messages import Message
    from kizami_core.records import Chunk

_SHOWN_CHUNKS = 20
_SHOWN_FILES = 10
_BEFORE, _AFTER = 60, 160  # characters of a chunk that are shown around the text
_NO_WORDS = analyze_query("")


@click.command("forget")
@common_options
@click.option(
    "--matching",
    required=True,
    metavar="TEXT",
    help="Forget what holds this text, within words too; width, case and white space don't matter.",
)
@click.option(
    "--with-backups",
    is_flag=True,
    help="Delete the backups of the database that hold it (memory.db.schema*.backup*).",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be erased.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: where the text was found.")
@click.pass_obj
def command(
    invocation: Invocation, matching: str, *, with_backups: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Erase for good every memory that holds a text (in all projects, unless --project names one).

    `kizami delete` deletes from the database. This leaves nothing: each chunk that holds the text goes, what
    was learnt from it, its traces in indexes, free pages, vectors and logs, and what maintenance keeps of it
    in the archive folder. Neither saving its transcript again nor importing brings it back. There is no way
    back.

    Claude Code's own files and the archives that you exported are not touched: those of Claude Code that hold
    the text are named.

    \b
    --json prints
      erased        false on a dry run
      chunks        id, session_id, project_path, created_at, passage of each
      archives      path and chunks of each (null: it can't be read)
      logs          path and lines of each
      backups       the paths of those that hold it, deleted with --with-backups
      claude_files  the paths of Claude Code's files that hold it
      projects      those whose path holds it, which stays
    """  # noqa: D301 - click's mark for text that is not to be wrapped
    wanted = Wanted(matching, invocation.project_filter(is_default_all=True))
    with invocation.database() as connection:
        traces = find_traces(connection, wanted, env=os.environ)
        chunks = [find_chunk(connection, str(chunk_id)) for chunk_id in traces.chunks]
        if not as_json:
            _show_chunks(connection, chunks, wanted)
    if not as_json:
        _show_files(traces)
    if not dry_run:
        with_backups = _consent(traces, with_backups=with_backups, yes=yes)
        with invocation.database(read_only=False) as connection:
            traces = forget(
                connection,
                wanted,
                with_backups=with_backups,
                config=invocation.config,
                env=os.environ,
                now=time.time(),
            )
    if as_json:
        _print_json(traces, chunks, wanted, is_erased=not dry_run)
    else:
        _show_result(traces, with_backups=with_backups, dry_run=dry_run)


def _show_chunks(connection: sqlite3.Connection, chunks: Sequence[Chunk], wanted: Wanted) -> None:
    sessions = list_sessions(connection, include_agents=True)
    shorten = short_ids(session.session_id for session in sessions)
    find_spans = partial(matched_spans, _NO_WORDS, [wanted.text])
    for chunk in chunks[:_SHOWN_CHUNKS]:
        show_chunk(
            chunk,
            _passage(chunk, wanted),
            session=shorten(chunk.session_id),
            project=chunk.project_path,
            find_spans=find_spans,
        )
    if len(chunks) > _SHOWN_CHUNKS:
        show(_("and {more}", more=count(len(chunks) - _SHOWN_CHUNKS, "more chunk")))
        show()


def _passage(chunk: Chunk, wanted: Wanted) -> str:
    """Return a piece of a chunk around the text, or its beginning where masking or a cut hides it."""
    text = redact_for_display(chunk.content)
    spans = matched_spans(_NO_WORDS, [wanted.text], text)
    begin, end = spans[0] if spans else (0, 0)
    start, stop = max(0, begin - _BEFORE), end + _AFTER
    if start:
        start += text[start:begin].find(" ") + 1  # at a word's beginning, where there are spaces
    return f"{'…' if start else ''}{text[start:stop].strip()}{'…' if stop < len(text) else ''}"


def _show_files(traces: Traces) -> None:
    for archive in _readable(traces):
        show(f"{archive.path}: {_(count(archive.chunks or 0, 'chunk'))}")
    for log in traces.logs:
        show(f"{log.path}: {_(count(log.lines, 'line'))}")


def _readable(traces: Traces) -> list[ArchiveTrace]:
    return [archive for archive in traces.archives if archive.chunks is not None]


def _consent(traces: Traces, *, with_backups: bool, yes: bool) -> bool:
    """Ask before anything is erased; return whether the backups are to be deleted too."""
    is_deleting_backups = with_backups and bool(traces.backups)
    if _is_found(traces) or is_deleting_backups:
        amounts = _amounts(traces)
        question = (
            _("Erase {chunks}, and the text from {files} beside the database?", **amounts)
            if _files(traces)
            else _("Erase {chunks}?", **amounts)
        )
        confirm(question, yes=yes)
    if traces.backups and not (with_backups or yes) and sys.stdin.isatty():
        for path in traces.backups:
            say(path)
        return click.confirm(
            _("This holds the text too, and everything else of its time. Delete it?")
            if len(traces.backups) == 1
            else _("These hold the text too, and everything else of their time. Delete them?"),
            err=True,
        )
    return with_backups


def _show_result(traces: Traces, *, with_backups: bool, dry_run: bool) -> None:
    amounts = _amounts(traces)
    if not _is_found(traces):
        show(
            _("Nothing holds this text.")
            if dry_run
            else _("Nothing holds this text. The free pages of the database were cleared all the same.")
        )
    elif dry_run:
        show(
            _("Would erase {chunks}, and the text from {files} beside the database.", **amounts)
            if _files(traces)
            else _("Would erase {chunks}.", **amounts)
        )
    else:
        show(
            _("Erased {chunks}, and the text from {files} beside the database.", **amounts)
            if _files(traces)
            else _("Erased {chunks}.", **amounts)
        )
    damaged = [archive.path for archive in traces.archives if archive.chunks is None]
    if damaged:
        _show_left(_("Archives that can't be read. Delete them if they may hold it:"), damaged)
    if traces.backups and with_backups and not dry_run:
        show(_("Deleted {backups} of the database.", backups=count(len(traces.backups), "backup")))
    elif traces.backups:
        _show_left(_("Backups of the database that hold it (--with-backups deletes them):"), traces.backups)
    if traces.claude_files:
        title = _("Files of Claude Code that hold it. Kizami never changes them, and saves nothing of it:")
        _show_left(title, traces.claude_files)
    if traces.projects:
        _show_left(_("Projects whose path holds it, which stays:"), traces.projects)


def _show_left(title: str, paths: Sequence[str]) -> None:
    show(title)
    for path in paths[:_SHOWN_FILES]:
        show(path, indent=2)
    if len(paths) > _SHOWN_FILES:
        show(_("and {more}", more=count(len(paths) - _SHOWN_FILES, "more file")), indent=2)


def _is_found(traces: Traces) -> bool:
    return bool(traces.chunks or _files(traces))


def _files(traces: Traces) -> int:
    return len(_readable(traces)) + len(traces.logs)


def _amounts(traces: Traces) -> dict[str, Message]:
    return {"chunks": count(len(traces.chunks), "chunk"), "files": count(_files(traces), "file")}


def _print_json(traces: Traces, chunks: Sequence[Chunk], wanted: Wanted, *, is_erased: bool) -> None:
    shown = [
        {
            "id": chunk.id,
            "session_id": chunk.session_id,
            "project_path": chunk.project_path,
            "created_at": chunk.created_at,
            "passage": _passage(chunk, wanted),
        }
        for chunk in chunks
    ]
    show_json({"erased": is_erased, **traces.as_dict(), "chunks": shown})
