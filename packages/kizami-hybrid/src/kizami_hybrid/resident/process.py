"""The resident process from beginning to end: alone at its endpoint, or gone at once."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from kizami_core.errors import KizamiError
from kizami_core.locks import ProcessLock
from kizami_core.paths import append_error_line, error_log_path
from kizami_hybrid.resident.endpoint import Endpoint, require_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kizami_hybrid.settings import EmbeddingSettings

IDLE_SECONDS = 15 * 60.0


def serve(
    endpoint: Endpoint,
    settings: EmbeddingSettings,
    database: str,
    env: Mapping[str, str],
    *,
    idle_seconds: float = IDLE_SECONDS,
) -> bool:
    """Load the model and answer until nobody asks any more.

    Args:
        endpoint: where to listen.
        settings: the model.
        database: the first to be worked off, "" for none.
        env: the environment.
        idle_seconds: how long to wait for the next request.

    Returns:
        Whether this process served; False where another one does.

    Raises:
        KizamiError: the model can't be used; the reason is left beside the endpoint and in the error log.
    """
    require_private(endpoint)  # made by who started this; if it is gone already, nobody waits
    with ProcessLock(endpoint.lock_path) as lock:
        # Before anything heavy is imported: several hooks may have started one each.
        if not lock.is_held:
            return False
        _write(endpoint.pid_path, str(os.getpid()))
        try:
            _serve_alone(endpoint, settings, database, env, idle_seconds)
        except Exception as error:
            reason = str(error) if isinstance(error, KizamiError) else f"{type(error).__name__}: {error}"
            _write(endpoint.failure_path, reason)
            _log(env, reason)
            raise
        finally:
            _remove(endpoint.pid_path)
    return True


def _serve_alone(
    endpoint: Endpoint,
    settings: EmbeddingSettings,
    database: str,
    env: Mapping[str, str],
    idle_seconds: float,
) -> None:
    started = time.monotonic()
    from kizami_hybrid.model_files import load_model
    from kizami_hybrid.resident.answers import Answers
    from kizami_hybrid.resident.background import Background, is_machine_busy
    from kizami_hybrid.resident.databases import VectorDatabases
    from kizami_hybrid.resident.listener import Listener
    from kizami_hybrid.resident.server import Server

    embedder = load_model(settings)
    databases = VectorDatabases(embedder)
    background = Background(databases.embed_some, lambda problem: _log(env, problem), is_machine_busy)
    # Listening begins when the answer is ready: until then a hook meets nobody and doesn't wait.
    with Listener(endpoint) as listener, background:
        _remove(endpoint.failure_path)
        answers = Answers(
            embedder,
            databases,
            background,
            stop=lambda: server.stop(),  # noqa: PLW0108 - there is no server yet
            uptime=lambda: time.monotonic() - started,
        )
        server = Server(listener, answers.answer, is_at_work=background.is_at_work, idle_seconds=idle_seconds)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: server.stop())
        if database:
            background.notice(database)
        server.run()


def _log(env: Mapping[str, str], message: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    append_error_line(error_log_path(env), f"{moment} embedder: {' '.join(message.split())}")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
