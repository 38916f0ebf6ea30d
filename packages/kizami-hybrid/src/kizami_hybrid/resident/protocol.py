"""What the hooks and the resident process say to each other.

A message is its length in bytes (four, big-endian) and a JSON object in UTF-8. A request names its operation
under ``op``; an answer holds what was asked for, or ``error``. One connection may ask several times, one
question after the other:

=========  ======================================================  =========================================
op         asks                                                    answer
=========  ======================================================  =========================================
search     text, database, project or null, k, include_agents      hits: [[chunk id, cosine], …], best first
embed      text, kind                                              vector: hexadecimal float32, little-endian
refresh    database: chunks there await their vectors              {}
status     —                                                       what `kizami embedder status` shows
stop       —                                                       {}, and the process ends
=========  ======================================================  =========================================

Where there are no Unix sockets a loopback connection stands in. There each side first proves to the other
that it can read the token in the person's own directory: the client sends a nonce, the process answers with
the nonce's keyed digest, and every request then carries the token.
"""

from __future__ import annotations

from kizami_core.json_text import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Part of the socket's name: processes that speak otherwise never meet.
VERSION = 1
HEADER_BYTES = 4
MAX_REQUEST_BYTES = 256 * 1024
MAX_ANSWER_BYTES = 4 * 1024 * 1024
NONCE_BYTES = 16
# What a query is made of: some 400 tokens of Japanese, which Ruri reads in 75 ms, within a hook's deadline.
MAX_QUERY_CHARACTERS = 600


class ProtocolError(ValueError):
    """The other side sends what is no message."""


def frame(payload: bytes) -> bytes:
    """Return a message ready to be sent."""
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload


def frame_length(header: bytes, limit: int) -> int:
    """Return how many bytes follow a header.

    Raises:
        ProtocolError: more than ``limit``.
    """
    length = int.from_bytes(header[:HEADER_BYTES], "big")
    if length > limit:
        raise ProtocolError(f"a message of {length} bytes, {limit} are the most")
    return length


def parse_message(payload: bytes) -> Mapping[str, object]:
    """Return the object of a message.

    Raises:
        ProtocolError: it is none.
    """
    try:
        value = parse(payload.decode())
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise ProtocolError(str(error)) from None
    if not isinstance(value, dict):
        raise ProtocolError("no JSON object")
    return value
