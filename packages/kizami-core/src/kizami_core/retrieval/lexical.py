"""Lexical retrieval: candidates from the word index, and what the corpus knows about the query's terms.

The work is bounded: at most ``_POSTINGS`` of a term's postings are read, newest first. What a term's
document frequency would be beyond that is estimated from how far back those reach. Where no word of the
query is in the index, FTS5's trigram table and, for what is shorter than a trigram, LIKE take over (spec:
検索エンジン).
"""

from __future__ import annotations

from math import log

from kizami_core.records import Record
from kizami_core.retrieval.terms import is_hiragana
from kizami_core.retrieval.word_index import agent_term, project_token
from kizami_core.storage.chunks import COLUMNS, chunk_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.records import Chunk
    from kizami_core.retrieval.filters import Filters
    from kizami_core.retrieval.query import Query

_POSTINGS = 1_000
# A term in more than this share of a corpus selects nothing; it still counts as evidence.
_COMMON_SHARE = 0.2
# More than the usual ½ of BM25's idf: whether one chunk or two hold a term should not matter much, or asking
# a question once would make its answer less relevant the next time.
_SMOOTHING = 1.5
# Few chunks say little about how rare a term is: a small corpus counts as one of this size.
_MIN_CORPUS = 500
_MAX_TRIGRAMS = 24
# What a word of the same meaning counts for.
ALTERNATIVE = 0.6


class Posting(Record):
    """Where a term stands: ``document_frequency`` is exact when ``is_complete``, else an estimate."""

    newest_first: tuple[int, ...]
    chunk_ids: frozenset[int]
    document_frequency: int
    is_complete: bool


class TermStatistics:
    """What a corpus (one project, or all) knows about the terms of one query."""

    def __init__(self, corpus_size: int, postings: dict[str, Posting]) -> None:
        self.corpus_size = corpus_size
        self.postings = postings
        self._documents = max(corpus_size, _MIN_CORPUS)
        self.highest_idf = log(1.0 + (self._documents + _SMOOTHING) / _SMOOTHING)

    def rarity(self, term: str) -> float:
        """Return the idf of a term as a share of the highest possible one, in (0, 1].

        idf = ln(1 + (N − df + s) / (df + s)), Robertson and Spärck Jones as used in BM25, s = ``_SMOOTHING``.
        """
        frequency = self.document_frequency(term)
        return (
            log(
                1.0
                + (self._documents - min(frequency, self._documents) + _SMOOTHING) / (frequency + _SMOOTHING)
            )
            / self.highest_idf
        )

    def document_frequency(self, term: str) -> int:
        """Return how many chunks of the corpus hold the term (estimated for very common ones)."""
        posting = self.postings.get(term)
        return posting.document_frequency if posting else 0

    def is_selective(self, term: str) -> bool:
        """Tell whether the term is there and rare enough to propose candidates."""
        frequency = self.document_frequency(term)
        return 0 < frequency <= max(_COMMON_SHARE * self.corpus_size, _POSTINGS)

    def contains(self, chunk_id: int, term: str, text: str) -> bool:
        """Tell whether a chunk (its folded text at hand) holds a term."""
        posting = self.postings.get(term)
        if posting is None:
            return False
        return chunk_id in posting.chunk_ids or (not posting.is_complete and term in text)


class LexicalRetriever:
    """Finds candidate chunks by the terms that they share with a query.

    Args:
        connection: an open database.
        project_path: the project to search in, or None for all.
        include_agents: search the sessions of sub-agents too.
        filters: what a candidate must be besides. They narrow the candidates, not what the corpus is said to
            know: a memory is as relevant with them as without.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        project_path: str | None,
        *,
        include_agents: bool = False,
        filters: Filters | None = None,
    ) -> None:
        self._connection = connection
        self._project_path = project_path
        self._include_agents = include_agents
        self._filters = filters

    def statistics(self, query: Query) -> TermStatistics:
        """Look up the query's terms: at most one bounded read of the index for each."""
        size = self._corpus_size()
        scope = ""
        if self._project_path is not None:
            row = self._connection.execute(
                """SELECT id FROM projects WHERE path = ?""", (self._project_path,)
            ).fetchone()
            if row is None:
                return TermStatistics(0, {})
            scope = f" AND {_quoted(project_token(row[0]))}"
        newest = self._connection.execute("""SELECT coalesce(max(id), 0) FROM chunks""").fetchone()[0]
        postings: dict[str, Posting] = {}
        for word in query.words:
            for term in (*word.terms, *(term for terms in word.alternatives for term in terms)):
                if term not in postings:
                    postings[term] = self._posting(term, scope, size, newest)
        return TermStatistics(size, postings)

    def _corpus_size(self) -> int:
        sizes = self._connection.execute(
            """
            SELECT coalesce(sum(chunk_count), 0) FROM sessions
            WHERE (:project IS NULL OR project_path = :project) AND (:agents OR parent_session_id IS NULL)
            """,
            {"project": self._project_path, "agents": self._include_agents},
        )
        count: int = sizes.fetchone()[0]
        return count

    def _posting(self, term: str, scope: str, size: int, newest: int) -> Posting:
        match = _quoted(term)
        if self._include_agents:
            match = f"({match} OR {_quoted(agent_term(term))})"
        ids = [
            row[0]
            for row in self._connection.execute(
                """SELECT rowid FROM chunks_words WHERE chunks_words MATCH ? ORDER BY rowid DESC LIMIT ?""",
                (match + scope, _POSTINGS),
            )
        ]
        if len(ids) < _POSTINGS:
            return Posting(tuple(ids), frozenset(ids), len(ids), is_complete=True)
        reach = newest - ids[-1] + 1
        return Posting(
            tuple(ids if self._filters is None else self._wanted_posting(match + scope, self._filters)),
            frozenset(ids),
            min(size, max(_POSTINGS, _POSTINGS * newest // reach)),
            is_complete=False,
        )

    def _wanted_posting(self, match: str, filters: Filters) -> list[int]:
        """Return the newest postings among the chunks that may pass: the newest of all may be too new."""
        condition, parameters = filters.condition()
        rows = self._connection.execute(
            f"""
            SELECT w.rowid FROM chunks_words w CROSS JOIN chunks c ON c.id = w.rowid
            WHERE chunks_words MATCH :match AND {condition} ORDER BY w.rowid DESC LIMIT :limit
            """,  # noqa: S608 - made of constants
            {**parameters, "match": match, "limit": _POSTINGS},
        )
        return [row[0] for row in rows]

    def retrieve(self, query: Query, statistics: TermStatistics, *, limit: int) -> list[Chunk]:
        """Return at most ``limit`` candidates, those that hold the most and rarest terms first."""
        scores: dict[int, float] = {}
        credited: set[str] = set()
        for word in query.words:
            # The bigrams of one long word are not independent evidence.
            share = 1.0 if len(word.terms) < 3 else (len(word.terms) - 1) ** -0.5  # noqa: PLR2004
            for term in word.terms:
                if term in credited or not statistics.is_selective(term):
                    continue
                credited.add(term)
                weight = share * statistics.rarity(term)
                for chunk_id in statistics.postings[term].newest_first:
                    scores[chunk_id] = scores.get(chunk_id, 0.0) + weight
            for terms in word.alternatives:
                for term in terms:
                    if term in credited or not statistics.is_selective(term):
                        continue
                    credited.add(term)
                    weight = ALTERNATIVE * statistics.rarity(term) / len(terms)
                    for chunk_id in statistics.postings[term].newest_first:
                        scores[chunk_id] = scores.get(chunk_id, 0.0) + weight
        # Equals stay in the order they were met, which is newest first.
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        found = self._load(best, limit)
        if self._filters is not None and self._filters.phrases:
            return found + self._with_phrases(self._filters, found, limit - len(found))
        return found if credited else self._by_substring(query, limit)

    def _with_phrases(self, filters: Filters, known: list[Chunk], limit: int) -> list[Chunk]:
        """Return chunks that hold the wanted phrases, and perhaps no word of the query as it is indexed."""
        from kizami_core.retrieval.listing import newest

        return newest(
            self._connection,
            filters,
            project_path=self._project_path,
            include_agents=self._include_agents,
            limit=limit,
            without={chunk.id for chunk in known},
        )

    def _by_substring(self, query: Query, limit: int) -> list[Chunk]:
        condition, parameters = ("1", {}) if self._filters is None else self._filters.condition()
        trigrams = _trigrams(query.text)
        if trigrams:
            match = " OR ".join(map(_quoted, trigrams))
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
        return self._load([row[0] for row in rows], limit)

    def _load(self, chunk_ids: list[int], limit: int) -> list[Chunk]:
        """Read chunks until there are enough that pass."""
        chunks: list[Chunk] = []
        for chunk_id in chunk_ids:
            if len(chunks) == limit:
                break
            row = self._connection.execute(
                f"""SELECT {COLUMNS} FROM chunks WHERE id = ?""",  # noqa: S608 - a constant
                (chunk_id,),
            ).fetchone()
            # The index may still hold a chunk that another program deleted.
            if row is not None:
                chunk = chunk_of(row)
                if self._filters is None or self._filters.admits(chunk):
                    chunks.append(chunk)
        return chunks


def _quoted(term: str) -> str:
    """Return a term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'


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
