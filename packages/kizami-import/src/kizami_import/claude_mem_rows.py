"""The rows of a claude-mem database, session by session, whatever version made it.

Numbers of schema versions say little (they differ between installations), so the columns are looked at.

====================== ==================================== =========================================
what                   since 4.0                            3.x
====================== ==================================== =========================================
sessions               sdk_sessions                         sessions
observations           observations                         memories
summaries              session_summaries                    overviews
prompts                user_prompts, sdk_sessions           streaming_sessions
id of a conversation   content_session_id (before 8.2.6     session_id, claude_session_id
                       claude_session_id)
id of its observer     memory_session_id (before 8.2.6      session_id
                       sdk_session_id)
====================== ==================================== =========================================

Queues (``pending_messages``), raw tool output (``tool_uses``, ``transcript_events``) and what cloud sync
keeps are never read.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import chain

from kizami_core.records import Record
from kizami_core.transcript.prompts import human_text
from kizami_import.claude_mem_text import exchange, observation, summary
from kizami_import.plain_text import items_of, moment_of, text_of
from kizami_import.snapshot import columns, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from kizami_import.report import Kind

    Row = dict[str, object]

_CONTENT = ("content_session_id", "claude_session_id", "session_id")
_OBSERVER = ("memory_session_id", "sdk_session_id", "session_id")
_TIMES = {"epoch": ("created_at_epoch",), "at": ("created_at",)}
_STARTED = {"epoch": ("started_at_epoch", "created_at_epoch"), "at": ("started_at", "created_at")}
_OBSERVATION = {
    **_TIMES,
    "id": ("id",),
    "project": ("project",),
    "title": ("title",),
    "subtitle": ("subtitle",),
    "narrative": ("narrative",),
    "text": ("text",),
    "facts": ("facts",),
    "type": ("type",),
    "concepts": ("concepts",),
    "keywords": ("keywords",),
    "read": ("files_read", "files_touched"),
    "modified": ("files_modified",),
    "prompt_number": ("prompt_number",),
}
_SUMMARY_PARTS = {
    "": "content",
    "Investigated": "investigated",
    "Learned": "learned",
    "Completed": "completed",
    "Next steps": "next_steps",
    "Notes": "notes",
}
_SUMMARY = {
    **_TIMES,
    "id": ("id",),
    "project": ("project",),
    "request": ("request",),
    "read": ("files_read",),
    "modified": ("files_edited",),
    **{name: (name,) for name in _SUMMARY_PARTS.values()},
}
_PROMPT = {
    **_TIMES,
    "id": ("id",),
    "prompt_number": ("prompt_number",),
    "text": ("prompt_text",),
}
_TABLES_OF_OBSERVATIONS = ("observations", "memories")
_TABLES_OF_SUMMARIES = ("session_summaries", "overviews")
# In which table a conversation has a row, and where in that its first prompt stands.
_TABLES_OF_SESSIONS = ("sdk_sessions", "sessions", "streaming_sessions")


class SourceRow(Record):
    """A row of claude-mem. ``text`` is "" where it says nothing; ``moment`` is UTC, "" where none is told.

    ``is_internal``: a program wrote this prompt, not a person.
    """

    kind: Kind
    uuid: str
    project: str
    moment: str
    text: str
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    file_paths: tuple[str, ...] = ()
    is_internal: bool = False


class SourceSession(Record):
    """A conversation: ``content_id`` is Claude Code's id of it, or the observer's where only that is left."""

    content_id: str
    project: str
    moment: str
    observer_ids: tuple[str, ...]


def is_claude_mem(connection: sqlite3.Connection) -> bool:
    """Tell whether a database has tables of claude-mem's."""
    return any("text" in columns(connection, table) for table in _TABLES_OF_OBSERVATIONS)


def read_sessions(connection: sqlite3.Connection) -> list[SourceSession]:
    """Return the conversations, oldest first, and behind them those whose own row is gone."""
    found: dict[str, SourceSession] = {}
    wanted = {**_STARTED, "content": _CONTENT, "observer": _OBSERVER, "project": ("project",)}
    for table in _TABLES_OF_SESSIONS:
        for row in select(connection, table, wanted) if columns(connection, table) else ():
            content, observer = text_of(row["content"]), text_of(row["observer"])
            before = found.get(content)
            found[content] = SourceSession(
                content,
                (before and before.project) or text_of(row["project"]),
                (before and before.moment) or moment_of(row["epoch"], row["at"]),
                tuple(dict.fromkeys(filter(None, (*(before.observer_ids if before else ()), observer)))),
            )
    sessions = sorted(found.values(), key=lambda session: (session.moment, session.content_id))
    observers = {observer for session in sessions for observer in session.observer_ids}
    orphans = _ids(connection, (*_TABLES_OF_OBSERVATIONS, *_TABLES_OF_SUMMARIES), _OBSERVER) - observers
    lost = _ids(connection, ("user_prompts",), _CONTENT) - set(found) - orphans
    return [
        *sessions,
        *(SourceSession(observer, "", "", (observer,)) for observer in sorted(orphans)),
        *(SourceSession(content, "", "", ()) for content in sorted(lost)),
    ]


def read_rows(connection: sqlite3.Connection, session: SourceSession) -> list[SourceRow]:
    """Return the rows of a conversation, oldest first."""
    observations = [
        row
        for table in _TABLES_OF_OBSERVATIONS
        for observer in session.observer_ids
        for row in _of_session(connection, table, _OBSERVATION, _OBSERVER, observer)
    ]
    rows = [_observation(row) for row in observations]
    for table in _TABLES_OF_SUMMARIES:
        for observer in session.observer_ids:
            rows += map(_summary, _of_session(connection, table, _SUMMARY, _OBSERVER, observer))
    titles: dict[str, list[str]] = {}
    for row in observations:
        titles.setdefault(text_of(row["prompt_number"]), []).append(text_of(row["title"]))
    prompts = list(_prompts(connection, session))
    rows += [_prompt(row, session, titles) for row in prompts]
    # A prompt comes before what it led to, also where the clock was the same.
    order = {"prompt": 0, "observation": 1, "summary": 2}
    return sorted(rows, key=lambda row: (row.moment, order[row.kind]))


def _observation(row: Row) -> SourceRow:
    narrative = text_of(row["narrative"])
    title = text_of(row["title"])
    facts = items_of(row["facts"], is_list_of_names=False)
    modified = items_of(row["modified"], is_list_of_names=True)
    read = [path for path in items_of(row["read"], is_list_of_names=True) if path not in modified]
    subtitle = text_of(row["subtitle"])
    body = narrative or text_of(row["text"])
    text = observation(title=title, subtitle=subtitle, body=body, facts=facts, modified=modified, read=read)
    moment = moment_of(row["epoch"], row["at"])
    # Until schema 49 a concept could come with its explanation: `pattern: what can be used again`.
    concepts = [name.partition(":")[0].strip() for name in items_of(row["concepts"], is_list_of_names=True)]
    return SourceRow(
        "observation",
        _uuid("observation", moment, row, ("title", "subtitle", "narrative", "text", "facts")),
        text_of(row["project"]),
        moment,
        exchange("", text) if text else "",
        tuple(filter(None, [text_of(row["type"])])),
        tuple(dict.fromkeys((*concepts, *items_of(row["keywords"], is_list_of_names=True)))),
        (*modified, *read),
    )


def _summary(row: Row) -> SourceRow:
    modified = items_of(row["modified"], is_list_of_names=True)
    read = [path for path in items_of(row["read"], is_list_of_names=True) if path not in modified]
    parts = [(label, text_of(row[name])) for label, name in _SUMMARY_PARTS.items()]
    request, answer = text_of(row["request"]), summary(parts, modified=modified, read=read)
    moment = moment_of(row["epoch"], row["at"])
    return SourceRow(
        "summary",
        _uuid("summary", moment, row, ("request", *_SUMMARY_PARTS.values())),
        text_of(row["project"]),
        moment,
        exchange(request, answer) if request or answer else "",
        ("summary",),
        (),
        (*modified, *read),
    )


def _prompt(row: Row, session: SourceSession, titles: Mapping[str, Sequence[str]]) -> SourceRow:
    """Make the row of a prompt. What came of it stands below: a question alone would answer nothing."""
    moment = moment_of(row["epoch"], row["at"])
    written = text_of(row["text"])
    prompt = human_text(written)
    led_to = dict.fromkeys(filter(None, titles.get(text_of(row["prompt_number"]), ())))
    answer = "\n".join(f"- {' '.join(title.split())}" for title in led_to)
    return SourceRow(
        "prompt",
        _uuid("prompt", moment, {**row, "session": session.content_id}, ("session", "text")),
        session.project,
        moment,
        exchange(prompt, answer) if prompt else "",
        is_internal=bool(written) and not prompt,
    )


def _prompts(connection: sqlite3.Connection, session: SourceSession) -> Iterator[Row]:
    """Yield the prompts of a conversation; its own row holds the first one, which may be all there is."""
    told = list(_of_session(connection, "user_prompts", _PROMPT, _CONTENT, session.content_id))
    yield from told
    if any(text_of(row["prompt_number"]) in {"", "0", "1"} for row in told):
        return
    wanted = {**_STARTED, "text": ("user_prompt",)}
    for table in _TABLES_OF_SESSIONS:
        for row in _of_session(connection, table, wanted, _CONTENT, session.content_id):
            if text_of(row["text"]):
                yield {**row, "prompt_number": 1}
                return


def _of_session(
    connection: sqlite3.Connection,
    table: str,
    wanted: Mapping[str, Sequence[str]],
    keys: Sequence[str],
    session_id: str,
) -> Iterator[Row]:
    there = columns(connection, table)
    key = next((name for name in keys if name in there), None)
    if key is None:
        return
    yield from select(
        connection, table, wanted, where=f'WHERE "{key}" = ? ORDER BY id', parameters=[session_id]
    )


def _ids(connection: sqlite3.Connection, tables: Sequence[str], keys: Sequence[str]) -> set[str]:
    """Return the ids of sessions that rows of these tables name."""
    rows = chain.from_iterable(
        select(connection, table, {"id": keys}) for table in tables if columns(connection, table)
    )
    return {text_of(row["id"]) for row in rows}


def _uuid(kind: str, moment: str, row: Row, names: Sequence[str]) -> str:
    """Name a row by what it says and when.

    Numbers of rows differ between machines that share their memories, ids of observers and names of projects
    are changed later, and an upgrade of claude-mem writes all tables anew: text and time stay.
    """
    told = "\0".join((moment, *(text_of(row[name]) for name in names)))
    return f"claude-mem:{kind}:{sha256(told.encode()).hexdigest()[:32]}"
