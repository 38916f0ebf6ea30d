"""Looking at the resident process, starting it, ending it: for commands, which may take their time."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from kizami_core.locks import ProcessLock
from kizami_core.messages import Message
from kizami_hybrid.errors import ModelError
from kizami_hybrid.resident.channel import open_channel
from kizami_hybrid.resident.protocol import ProtocolError
from kizami_hybrid.resident.starting import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kizami_hybrid.resident.endpoint import Endpoint
    from kizami_hybrid.settings import EmbeddingSettings

_ANSWER_SECONDS = 5.0
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02


def ask_status(endpoint: Endpoint) -> Mapping[str, object] | None:
    """Return what the process says of itself (`protocol`, "status"), None if it doesn't answer."""
    return _ask(endpoint, "status")


def is_running(endpoint: Endpoint) -> bool:
    """Tell whether a process has the endpoint, answering or not."""
    if not os.path.exists(endpoint.lock_path):
        return False
    with ProcessLock(endpoint.lock_path) as lock:
        return not lock.is_held


def last_failure(endpoint: Endpoint) -> str:
    """Return why the last process could not serve, "" if it could."""
    try:
        with open(endpoint.failure_path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def start_and_wait(
    endpoint: Endpoint, settings: EmbeddingSettings, database: str, env: Mapping[str, str]
) -> Mapping[str, object]:
    """Start the process if there is none, and return its status when it answers.

    Raises:
        ModelError: it can't serve, or doesn't get that far in a minute.
    """
    status = ask_status(endpoint)
    if status is not None:
        return status
    with suppress(FileNotFoundError):
        os.unlink(endpoint.failure_path)
    try:
        start(endpoint, settings, database, env)
    except OSError as error:
        raise ModelError(
            Message(
                "The embedding process can't be started ({reason}). Free memory or end other processes first",
                reason=error,
            )
        ) from error
    _wait(lambda: ask_status(endpoint) is not None or bool(last_failure(endpoint)), _START_SECONDS)
    status = ask_status(endpoint)
    if status is None:
        raise ModelError(
            last_failure(endpoint)
            or Message(
                "The embedding process did not get ready in a minute. Run: kizami embedder stop, then start"
            )
        )
    return status


def stop_and_wait(endpoint: Endpoint) -> bool:
    """End the process, by force if it doesn't listen any more; tell whether there was one.

    Raises:
        ModelError: it can't be ended.
    """
    if not is_running(endpoint):
        return False
    _ask(endpoint, "stop")
    if not _wait(lambda: not is_running(endpoint), _STOP_SECONDS):
        pid = _pid(endpoint)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        if pid is None or not _wait(lambda: not is_running(endpoint), _STOP_SECONDS):
            raise ModelError(
                Message(
                    "The embedding process (pid {pid}) does not end. End it by the system's means", pid=pid
                )
            )
    return True


def _ask(endpoint: Endpoint, operation: str) -> Mapping[str, object] | None:
    channel = open_channel(endpoint)
    if channel is None:
        return None
    with channel:
        if not channel.send(f'"op":"{operation}"'):
            return None
        try:
            return channel.receive(time.monotonic() + _ANSWER_SECONDS)
        except ProtocolError:
            return None


def _pid(endpoint: Endpoint) -> int | None:
    try:
        with open(endpoint.pid_path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    """Return whether a condition comes true in this time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
