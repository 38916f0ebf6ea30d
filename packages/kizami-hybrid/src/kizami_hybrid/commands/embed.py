"""`kizami embed`: vectors for the chunks that have none yet."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing

import click

from kizami_core.errors import NotFoundError
from kizami_core.maintenance.findings import counted
from kizami_core.messages import Message
from kizami_core.paths import config_path
from kizami_hybrid.commands.telling import told
from kizami_hybrid.driver import choose, open_database
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.embedding_progress import progress
from kizami_hybrid.errors import ModelError
from kizami_hybrid.manifest import read_manifest
from kizami_hybrid.model_files import load_model
from kizami_hybrid.settings import load_settings
from kizami_hybrid.vector_schema import pending, require_model, state, stored_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Protocol

    from kizami_core.config import Config
    from kizami_hybrid.embedder import Embedder
    from kizami_hybrid.settings import EmbeddingSettings

    class Invocation(Protocol):
        """What the command line leaves in ``obj`` of the common options."""

        config_path: str

        @property
        def config(self) -> Config:
            """The configuration."""

        def project_filter(self, *, is_default_all: bool = False) -> str | None:
            """Return the project to keep to, None for all."""


_WAIT_SECONDS = 0.05  # until the other process, which embeds a few chunks at a time, is asked again


@click.command("embed")
@click.option("--backfill", is_flag=True, help="Also replace the vectors that another model made.")
@click.option("--dry-run", is_flag=True, help="Only count what would be embedded.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Embed at most N chunks.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the counts.")
@click.pass_obj
def command(
    invocation: Invocation, limit: int | None, *, backfill: bool, dry_run: bool, as_json: bool
) -> None:
    """Embed the chunks that have no vector yet (of all projects, unless --project names one).

    The newest come first. Stop it with Ctrl-C at any time and start it again, also while Claude Code is
    running. New chunks are embedded in the background, so this is needed after `kizami setup --hybrid`, after
    `kizami backfill`, and (with --backfill) after embedding.model was changed.
    """
    path = invocation.config_path or config_path(os.environ)
    settings = load_settings(path, os.environ)[0]
    project = invocation.project_filter(is_default_all=True)
    with closing(_open(invocation.config.database_path)) as connection:
        if dry_run:
            waiting = _count(connection, _installed(settings), project, is_rebuild=backfill)
            waiting = waiting if limit is None else min(limit, waiting)
            _show(
                Message("Would embed {chunks}.", chunks=counted(waiting, "chunk")),
                {"chunks": waiting},
                as_json=as_json,
            )
            return
        embedder = load_model(settings, threads=os.cpu_count() or 1)
        began = time.monotonic()
        done = _embed(connection, embedder, limit, project, is_rebuild=backfill)
        seconds = time.monotonic() - began
        left = pending(connection, project)
    counts = {"chunks": done, "pending": left, "seconds": round(seconds, 1)}
    if not done and not left:
        text = Message("Nothing to do: every chunk has a vector.")
    else:
        text = Message(
            "Embedded {chunks} ({speed:,.1f} a second); {left:,} left.",
            chunks=counted(done, "chunk"),
            speed=done / max(seconds, 0.1),
            left=left,
        )
    _show(text, counts, as_json=as_json)


def _open(path: str) -> sqlite3.Connection:
    try:
        return open_database(path, choose())
    except FileNotFoundError:
        raise NotFoundError(
            Message(
                "There is no database at {path} yet. Run `kizami setup`: from then on each turn is "
                "saved when its answer ends.",
                path=path,
            )
        ) from None


def _installed(settings: EmbeddingSettings) -> ModelIdentity | None:
    """Return the model that would be loaded, None where it is not installed: a dry run needs none."""
    try:
        manifest = read_manifest(settings.model_dir)
    except ModelError:
        return None
    return ModelIdentity(manifest.model, manifest.revision, settings.dimensions)


def _count(
    connection: sqlite3.Connection, model: ModelIdentity | None, project: str | None, *, is_rebuild: bool
) -> int:
    if model is None or stored_model(connection) in (None, model):
        return pending(connection, project)
    if not is_rebuild:
        require_model(connection, model)
    counts = state(connection, model)
    return counts.pending + counts.stale


def _embed(
    connection: sqlite3.Connection,
    embedder: Embedder,
    limit: int | None,
    project: str | None,
    *,
    is_rebuild: bool,
) -> int:
    from kizami_hybrid.vector_repair import mend

    mend(connection, embedder.model)
    total = _count(connection, embedder.model, project, is_rebuild=is_rebuild)
    total = total if limit is None else min(limit, total)
    done = 0

    def advance(chunks: int) -> None:
        nonlocal done
        done += chunks
        show_progress(chunks)

    with progress(told(Message("Embedding")), total) as show_progress:
        try:
            _embed_all(connection, embedder, limit, project, advance, is_rebuild=is_rebuild)
        except KeyboardInterrupt:
            stopped = Message(
                "Stopped; {chunks} embedded. Run it again to go on.", chunks=counted(done, "chunk")
            )
            click.echo(told(stopped), err=True)
            raise
    return done


def _embed_all(
    connection: sqlite3.Connection,
    embedder: Embedder,
    limit: int | None,
    project: str | None,
    advance: Callable[[int], None],
    *,
    is_rebuild: bool,
) -> None:
    from kizami_hybrid.vector_refresh import refresh

    done = 0
    is_told = False
    while limit is None or done < limit:
        made = refresh(
            connection,
            embedder,
            limit=None if limit is None else limit - done,
            project_path=project,
            progress=advance,
            rebuild=is_rebuild,
        )
        done += made
        if made:
            continue
        if stored_model(connection) == embedder.model and not pending(connection, project):
            return
        if not is_told:
            busy = Message("Another process is embedding; this one helps as soon as it can.")
            click.echo(told(busy), err=True)
            is_told = True
        time.sleep(_WAIT_SECONDS)


def _show(text: Message, counts: dict[str, float], *, as_json: bool) -> None:
    click.echo(json.dumps(counts, indent=2) if as_json else told(text))
