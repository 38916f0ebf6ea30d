"""Starting the resident process without waiting for it, and not again and again when it can't run."""

from __future__ import annotations

import os
import sys

from kizami_core.processes import spawn_detached
from kizami_hybrid.errors import ModelError
from kizami_hybrid.manifest import MANIFEST
from kizami_hybrid.resident.endpoint import make_runtime_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kizami_hybrid.resident.endpoint import Endpoint
    from kizami_hybrid.settings import EmbeddingSettings

# A process is ready within a second or two; one that was killed is missed by this many seconds of prompts.
_RETRY_SECONDS = 30.0
# A model that can't be loaded can't be in half a minute either; a new installation is tried at once.
_RETRY_FAILED_SECONDS = 3_600.0
# So much later the program that starts the process is done; until then it has the processor for itself.
_LATER = ("/bin/sh", "-c", 'sleep 0.05; exec "$@"', "sh")
_CALM = {
    "HF_HUB_OFFLINE": "1",
    # One thread a call: whoever asks at once gets a core each, and nobody the whole machine.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "2",
}


def start_if_due(
    endpoint: Endpoint, settings: EmbeddingSettings, database: str, env: Mapping[str, str], now: float
) -> bool:
    """Start the process unless that was tried a moment ago, or its last failure still stands.

    Args:
        endpoint: where it is to listen.
        settings: the model that it loads.
        database: the first whose chunks it looks after.
        env: the environment, which the process inherits.
        now: seconds since the epoch.

    Returns:
        Whether a process was started; another may have been faster, then this one ends by itself.
    """
    if not is_due(endpoint, settings, now):
        return False
    try:
        start(endpoint, settings, database, env, is_urgent=False)
    except (OSError, ModelError):
        return False
    return True


def is_due(endpoint: Endpoint, settings: EmbeddingSettings, now: float) -> bool:
    """Tell whether a start is worth trying."""
    if 0 <= now - _modified(endpoint.attempt_path) < _RETRY_SECONDS:
        return False
    failed = _modified(endpoint.failure_path)
    installed = _modified(os.path.join(settings.model_dir, MANIFEST))
    return failed < installed or not 0 <= now - failed < _RETRY_FAILED_SECONDS


def start(
    endpoint: Endpoint,
    settings: EmbeddingSettings,
    database: str,
    env: Mapping[str, str],
    *,
    is_urgent: bool = True,
) -> None:
    """Start the process, in a session of its own and with nothing of this one but its environment.

    Args:
        endpoint: where it is to listen.
        settings: the model that it loads.
        database: the first whose chunks it looks after.
        env: the environment, which the process inherits.
        is_urgent: begin at once. Else where there is a shell a moment later: loading a model keeps a
            processor busy, and on the same one a hook would not end before it.

    Raises:
        OSError: no process can be started.
        ModelError: the directory of the socket is not the user's own.
    """
    make_runtime_dir(endpoint)
    descriptor = os.open(endpoint.attempt_path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.close(descriptor)
    os.utime(endpoint.attempt_path)
    command = [
        sys.executable,
        "-P",
        "-m",
        "kizami_hybrid.resident",
        endpoint.path,
        "unix" if endpoint.is_unix else "loopback",
        settings.model,
        "int8" if settings.is_quantized else "fp32",
        str(settings.dimensions),
        settings.cache_dir,
        database,
    ]
    is_late = not is_urgent and os.path.exists(_LATER[0])
    spawn_detached([*_LATER, *command] if is_late else command, {**env, **_CALM})


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return float("-inf")
