"""A home with a small installed model, and what tests do to the resident process there."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import small_models
from kizami_hybrid.model_files import install_model
from kizami_hybrid.resident import client, control
from kizami_hybrid.resident.endpoint import Endpoint, find_endpoint, make_runtime_dir
from kizami_hybrid.settings import parse_settings
from memories import MemoryBook

# Nobody waits that long: it is what a test that hangs is ended by.
PATIENCE_SECONDS = 60.0


class ResidentHome:
    """A home directory of its own, with a model and a database. Ends its processes with ``close``."""

    def __init__(self, directory: Path, **section: object) -> None:
        # pytest's directories have names too long for a socket's.
        self._runtime = tempfile.mkdtemp()
        self.env = {
            "XDG_RUNTIME_DIR": self._runtime,
            "HOME": str(directory),
            "XDG_CACHE_HOME": str(directory / "cache"),
            "XDG_DATA_HOME": str(directory / "data"),
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ},
        }
        self.source = small_models.write_model(directory / "repository")
        self.settings, problems = parse_settings(
            {"model": "owner/ruri-v3-small", "dimensions": small_models.SIZE, **section}, self.env
        )
        assert problems == []
        install_model(self.settings, self.env, model_dir=str(self.source))
        self.book = MemoryBook(directory / "memory.db")
        self.database = str(directory / "memory.db")
        self._endpoints: set[Endpoint] = set()
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def endpoint(self) -> Endpoint:
        endpoint = find_endpoint(self.settings, self.env)
        self._endpoints.add(endpoint)
        return endpoint

    @property
    def error_log(self) -> str:
        path = Path(self.env["XDG_DATA_HOME"], "kizami", "error.log")
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def start(self, database: str | None = None) -> dict:
        """Start the process and wait until it answers; return its status."""
        chosen = self.database if database is None else database
        return dict(control.start_and_wait(self.endpoint, self.settings, chosen, self.env))

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start a process that the test can wait for."""
        endpoint, settings = self.endpoint, self.settings
        arguments = (settings.model, "int8", str(settings.dimensions), settings.cache_dir, self.database)
        transport = "unix" if endpoint.is_unix else "loopback"
        command = [sys.executable, "-P", "-m", "kizami_hybrid.resident", endpoint.path, transport, *arguments]
        make_runtime_dir(endpoint)
        child = subprocess.Popen(command, env=self.env, stderr=subprocess.DEVNULL)
        self._children.append(child)
        return child

    def ask(self, text: str, seconds: float = PATIENCE_SECONDS, **options: object) -> client.Pending:
        """Send a query as a hook does."""
        asked = {"database": self.database, "project": None, "limit": 10, "now": time.time(), **options}
        return client.begin_search(self.settings, self.env, text, **asked)

    def hits(self, text: str, **options: object) -> list[tuple[int, float]] | None:
        """Ask and wait for the answer."""
        pending = self.ask(text, **options)
        try:
            return pending.hits(time.monotonic() + PATIENCE_SECONDS)
        finally:
            pending.close()

    def wait_for_vectors(self) -> None:
        wait_until(lambda: waiting_chunks(self.endpoint) == {0})

    def close(self) -> None:
        for endpoint in self._endpoints:
            try:
                pid = int(Path(endpoint.pid_path).read_text(encoding="utf-8"))
            except (FileNotFoundError, ValueError):
                continue
            if control.is_running(endpoint):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda endpoint=endpoint: not control.is_running(endpoint))
        for child in self._children:
            child.kill()
            child.wait()
        self.book.connection.close()
        shutil.rmtree(self._runtime)


def wait_until(condition) -> None:
    """Return when a condition holds; a test that waits in vain fails."""
    assert control._wait(condition, PATIENCE_SECONDS), "it never came to that"


def waiting_chunks(endpoint: Endpoint) -> set[int]:
    """How many chunks await their vectors in each database that the process knows; nothing if it is busy."""
    status = control.ask_status(endpoint)
    return set() if status is None else set(status["waiting"].values())
