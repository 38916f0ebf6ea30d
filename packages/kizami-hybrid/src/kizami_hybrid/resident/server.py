"""The loop of the resident process: reads requests, hands them to a few workers, sends their answers.

One thread does all reading and writing and never blocks, so a peer that hangs holds up nobody; each has a
deadline to finish its request and to take its answer. What is too large, late, or more than the process can
take on is refused by closing the connection: every client is prepared for that.
"""

from __future__ import annotations

import hmac
import json
import selectors
import socket
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from kizami_hybrid.resident.channel import is_own, proof
from kizami_hybrid.resident.protocol import (
    HEADER_BYTES,
    MAX_REQUEST_BYTES,
    NONCE_BYTES,
    ProtocolError,
    frame,
    frame_length,
    parse_message,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kizami_hybrid.resident.listener import Listener

    # What a connection's earlier questions left for its later ones.
    Conversation = dict[str, object]
    # Answers one request, in a worker.
    Answer = Callable[[Mapping[str, object], Conversation], Mapping[str, object]]

_RECEIVE_BYTES = 65_536
_MAX_CONNECTIONS = 64
_TICK_SECONDS = 0.5
_CALM_TICK_SECONDS = 5.0


class Server:
    """Serves a listener until ``stop`` is called, nobody has asked for a while, or nobody can ask any more.

    Args:
        listener: where clients connect.
        answer: called in a worker for each request.
        is_at_work: whether something else keeps the process from being idle.
        idle_seconds: after this long without a request the process ends.
        peer_seconds: how long a peer may take to send a request or to take an answer.
        workers: how many requests are worked on at once.
    """

    def __init__(
        self,
        listener: Listener,
        answer: Answer,
        *,
        is_at_work: Callable[[], bool],
        idle_seconds: float,
        peer_seconds: float = 10.0,
        workers: int = 2,
    ) -> None:
        self._listener = listener
        self._answer = answer
        self._is_at_work = is_at_work
        self._idle_seconds = idle_seconds
        self._peer_seconds = peer_seconds
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="answer")
        self._selector = selectors.DefaultSelector()
        self._bell_reader, self._bell_writer = socket.socketpair()
        self._done: deque[tuple[_Peer, bytes]] = deque()
        self._peers: set[_Peer] = set()
        self._last_active = time.monotonic()
        self._is_stopping = threading.Event()

    def stop(self) -> None:
        """Let ``run`` return, once the answers under way are sent. May be called from any thread."""
        self._is_stopping.set()
        self._ring()

    def run(self) -> None:
        """Serve; returns when the process is to end."""
        self._bell_reader.setblocking(False)  # noqa: FBT003 - the method has no other way
        self._selector.register(self._listener.socket, selectors.EVENT_READ, self._accept)
        self._selector.register(self._bell_reader, selectors.EVENT_READ, self._collect)
        try:
            while not self._is_over():
                for key, _ in self._selector.select(self._tick_seconds()):
                    key.data()
                self._drop_late_peers()
        finally:
            for peer in list(self._peers):
                self._drop(peer)
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._selector.close()
            self._bell_reader.close()
            self._bell_writer.close()

    def _is_over(self) -> bool:
        if self._is_stopping.is_set():
            return not any(peer.is_answering or peer.outgoing for peer in self._peers)
        if not self._listener.is_in_place():
            return True
        if self._is_at_work() or self._peers:
            self._last_active = time.monotonic()
        return time.monotonic() - self._last_active >= self._idle_seconds

    def _tick_seconds(self) -> float:
        """Return when to look again at deadlines, and whether the process is idle."""
        return _TICK_SECONDS if self._peers else min(_CALM_TICK_SECONDS, self._idle_seconds)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.socket.accept()
        except OSError:  # the peer has gone already, or there are no descriptors left
            return
        if len(self._peers) >= _MAX_CONNECTIONS or not is_own(connection):
            connection.close()
            return
        connection.setblocking(False)  # noqa: FBT003 - as above
        peer = _Peer(connection, self._new_deadline(), is_greeted=not self._listener.token)
        self._peers.add(peer)
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._serve(peer))

    def _serve(self, peer: _Peer) -> None:
        """Read or write what one peer is ready for."""
        try:
            if peer.outgoing:
                peer.outgoing = peer.outgoing[peer.connection.send(peer.outgoing) :]
                self._watch(peer)
                return
            data = peer.connection.recv(_RECEIVE_BYTES)
            if not data:
                # Who only leaves word (`refresh`) doesn't wait for the answer.
                self._drop(peer)
                return
            peer.incoming += data
            self._read_request(peer)
        except BlockingIOError:
            return
        except (OSError, ProtocolError):
            self._drop(peer)

    def _read_request(self, peer: _Peer) -> None:
        if not peer.is_greeted:
            if len(peer.incoming) < NONCE_BYTES:
                return
            nonce, peer.incoming = peer.incoming[:NONCE_BYTES], peer.incoming[NONCE_BYTES:]
            peer.is_greeted = True
            peer.outgoing += proof(nonce, self._listener.token)
            self._watch(peer)
        if len(peer.incoming) < HEADER_BYTES:
            return
        end = HEADER_BYTES + frame_length(peer.incoming, MAX_REQUEST_BYTES)
        if len(peer.incoming) < end:
            return
        request = parse_message(peer.incoming[HEADER_BYTES:end])
        peer.incoming = peer.incoming[end:]
        token = str(request.get("token", "")).encode("utf-8", "replace")
        if not hmac.compare_digest(token, self._listener.token.encode()):
            raise ProtocolError("a wrong token")
        self._last_active = time.monotonic()
        peer.is_answering = True
        self._selector.unregister(peer.connection)
        self._pool.submit(self._work, peer, request)

    def _work(self, peer: _Peer, request: Mapping[str, object]) -> None:
        """Answer a request, in a worker."""
        try:
            answer = self._answer(request, peer.conversation)
        except Exception as error:  # noqa: BLE001 - whatever a question does, the process goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        self._done.append((peer, frame(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))))
        self._ring()

    def _collect(self) -> None:
        """Take what the workers have answered, and begin to send it."""
        with suppress(BlockingIOError):
            self._bell_reader.recv(_RECEIVE_BYTES)
        while self._done:
            peer, message = self._done.popleft()
            peer.is_answering = False
            peer.outgoing += message
            peer.deadline = self._new_deadline()
            self._send(peer)

    def _send(self, peer: _Peer) -> None:
        self._selector.register(peer.connection, selectors.EVENT_WRITE, lambda: self._serve(peer))
        self._serve(peer)

    def _watch(self, peer: _Peer) -> None:
        """Wait for what a peer has to do next: to take the rest of an answer, or to ask again."""
        events = selectors.EVENT_WRITE if peer.outgoing else selectors.EVENT_READ
        self._selector.modify(peer.connection, events, lambda: self._serve(peer))
        if not peer.outgoing:
            peer.deadline = self._new_deadline()
            self._read_request(peer)  # it may have asked again already

    def _drop_late_peers(self) -> None:
        now = time.monotonic()
        for peer in [peer for peer in self._peers if not peer.is_answering and now > peer.deadline]:
            self._drop(peer)

    def _drop(self, peer: _Peer) -> None:
        self._peers.discard(peer)
        with suppress(KeyError, ValueError):
            self._selector.unregister(peer.connection)
        peer.connection.close()

    def _new_deadline(self) -> float:
        return time.monotonic() + self._peer_seconds

    def _ring(self) -> None:
        with suppress(OSError):  # a full pipe rings, too; a closed one has nobody to wake
            self._bell_writer.send(b"!")


class _Peer:
    """One connection, as far as it has come."""

    def __init__(self, connection: socket.socket, deadline: float, *, is_greeted: bool) -> None:
        self.connection = connection
        self.deadline = deadline
        self.is_greeted = is_greeted
        self.is_answering = False
        self.incoming = b""
        self.outgoing = b""
        self.conversation: Conversation = {}
