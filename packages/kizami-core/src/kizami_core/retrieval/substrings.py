"""Substrings: what has no word in the index is found by its trigrams, and what is shorter by LIKE."""

from __future__ import annotations

from kizami_core.retrieval.lexical import RESEMBLING_CHARACTERS
from kizami_core.retrieval.terms import is_hiragana
from kizami_core.retrieval.word_index import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.retrieval.filters import Filters
    from kizami_core.retrieval.lexical import TermStatistics
    from kizami_core.retrieval.query import Query

_MAX_TRIGRAMS = 24
# A trigram that more chunks hold than this is not told apart from one that all hold.
_TRIGRAM_POSTINGS = 100
_MOST_LIKE = 500


class Substrings:
    """Finds chunks by parts of words.

    Args:
        connection: an open database.
        project_path: the project to search in, or None for all.
        include_agents: search the sessions of sub-agents too.
        filters: what a chunk must be besides, as far as SQL can tell.
        holders: the newest holders of trigrams that were looked up before; those looked up now are added.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        project_path: str | None,
        *,
        include_agents: bool,
        filters: Filters | None,
        holders: dict[str, list[int]],
    ) -> None:
        self._connection = connection
        self._project_path = project_path
        self._include_agents = include_agents
        self._filters = filters
        self._holders = holders

    def resembling(self, query: Query, statistics: TermStatistics) -> list[int]:
        """Return chunks that may hold a word with half of the trigrams of an unknown one, likest first."""
        likeness: dict[int, float] = {}
        left = 2 * _MAX_TRIGRAMS
        for word in query.words:
            surface = word.surface.lower()
            trigrams = {surface[at : at + 3] for at in range(len(surface) - 2)}
            is_known = any(map(statistics.document_frequency, word.terms))
            if is_known or len(surface) < RESEMBLING_CHARACTERS or len(trigrams) > left:
                continue
            counts: dict[int, int] = {}
            common = missing = 0
            for trigram in trigrams:
                holders = self._trigram_holders(trigram)
                left -= 1
                common += len(holders) == _TRIGRAM_POSTINGS
                missing += not holders
                if 2 * missing > len(trigrams):
                    counts = {}
                    break
                for chunk_id in holders:
                    counts[chunk_id] = counts.get(chunk_id, 0) + 1
            for chunk_id, count in counts.items():
                if 2 * (count + common) >= len(trigrams):
                    likeness[chunk_id] = likeness.get(chunk_id, 0.0) + count / len(trigrams)
        if not likeness:
            return []
        best = sorted(likeness, key=likeness.__getitem__, reverse=True)[:_MOST_LIKE]
        rows = self._connection.execute(
            f"""
            SELECT id FROM chunks WHERE id IN ({", ".join("?" * len(best))})
              AND (? IS NULL OR project_path = ?) AND (? OR NOT is_agent)
            """,  # noqa: S608 - made of constants
            (*best, self._project_path, self._project_path, self._include_agents),
        )
        wanted = {row[0] for row in rows}
        return [chunk_id for chunk_id in best if chunk_id in wanted]

    def _trigram_holders(self, trigram: str) -> list[int]:
        """Return the newest chunks, of any project, that hold a trigram: a bounded number."""
        holders = self._holders.get(trigram)
        if holders is None:
            rows = self._connection.execute(
                """SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rowid DESC LIMIT ?""",
                (quoted(trigram), _TRIGRAM_POSTINGS),
            )
            holders = self._holders[trigram] = [row[0] for row in rows]
        return holders

    def containing(self, query: Query, limit: int) -> list[int]:
        """Return chunks that hold trigrams of the text, best first, or all of a text that is shorter."""
        condition, parameters = ("1", {}) if self._filters is None else self._filters.condition()
        trigrams = _trigrams(query.text)
        if trigrams:
            match = " OR ".join(map(quoted, trigrams))
            rows = self._connection.execute(
                f"""
                SELECT c.id FROM chunks_fts f JOIN chunks c ON c.id = f.rowid
                WHERE chunks_fts MATCH :match AND (:project IS NULL OR c.project_path = :project)
                  AND (:agents OR NOT c.is_agent) AND {condition}
                ORDER BY f.rank LIMIT :limit
                """,  # noqa: S608 - made of constants
                {
                    **parameters,
                    "match": match,
                    "project": self._project_path,
                    "agents": self._include_agents,
                    "limit": limit if self._filters is None else -1,
                },
            )
        else:
            short = query.text.strip()
            if not short:
                return []
            pattern = short.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            rows = self._connection.execute(
                f"""
                SELECT c.id FROM chunks c
                WHERE c.content LIKE '%' || :pattern || '%' ESCAPE '\\'
                  AND (:project IS NULL OR c.project_path = :project)
                  AND (:agents OR NOT c.is_agent) AND {condition}
                ORDER BY c.created_at DESC LIMIT :limit
                """,  # noqa: S608 - made of constants
                {
                    **parameters,
                    "pattern": pattern,
                    "project": self._project_path,
                    "agents": self._include_agents,
                    "limit": limit if self._filters is None else -1,
                },
            )
        return [row[0] for row in rows]


def _trigrams(text: str) -> list[str]:
    """Return the distinct trigrams of a folded text, a bounded number taken evenly over its length.

    Those of kana alone are left out unless there are no others: they are grammar more often than words.
    """
    found: dict[str, None] = {}
    for piece in text.split():
        for at in range(len(piece) - 2):
            found[piece[at : at + 3]] = None
    telling = [trigram for trigram in found if not is_hiragana(trigram)] or list(found)
    step = max(1, -(-len(telling) // _MAX_TRIGRAMS))
    return telling[::step]
