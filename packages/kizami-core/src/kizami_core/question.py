"""Whether a prompt asks anything that a memory could answer.

That is told from the prompt alone: for "はい" and "続けて" the hook opens no database (ARCHITECTURE.md, "The
hook path").
"""

from __future__ import annotations

from kizami_core.recall_report import RecallReport
from kizami_core.retrieval.query import analyze_query, only_steers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.config import Config
    from kizami_core.retrieval.query import Query

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


def question(prompt: str, config: Config) -> Query | RecallReport:
    """Return what a prompt asks, or a report that says why nothing is to be looked up."""
    gate = config.min_relevance_score
    if config.recall_limit == 0:
        return RecallReport("limit_zero", gate)
    if not is_worth_asking(prompt):
        return RecallReport("no_question", gate)
    query = analyze_query(prompt)
    return RecallReport("steering", gate) if only_steers(query) else query
