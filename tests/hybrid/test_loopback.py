"""Where there are no Unix sockets: a loopback port, and a token that both sides have to know."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from kizami_hybrid.resident import control
from kizami_hybrid.resident.channel import open_channel, proof
from kizami_hybrid.resident.protocol import NONCE_BYTES, frame
from resident_home import PATIENCE_SECONDS


@pytest.fixture
def endpoint(home):
    """A place with a process that listens on a loopback port."""
    made = home.endpoint.replace(is_unix=False)
    control.start_and_wait(made, home.settings, home.database, home.env)
    return made


def port_and_token(endpoint):
    port, token = Path(endpoint.path).read_text(encoding="utf-8").split()
    return int(port), token


def ask(endpoint):
    with open_channel(endpoint) as channel:
        assert channel.send('"op":"embed","text":"記憶","kind":"query"')
        return channel.receive(time.monotonic() + PATIENCE_SECONDS)


def test_who_can_read_the_token_is_answered(endpoint):
    assert len(bytes.fromhex(ask(endpoint)["vector"])) == 64


def test_token_is_closed_to_others(endpoint):
    if os.name == "posix":
        assert os.stat(endpoint.path).st_mode & 0o777 == 0o600
    assert len(port_and_token(endpoint)[1]) == 64


@pytest.mark.parametrize(
    "field", [b"", b'"token":"wrong",', '"token":"違う",'.encode(), b'"token":"\\ud800",']
)
def test_who_does_not_know_the_token_is_hung_up_on(endpoint, field):
    with socket.create_connection(("127.0.0.1", port_and_token(endpoint)[0]), PATIENCE_SECONDS) as peer:
        peer.sendall(bytes(NONCE_BYTES))
        assert peer.recv(16) == proof(bytes(NONCE_BYTES), port_and_token(endpoint)[1])
        peer.sendall(frame(b"{" + field + b'"op":"status"}'))
        assert peer.recv(1) == b""
    assert "vector" in ask(endpoint)


def test_other_program_at_the_port_gets_neither_token_nor_prompt(home, tmp_path):
    endpoint = home.endpoint.replace(is_unix=False)
    directory = Path(endpoint.path).parent
    directory.mkdir(mode=0o700)
    received = []
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        Path(endpoint.path).write_text(f"{stranger.getsockname()[1]} {'0' * 64}", encoding="utf-8")

        def listen():
            peer, _ = stranger.accept()
            with peer:
                received.append(peer.recv(1_000))
                peer.sendall(bytes(16))
                received.append(peer.recv(1_000))

        thread = threading.Thread(target=listen)
        thread.start()
        assert open_channel(endpoint) is None
        thread.join()
    assert [len(data) for data in received] == [NONCE_BYTES, 0]


@pytest.mark.parametrize("text", ["", "1", "x y", "1 token", "99999999 token"])
def test_token_file_that_leads_nowhere_is_nobody(home, text):
    endpoint = home.endpoint.replace(is_unix=False)
    Path(endpoint.path).parent.mkdir(mode=0o700)
    Path(endpoint.path).write_text(text, encoding="utf-8")
    assert open_channel(endpoint) is None


def test_process_leaves_no_token_behind(endpoint):
    assert control.stop_and_wait(endpoint) is True
    assert not os.path.exists(endpoint.path)
