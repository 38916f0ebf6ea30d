"""Setting the vectors up: the model brought to this machine, and the memories that have no vector yet."""

from __future__ import annotations

from contextlib import closing

from kizami_core.messages import Message
from kizami_core.storage.connection import open_database
from kizami_hybrid.commands.embed import command
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.manifest import read_manifest
from kizami_hybrid.model_files import install_model
from kizami_hybrid.settings import load_settings
from kizami_hybrid.vector_schema import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

    from kizami_hybrid.model_files import Progress


def install(
    config_path: str, env: Mapping[str, str], *, model_dir: str | None, progress: Progress
) -> Message:
    """Install the configured model and return, for a person, what is installed.

    Args:
        config_path: the configuration file; it need not exist.
        env: the environment.
        model_dir: a directory that holds the model's files; None to fetch them from the hub.
        progress: called with the bytes done and the bytes there are.

    Raises:
        ModelError: the model can't be fetched, read or used.
    """
    settings, _ = load_settings(config_path, env)
    manifest = install_model(settings, env, model_dir=model_dir, progress=progress)
    return Message(
        "{model} ({file}) in {path}",
        model=manifest.model,
        file=manifest.model_file,
        path=settings.model_dir,
    )


def chunks_to_embed(config_path: str, database: str, env: Mapping[str, str]) -> int:
    """Return how many chunks have no vector of the installed model."""
    settings, _ = load_settings(config_path, env)
    manifest = read_manifest(settings.model_dir)
    model = ModelIdentity(manifest.model, manifest.revision, settings.dimensions)
    with closing(open_database(database, read_only=True)) as connection:
        counts = state(connection, model)
    return counts.pending + counts.stale


def embed_all(context: click.Context) -> None:
    """Run `kizami embed --backfill`."""
    context.invoke(command, backfill=True, dry_run=False, limit=None, as_json=False)
