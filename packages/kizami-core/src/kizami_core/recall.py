"""Recall: from a prompt to the few past exchanges that matter, or to silence."""

from __future__ import annotations

from kizami_core.ranking import Ranking
from kizami_core.retrieval.formatting import ShownMemory, format_memories
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.snippet import snippet
from kizami_core.timestamps import local_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.config import Config

_TOKENS_PER_MEMORY = 125
# What the client sends as a prompt without a person having typed it.
_SYNTHETIC = (
    "<task-notification",
    "<agent-notification",
    "<local-command-",
    "<system-reminder",
    "<command-",
)


def is_worth_asking(prompt: str) -> bool:
    """Tell whether a prompt is a person's and says anything that a memory could answer.

    Notifications and slash commands are not; "はい", "続けて", "ok" carry no content, see ``analyze_query``.
    """
    text = prompt.strip()
    if not text or text.startswith(_SYNTHETIC):
        return False
    first = text.split(None, 1)[0]
    # "/review the parser" is a command, "/src/app.ts fails" is not.
    return not (first.startswith("/") and "/" not in first[1:] and "." not in first)


def recall(
    connection: sqlite3.Connection,
    prompt: str,
    *,
    session_id: str,
    project_path: str,
    config: Config,
    now: float,
) -> str:
    """Return the block to put before a prompt, "" for silence.

    Args:
        connection: an open database; it is only read.
        prompt: what the person sent.
        session_id: the running session, whose own turns are never shown.
        project_path: the project of the running session.
        config: limits, gate and scope.
        now: epoch seconds.
    """
    if config.recall_limit == 0 or not is_worth_asking(prompt):
        return ""
    query = analyze_query(prompt)
    if not query.words:
        return ""
    ranking = Ranking(
        connection, query, project_path=project_path, session_id=session_id, config=config, now=now
    )
    hits = ranking.relaxed() if config.min_relevance_score == 0 else ranking.gated()
    budget = config.recall_limit * _TOKENS_PER_MEMORY // max(1, len(hits))
    return format_memories(
        [
            ShownMemory(
                local_date(hit.chunk.created_at),
                hit.chunk.session_id,
                "" if hit.chunk.project_path == project_path else _name(hit.chunk.project_path),
                hit.relevance,
                snippet(hit.chunk.content, ranking.rarities[hit.chunk.id], budget),
            )
            for hit in hits
        ]
    )


def _name(project_path: str) -> str:
    return project_path.replace("\\", "/").rstrip("/").rpartition("/")[2] or project_path
