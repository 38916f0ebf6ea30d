"""What `kizami doctor` tells of the vectors (entry point group ``kizami.doctor``)."""

from __future__ import annotations

from contextlib import closing

from kizami_core.errors import StorageError
from kizami_core.maintenance.findings import Finding, counted
from kizami_core.messages import Message, part
from kizami_core.storage.connection import open_database, storage_error
from kizami_hybrid.driver import Driver, choose
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.errors import ModelError
from kizami_hybrid.manifest import read_manifest
from kizami_hybrid.model_files import verify
from kizami_hybrid.resident.control import is_running, last_failure
from kizami_hybrid.resident.endpoint import find_endpoint
from kizami_hybrid.settings import load_settings
from kizami_hybrid.vector_schema import pending, state

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from kizami_core.config import Config
    from kizami_hybrid.settings import EmbeddingSettings

_REPAIR = Message("Run: kizami doctor --repair")
_BACKFILL = Message("Run: kizami embed --backfill")


def check(config_path: str, config: Config, env: Mapping[str, str]) -> list[Finding]:
    """Look at everything that the search by meaning needs, if it is in use; no model is loaded.

    None of it is ever a *problem*: without vectors Kizami searches by words.
    """
    if config.search_mode != "hybrid":
        return []
    settings, problems = load_settings(config_path, env)
    model, model_findings = _check_model(settings)
    return [
        *(
            Finding(
                "configuration",
                "warning",
                Message("{key} {problem}", key=item.key, problem=item.message),
                Message("Correct it in {path}", path=config_path),
            )
            for item in problems
        ),
        _check_driver(choose()),
        *model_findings,
        *_check_process(settings, env),
        *_check_vectors(config.database_path, model),
    ]


def _check_driver(driver: Driver) -> Finding:
    found = Message(
        "{name} (SQLite {version}): {why}", name=driver.name, version=driver.sqlite_version, why=driver.why
    )
    if driver.can_load_vec:
        return Finding("vector driver", "ok", found)
    remedy = Message(
        "Nothing is lost but speed in large databases. pip install --upgrade --force-reinstall kizami-hybrid "
        "brings a SQLite that loads sqlite-vec, where there is one for this platform."
    )
    return Finding("vector driver", "warning", found, remedy)


def _check_model(settings: EmbeddingSettings) -> tuple[ModelIdentity | None, list[Finding]]:
    try:
        manifest = read_manifest(settings.model_dir)
        verify(settings.model_dir, manifest)
    except ModelError as error:
        found, remedy = part(error.args[0])
        return None, [Finding("embedding model", "warning", found, remedy)]
    model = ModelIdentity(manifest.model, manifest.revision, settings.dimensions)
    loaded = Message(
        "{name} ({file}, {dimensions} dimensions) in {path}",
        name=model.name,
        file=manifest.model_file,
        dimensions=model.dimensions,
        path=settings.model_dir,
    )
    return model, [Finding("embedding model", "ok", loaded)]


def _check_process(settings: EmbeddingSettings, env: Mapping[str, str]) -> list[Finding]:
    """Tell whether the resident process runs, and why the last one could not; without a model none can."""
    try:
        endpoint = find_endpoint(settings, env)
    except ModelError:
        return []
    if failure := last_failure(endpoint):
        text, _, remedy = failure.rpartition(". ")
        found = Message("can't serve: {reason}", reason=text or failure)
        return [Finding("embedding process", "warning", found, remedy)]
    if is_running(endpoint):
        return [Finding("embedding process", "ok", Message("runs"))]
    return [Finding("embedding process", "ok", Message("does not run; the next prompt starts it"))]


def _check_vectors(database: str, model: ModelIdentity | None) -> list[Finding]:
    """Count the vectors; a database that can't be read is told of by core's own checks."""
    try:
        with closing(open_database(database, read_only=True)) as connection:
            try:
                return [_look_into(connection, model)]
            except connection.Error as error:
                raise storage_error(error, database) from error
    except FileNotFoundError:
        return []
    except StorageError as error:
        found = Message("they can't be read: {reason}", reason=error.args[0])
        return [Finding("vectors", "warning", found, _BACKFILL)]


def _look_into(connection: sqlite3.Connection, model: ModelIdentity | None) -> Finding:
    from kizami_hybrid.vector_repair import broken_vectors

    counts = state(connection, model)
    figures = {
        "vectors": counts.vectors,
        "pending": pending(connection),
        "stale": counts.stale,
        "unindexed": counts.unindexed,
    }
    if counts.model is None:
        found = Message("none of {chunks} has a vector yet", chunks=counted(counts.pending, "chunk"))
        return Finding("vectors", "warning" if counts.pending else "ok", found, _BACKFILL, figures)
    if counts.stale:
        found = Message(
            "{vectors} of another model ({name}, {dimensions} dimensions) than the one in use: they are not "
            "searched",
            vectors=counted(counts.stale, "vector"),
            name=counts.model.name,
            dimensions=counts.model.dimensions,
        )
        return Finding("vectors", "warning", found, _BACKFILL, figures)
    broken = len(broken_vectors(connection, counts.model))
    figures["broken"] = broken
    if broken:
        found = Message(
            "{broken:,} of {vectors} damaged: they are not found",
            broken=broken,
            vectors=counted(counts.vectors, "vector"),
        )
        return Finding("vectors", "warning", found, _REPAIR, figures)
    if counts.pending:
        found = Message(
            "{vectors}; {chunks} without one",
            vectors=counted(counts.vectors, "vector"),
            chunks=counted(counts.pending, "chunk"),
        )
        remedy = Message("The resident process makes them in the background. At once: kizami embed")
        return Finding("vectors", "warning", found, remedy, figures)
    found = Message("{vectors}, one for each chunk", vectors=counted(counts.vectors, "vector"))
    return Finding("vectors", "ok", found, figures=figures)
