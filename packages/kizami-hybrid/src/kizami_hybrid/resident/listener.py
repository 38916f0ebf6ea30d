"""The listening socket: made beside its place and moved there, so that a stale one is simply replaced.

Only the process that holds the endpoint's lock does this, so what stands at the place is nobody's.
"""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from kizami_hybrid.resident.endpoint import Endpoint

_BACKLOG = 64
_TOKEN_BYTES = 32


class Listener:
    """Listens at an endpoint for a block, and leaves nothing there.

    ``token`` is "" for a Unix socket; whoever connects to a loopback port has to know it.

    Raises:
        OSError: no socket can be made there.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._path = endpoint.path
        self.token = "" if endpoint.is_unix else secrets.token_hex(_TOKEN_BYTES)
        fresh = f"{self._path}.{os.getpid()}"
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        self.socket = _bind_unix(fresh) if endpoint.is_unix else _bind_loopback(fresh, self.token)
        try:
            self.socket.setblocking(False)  # noqa: FBT003 - the method has no other way
            self._made = os.stat(fresh)
            os.replace(fresh, self._path)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the place away, then close."""
        if self.is_in_place():
            with suppress(OSError):
                os.unlink(self._path)
        self.socket.close()

    def is_in_place(self) -> bool:
        """Tell whether clients still find this listener: its directory may be gone, after a logout say."""
        try:
            return os.path.samestat(os.stat(self._path), self._made)
        except OSError:
            return False


def _bind_unix(path: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(path)
        os.chmod(path, 0o600)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def _bind_loopback(path: str, token: str) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind(("127.0.0.1", 0))
        listening.listen(_BACKLOG)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{listening.getsockname()[1]} {token}")
    except OSError:
        listening.close()
        raise
    return listening
