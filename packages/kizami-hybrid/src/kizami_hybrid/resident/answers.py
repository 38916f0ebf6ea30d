"""What the resident process answers: the operations of the protocol, on the model and the databases."""

from __future__ import annotations

import os

import numpy as np

from kizami_core import __version__
from kizami_hybrid.resident.memory_use import resident_bytes
from kizami_hybrid.resident.protocol import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from numpy.typing import NDArray

    from kizami_hybrid.embedder import Embedder
    from kizami_hybrid.resident.background import Background
    from kizami_hybrid.resident.server import Conversation

    class Databases(Protocol):
        """The vectors of any database, by its path. May be called from several threads at once."""

        def search(
            self,
            database: str,
            vector: NDArray[np.float32],
            project_path: str | None,
            k: int,
            *,
            include_agents: bool,
        ) -> Sequence[tuple[int, float]]:
            """Return the chunks nearest to a vector with their cosines, best first."""

        def embed_some(self, database: str) -> int:
            """Embed a few chunks that have no vector, the newest first; return how many (0: all done)."""

        def waiting(self, database: str) -> int:
            """Return how many chunks have no vector."""


_MAX_NEIGHBOURS = 1_000


class Answers:
    """Answers requests; see ``protocol``.

    Args:
        embedder: the model.
        databases: where its vectors are.
        background: what embeds the chunks that have none.
        stop: ends the process.
        uptime: seconds since it started.
    """

    def __init__(
        self,
        embedder: Embedder,
        databases: Databases,
        background: Background,
        *,
        stop: Callable[[], None],
        uptime: Callable[[], float],
    ) -> None:
        self._embedder = embedder
        self._databases = databases
        self._background = background
        self._stop = stop
        self._uptime = uptime
        self._operations = {
            "search": self._search,
            "embed": self._embed,
            "refresh": self._refresh,
            "status": self._status,
            "stop": self._end,
        }

    def answer(self, request: Mapping[str, object], conversation: Conversation) -> Mapping[str, object]:
        """Answer one request.

        Raises:
            ProtocolError: it lacks something, or asks for what there is not.
            KizamiError: the model or the database can't be used.
        """
        operation = self._operations.get(_text(request, "op"))
        if operation is None:
            raise ProtocolError(f"there is no operation {request['op']!r}")
        return operation(request, conversation)

    def _search(self, request: Mapping[str, object], conversation: Conversation) -> Mapping[str, object]:
        database, text = _text(request, "database"), _text(request, "text")
        project = request.get("project")
        vector = conversation.get("vector")
        if conversation.get("text") != text or not isinstance(vector, np.ndarray):
            (vector,) = self._embedder.embed([text], "query")
        conversation.update(vector=vector, text=text)
        hits = self._databases.search(
            database,
            vector,
            project if isinstance(project, str) else None,
            min(_number(request, "k"), _MAX_NEIGHBOURS),
            include_agents=request.get("include_agents") is True,
        )
        self._background.look_at(database)
        return {"hits": [(chunk_id, round(float(cosine), 6)) for chunk_id, cosine in hits]}

    def _embed(self, request: Mapping[str, object], _: Conversation) -> Mapping[str, object]:
        kind = request.get("kind")
        if kind not in ("query", "document"):
            raise ProtocolError('kind is neither "query" nor "document"')
        (vector,) = self._embedder.embed([_text(request, "text")], kind)
        return {"vector": vector.astype("<f4").tobytes().hex()}

    def _refresh(self, request: Mapping[str, object], _: Conversation) -> Mapping[str, object]:
        self._background.notice(_text(request, "database"))
        return {}

    def _status(self, _: Mapping[str, object], __: Conversation) -> Mapping[str, object]:
        return {
            "version": __version__,
            "pid": os.getpid(),
            "model": self._embedder.model.as_dict(),
            "uptime_seconds": round(self._uptime(), 1),
            "resident_bytes": resident_bytes(),
            "waiting": {path: self._databases.waiting(path) for path in self._background.databases()},
            "problem": self._background.problem,
        }

    def _end(self, _: Mapping[str, object], __: Conversation) -> Mapping[str, object]:
        self._stop()
        return {}


def _text(request: Mapping[str, object], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise ProtocolError(f"{name} is no text")
    return value


def _number(request: Mapping[str, object], name: str) -> int:
    value = request.get(name)
    if not isinstance(value, int) or value < 1:
        raise ProtocolError(f"{name} is no number of chunks")
    return value
