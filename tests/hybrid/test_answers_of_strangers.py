"""What a hook makes of answers that are none: nothing, and a line for the error log."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from kizami_hybrid.resident.protocol import MAX_ANSWER_BYTES, frame
from resident_home import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="listens on a Unix socket")

NONSENSE = "The embedding process answers nonsense ({}). Run: kizami embedder stop"


def hits(home, *answers):
    """Ask where something listens that gives these bytes and hangs up; return the hits and the problem."""
    place = Path(home.endpoint.path)
    place.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(place))
        stranger.listen()

        def listen():
            peer, _ = stranger.accept()
            with peer:
                peer.recv(65_536)
                for answer in answers:
                    peer.sendall(answer)

        thread = threading.Thread(target=listen)
        thread.start()
        pending = home.ask("記憶")
        found = pending.hits(time.monotonic() + PATIENCE_SECONDS)
        thread.join()
        pending.close()
    return found, pending.problem


def test_answer_in_pieces_is_put_together(home):
    message = frame(b'{"hits": [[7, 0.5], [3, 0.25]]}')
    assert hits(home, *(message[place : place + 1] for place in range(len(message)))) == (
        [(7, 0.5), (3, 0.25)],
        "",
    )


@pytest.mark.parametrize("answer", [b"", b"\0", frame(b'{"hits": []}')[:-1]])
def test_answer_that_breaks_off_is_none(home, answer):
    assert hits(home, answer) == (None, "")


def test_error_is_the_problem(home):
    assert hits(home, frame(b'{"error": "StorageError: no"}')) == (None, "StorageError: no")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (frame(b"[]"), "no JSON object"),
        (frame(b"{}"), "'hits'"),
        (frame(b'{"hits": 7}'), "'int' object is not iterable"),
        (frame(b'{"hits": [["x", 1]]}'), "invalid literal for int() with base 10: 'x'"),
        (
            (MAX_ANSWER_BYTES + 1).to_bytes(4, "big"),
            f"a message of {MAX_ANSWER_BYTES + 1} bytes, {MAX_ANSWER_BYTES} are the most",
        ),
    ],
)
def test_nonsense_is_a_problem_with_the_remedy(home, answer, reason):
    assert hits(home, answer) == (None, NONSENSE.format(reason))
