"""What hooks and commands ask the resident process. Whatever is wrong there, they get None and go on.

::

    pending = begin_search(settings, env, text, database=…, project=…, limit=50, now=now)
    …                                   # the words are searched meanwhile
    hits = pending.hits(deadline)       # None: without vectors, then
    pending.close()

Nothing waits beyond its deadline, a moment of ``time.monotonic()``. Where no process runs, one is started for
the next time; by a prompt only when it is done, because loading a model keeps the processor busy.
"""

from __future__ import annotations

import os

from kizami_core.errors import KizamiError
from kizami_core.json_text import quote
from kizami_core.messages import Message
from kizami_hybrid.resident.endpoint import find_endpoint
from kizami_hybrid.resident.protocol import MAX_QUERY_CHARACTERS, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kizami_hybrid.resident.channel import Channel
    from kizami_hybrid.settings import EmbeddingSettings

    # (chunk id, cosine in [-1, 1])
    Cosine = tuple[int, float]
    # Makes the fields of a search of one project, or of all.
    Search = Callable[[str | None], str]


class Pending:
    """A question that was sent, or could not be.

    ``problem`` is "" or one sentence that ends with the remedy, for the error log. That nothing runs yet is
    none; ``is_starting`` then tells whether something will, and ``start`` is what starts it.
    """

    def __init__(
        self,
        channel: Channel | None,
        problem: str = "",
        *,
        search: Search | None = None,
        is_starting: bool = False,
        start: Callable[[], None] | None = None,
    ) -> None:
        self._channel = channel
        self._search = search
        self._start = start
        self.problem = problem
        self.is_starting = is_starting

    @property
    def is_sent(self) -> bool:
        """Whether an answer may come."""
        return self._channel is not None

    def hits(self, deadline: float) -> list[Cosine] | None:
        """Return the chunks nearest to the query, best first; None without an answer by the deadline."""
        return self._receive("hits", deadline)

    def search_again(self, project: str | None) -> None:
        """Send the query again for another project, or for all; ``hits`` then returns what is found there."""
        channel, search = self._channel, self._search
        if channel is not None and search is not None and not channel.send(search(project)):
            self.close()

    def close(self) -> None:
        """Let go of the connection, what is not answered yet never will be; start what is to be started."""
        start, self._start = self._start, None
        if start is not None:
            start()
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _receive(self, name: str, deadline: float) -> list[Cosine] | None:
        if self._channel is None:
            return None
        try:
            answer = self._channel.receive(deadline)
            if answer is not None and "error" not in answer:
                return [(int(chunk_id), float(cosine)) for chunk_id, cosine in answer[name]]  # type: ignore[attr-defined]  # checked by the handler
            if answer is not None:
                self.problem = str(answer["error"])
        except (ProtocolError, KeyError, TypeError, ValueError) as error:
            self.problem = Message(
                "The embedding process answers nonsense ({reason}). Run: kizami embedder stop", reason=error
            )
        # A late answer must not be taken for the one to the next question.
        self.close()
        return None


def begin_search(
    settings: EmbeddingSettings,
    env: Mapping[str, str],
    text: str,
    *,
    database: str,
    project: str | None,
    limit: int,
    now: float,
    include_agents: bool = False,
    is_hook: bool = False,
) -> Pending:
    """Send a query and return at once.

    Args:
        settings: the model.
        env: the environment.
        text: the prompt; of a long one its beginning and its end are enough.
        database: path of the database.
        project: the project to keep to, None for all.
        limit: how many chunks are wanted.
        now: seconds since the epoch.
        include_agents: whether sub-agents' sessions count, too.
        is_hook: where no process runs, start one only when this is closed.
    """
    half = MAX_QUERY_CHARACTERS // 2
    query = text if len(text) <= MAX_QUERY_CHARACTERS else f"{text[:half]}\n{text[-half:]}"

    def fields(project: str | None) -> str:
        return (
            f'"op":"search","text":{quote(_encodable(query))},"database":{quote(database)},'
            f'"project":{"null" if project is None else quote(project)},"k":{limit},'
            f'"include_agents":{"true" if include_agents else "false"}'
        )

    return _ask(settings, env, fields(project), database, now, search=fields, starts_at_close=is_hook)


def wake(settings: EmbeddingSettings, env: Mapping[str, str], database: str, now: float) -> str:
    """Tell the process that chunks of a database await their vectors; return at once.

    Returns:
        "" or a problem, as ``Pending.problem``.
    """
    pending = _ask(settings, env, f'"op":"refresh","database":{quote(database)}', database, now)
    pending.close()
    return pending.problem


def _ask(
    settings: EmbeddingSettings,
    env: Mapping[str, str],
    fields: str,
    database: str,
    now: float,
    *,
    search: Search | None = None,
    starts_at_close: bool = False,
) -> Pending:
    if env.get("KIZAMI_DISABLE", "0") not in ("", "0"):
        return Pending(None)
    try:
        endpoint = find_endpoint(settings, env)
    except KizamiError as error:
        return Pending(None, error.args[0])
    channel = None
    if os.path.lexists(endpoint.path):
        # Only now: without a process a prompt does not pay for a socket.
        from kizami_hybrid.resident.channel import open_channel

        channel = open_channel(endpoint)
    if channel is None:

        def start() -> None:
            # Only now: an answered prompt does not pay for starting a process.
            from kizami_hybrid.resident.starting import start_if_due

            start_if_due(endpoint, settings, database, env, now)

        is_starting = not os.path.exists(endpoint.failure_path)
        if starts_at_close:
            return Pending(None, is_starting=is_starting, start=start)
        start()
        return Pending(None, is_starting=is_starting)
    if not channel.send(fields):
        channel.close()
        return Pending(None)
    return Pending(channel, search=search)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no encoding takes."""
    return text.encode("utf-8", "replace").decode()
