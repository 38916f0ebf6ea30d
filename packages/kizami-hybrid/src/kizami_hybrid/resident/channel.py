"""One connection to the resident process, from the side that asks. Nothing here waits beyond its deadline.

Deadlines are moments of ``time.monotonic()``. Hooks use this, so the socket comes from the C module beneath
``socket``, which costs 8 ms less to import.
"""

from __future__ import annotations

import os
import sys
import time

from kizami_core.json_text import quote
from kizami_hybrid.resident.endpoint import is_private
from kizami_hybrid.resident.protocol import (
    HEADER_BYTES,
    MAX_ANSWER_BYTES,
    NONCE_BYTES,
    frame,
    frame_length,
    parse_message,
)

try:
    import _socket as sockets
except ImportError:  # pragma: no cover - only Pythons that aren't CPython
    import socket as sockets  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from kizami_hybrid.resident.endpoint import Endpoint

_RECEIVE_BYTES = 65_536
# Where a loopback port is closed, Windows tries again for two seconds before it says so.
_LOOPBACK_SECONDS = 0.05
_PROOF_BYTES = 16
_CREDENTIALS_BYTES = 12  # of struct ucred: process, user and group, four bytes each
_USER_AT = 4


class Channel:
    """A connection; use ``open_channel``."""

    def __init__(self, connection: sockets.socket, token: str) -> None:
        self._connection = connection
        self._token = token
        self._received = b""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection; what was not answered yet is not waited for."""
        self._connection.close()

    def send(self, fields: str) -> bool:
        """Send a request, given as the inside of a JSON object. Never waits; False if it can't be sent."""
        if self._token:
            fields = f'"token":{quote(self._token)},{fields}'
        message = frame(f"{{{fields}}}".encode())
        try:
            self._connection.settimeout(0)
            return self._connection.send(message) == len(message)
        except OSError:
            return False

    def receive(self, deadline: float) -> Mapping[str, object] | None:
        """Return the next answer, None if there is none by the deadline or the process is gone.

        Raises:
            ProtocolError: what came is no answer.
        """
        header = self._read(HEADER_BYTES, deadline)
        if header is None:
            return None
        payload = self._read(frame_length(header, MAX_ANSWER_BYTES), deadline)
        return None if payload is None else parse_message(payload)

    def _read(self, size: int, deadline: float) -> bytes | None:
        while len(self._received) < size:
            try:
                # After the deadline what has already come is still read.
                self._connection.settimeout(max(0.0, deadline - time.monotonic()))
                part = self._connection.recv(_RECEIVE_BYTES)
            except OSError:  # timeouts included
                return None
            if not part:
                return None
            self._received += part
        data, self._received = self._received[:size], self._received[size:]
        return data


def open_channel(endpoint: Endpoint) -> Channel | None:
    """Connect, without waiting; None if nothing listens there, or somebody else might."""
    if not is_private(os.path.dirname(endpoint.path)):
        return None
    return _open_unix(endpoint.path) if endpoint.is_unix else _open_loopback(endpoint.path)


def _open_unix(path: str) -> Channel | None:
    connection = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        connection.settimeout(0)
        connection.connect(path)
        if is_own(connection):
            return Channel(connection, "")
    except OSError:  # no socket, nobody behind it, or so many that they queue
        pass
    connection.close()
    return None


def _open_loopback(path: str) -> Channel | None:
    try:
        with open(path, encoding="ascii") as file:
            port, token = file.read().split()
    except (OSError, ValueError):
        return None
    connection = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
    channel = Channel(connection, token)
    try:
        connection.settimeout(_LOOPBACK_SECONDS)
        connection.connect(("127.0.0.1", int(port)))
        nonce = os.urandom(NONCE_BYTES)
        connection.send(nonce)
        # The port may be another program's by now: it gets neither the token nor the prompt.
        if channel._read(_PROOF_BYTES, time.monotonic() + _LOOPBACK_SECONDS) == proof(nonce, token):
            return channel
    except (OSError, ValueError, OverflowError):  # the last two: no port
        pass
    channel.close()
    return None


def proof(nonce: bytes, token: str) -> bytes:
    """Return what only a process that can read the token can answer to a nonce."""
    from hashlib import blake2b

    return blake2b(nonce, key=token.encode(), digest_size=_PROOF_BYTES).digest()


def is_own(connection: sockets.socket) -> bool:
    """Tell whether the process behind a socket is of the same user, where the system says so."""
    option = getattr(sockets, "SO_PEERCRED", None)
    if option is None or connection.family != getattr(sockets, "AF_UNIX", None):
        return True  # then it is the directory that keeps others out, or the token in it
    credentials = connection.getsockopt(sockets.SOL_SOCKET, option, _CREDENTIALS_BYTES)
    user = int.from_bytes(credentials[_USER_AT : _USER_AT + 4], sys.byteorder)
    return user == os.getuid()
