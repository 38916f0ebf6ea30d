"""Lexical retrieval: candidates from the word index, and what the corpus knows about the query's terms.

The work is bounded: of each term the newest ``_PROBE`` postings are read, of the rarest terms up to
``_POSTINGS`` until ``_BUDGET`` is spent. What a term's document frequency would be beyond that is estimated
from how far back those reach. Where no word of the query is in the index, FTS5's trigram table and, for what
is shorter than a trigram, LIKE take over (spec: 検索エンジン); a recall, whose gate lets nothing through that
only shares substrings, looks for slips of the keyboard alone.
"""

from __future__ import annotations

from itertools import islice
from math import log

from kizami_core.records import Record
from kizami_core.retrieval.word_index import agent_term, index_row, project_token, quoted
from kizami_core.storage.chunks import COLUMNS, chunk_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from kizami_core.records import Chunk
    from kizami_core.retrieval.filters import Filters
    from kizami_core.retrieval.query import Query

_PROBE, _POSTINGS, _BUDGET = 200, 1_000, 4_000
# A term in more than this share of a corpus, and in more chunks than this, selects nothing; it still counts
# as evidence.
_COMMON_SHARE, _COMMON = 0.2, 1_000
_CLEARLY = 1.5  # times as many, by an estimate from few postings, leave no doubt
# More than the usual ½ of BM25's idf: whether one chunk or two hold a term should not matter much, or asking
# a question once would make its answer less relevant the next time.
_SMOOTHING = 1.5
# Few chunks say little about how rare a term is: a small corpus counts as one of this size.
_MIN_CORPUS = 500
# Shorter words resemble others by chance; a longer one is a slip for another that has half of its trigrams.
RESEMBLING_CHARACTERS = 5
_LOADED_AT_ONCE = 500
# What a word of the same meaning counts for.
ALTERNATIVE = 0.6


class Posting(Record):
    """Where a term stands: ``document_frequency`` is exact when ``is_complete``, else an estimate."""

    newest_first: Sequence[int]
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
        return 0 < frequency <= max(_COMMON_SHARE * self.corpus_size, _COMMON)


class LexicalRetriever:
    """Finds candidate chunks by the terms that they share with a query.

    Args:
        connection: an open database.
        project_path: the project to search in, or None for all.
        include_agents: search the sessions of sub-agents too.
        filters: what a candidate must be besides. They narrow the candidates, not what the corpus is said to
            know: a memory is as relevant with them as without.
        trigrams: the newest holders of trigrams that were looked up before; those looked up now are added.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        project_path: str | None,
        *,
        include_agents: bool = False,
        filters: Filters | None = None,
        trigrams: dict[str, list[int]] | None = None,
    ) -> None:
        self._connection = connection
        self._project_path = project_path
        self._include_agents = include_agents
        self._filters = filters
        self._trigrams = {} if trigrams is None else trigrams
        # Estimated frequency, term, what it is looked up by, and a cursor behind its newest postings.
        self._common: list[tuple[int, str, str, sqlite3.Cursor]] = []
        self._newest = 0

    def statistics(self, query: Query) -> TermStatistics:
        """Look up the query's terms: at most one bounded read of the index for each."""
        return self.read_on(self.first_look(query))

    def first_look(self, query: Query) -> TermStatistics:
        """Look up the query's terms as far as the newest postings tell; ``read_on`` goes on from there."""
        self._common = []
        size = self._corpus_size()
        scope = ""
        if self._project_path is not None:
            row = self._connection.execute(
                """SELECT id FROM projects WHERE path = ?""", (self._project_path,)
            ).fetchone()
            if row is None:
                return TermStatistics(0, {})
            scope = f" AND {quoted(project_token(row[0]))}"
        self._newest = self._connection.execute("""SELECT coalesce(max(id), 0) FROM chunks""").fetchone()[0]
        first = index_row(0)  # less a row of the index is its chunk
        postings: dict[str, Posting] = {}
        for word in query.words:
            for term in (*word.terms, *(term for terms in word.alternatives for term in terms)):
                if term in postings:
                    continue
                match = self._match(term, scope)
                rows = self._connection.execute(
                    """SELECT rowid FROM chunks_words WHERE chunks_words MATCH ? ORDER BY rowid""", (match,)
                )
                ids = [first - row[0] for row in rows.fetchmany(_PROBE)]
                frequency, is_complete = len(ids), len(ids) < _PROBE
                if not is_complete:
                    frequency = _frequency(ids, size, self._newest)
                    self._common.append((frequency, term, match, rows))
                postings[term] = Posting(ids, frozenset(ids), frequency, is_complete)
        return TermStatistics(size, postings)

    def read_on(self, statistics: TermStatistics) -> TermStatistics:
        """Read more of the common terms, the rarest first, within bounds, after ``first_look``."""
        size, first = statistics.corpus_size, index_row(0)
        postings = dict(statistics.postings)
        left = _BUDGET
        for probed, term, match, rows in sorted(self._common):
            frequency, is_complete = probed, False
            ids = list(postings[term].newest_first)
            # Where the newest alone show that a term selects nothing, more of them would tell no more.
            if left > 0 and probed <= _CLEARLY * max(_COMMON_SHARE * size, _COMMON):
                ids += [first - row[0] for row in rows.fetchmany(_POSTINGS - _PROBE)]
                left -= len(ids)
                is_complete = len(ids) < _POSTINGS
                frequency = len(ids) if is_complete else _frequency(ids, size, self._newest)
            rows.close()
            proposed = ids
            if self._filters is not None and not is_complete:
                proposed = self._wanted_posting(match, self._filters)
            postings[term] = Posting(proposed, frozenset(ids), frequency, is_complete)
        return TermStatistics(size, postings)

    def _corpus_size(self) -> int:
        # Written so that each of them is read from idx_sessions_size alone.
        scope = "1" if self._project_path is None else "project_path = :project"
        sizes = self._connection.execute(
            f"""
            SELECT coalesce(sum(chunk_count), 0) FROM sessions
            WHERE {scope} AND (:agents OR parent_session_id IS NULL)
            """,  # noqa: S608 - made of constants
            {"project": self._project_path, "agents": self._include_agents},
        )
        count: int = sizes.fetchone()[0]
        return count

    def _match(self, term: str, scope: str) -> str:
        match = quoted(term)
        if self._include_agents:
            match = f"({match} OR {quoted(agent_term(term))})"
        return match + scope

    def _wanted_posting(self, match: str, filters: Filters) -> list[int]:
        """Return the newest postings among the chunks that may pass: the newest of all may be too new."""
        condition, parameters = filters.condition()
        rows = self._connection.execute(
            f"""
            SELECT c.id FROM chunks_words w CROSS JOIN chunks c ON c.id = :first - w.rowid
            WHERE chunks_words MATCH :match AND {condition} ORDER BY w.rowid LIMIT :limit
            """,  # noqa: S608 - made of constants
            {**parameters, "match": match, "first": index_row(0), "limit": _POSTINGS},
        )
        return [row[0] for row in rows]

    def retrieve(
        self, query: Query, statistics: TermStatistics, *, limit: int, by_substring: bool = True
    ) -> list[Chunk]:
        """Return at most ``limit`` candidates, those that hold the most and rarest terms first.

        Where no term proposes any, those that hold substrings of the text; without ``by_substring`` only
        those that hold words like the unknown ones.
        """
        weights: dict[str, float] = {}
        for word in query.words:
            # The bigrams of one long word are not independent evidence.
            share = 1.0 if len(word.terms) < 3 else (len(word.terms) - 1) ** -0.5  # noqa: PLR2004
            for term in word.terms:
                if term not in weights and statistics.is_selective(term):
                    weights[term] = share * statistics.rarity(term)
            for terms in word.alternatives:
                for term in terms:
                    if term not in weights and statistics.is_selective(term):
                        weights[term] = ALTERNATIVE * statistics.rarity(term) / len(terms)
        scores: dict[int, float] = {}
        known = scores.get
        for term, weight in weights.items():
            for chunk_id in statistics.postings[term].newest_first:
                scores[chunk_id] = known(chunk_id, 0.0) + weight
        found = self.load(_best_first(scores, limit), limit)
        if self._filters is not None and self._filters.phrases:
            return found + self._with_phrases(self._filters, found, limit - len(found))
        if weights:
            return found
        from kizami_core.retrieval.substrings import Substrings

        substrings = Substrings(
            self._connection,
            self._project_path,
            include_agents=self._include_agents,
            filters=self._filters,
            holders=self._trigrams,
        )
        if by_substring:
            return self.load(substrings.containing(query, limit), limit)
        return self.load(substrings.resembling(query, statistics), limit)

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

    def load(self, chunk_ids: Iterable[int], limit: int) -> list[Chunk]:
        """Read chunks, in this order, until there are enough that pass the filters."""
        chunks: list[Chunk] = []
        waiting = iter(chunk_ids)
        while batch := list(islice(waiting, min(limit, _LOADED_AT_ONCE))):
            rows = self._connection.execute(
                f"""SELECT {COLUMNS} FROM chunks WHERE id IN ({", ".join("?" * len(batch))})""",  # noqa: S608
                batch,
            )
            # The index may still hold a chunk that another program deleted.
            by_id = {row[0]: row for row in rows}
            for chunk_id in batch:
                row = by_id.get(chunk_id)
                if row is None:
                    continue
                chunk = chunk_of(row)
                if self._filters is None or self._filters.admits(chunk):
                    chunks.append(chunk)
                if len(chunks) == limit:
                    return chunks
        return chunks


def _frequency(newest_first: Sequence[int], size: int, newest: int) -> int:
    """Return in how many of ``size`` chunks a term is, from how far back its newest postings reach."""
    reach = newest - newest_first[-1] + 1
    return min(size, max(len(newest_first), len(newest_first) * newest // reach))


def _best_first(scores: dict[int, float], limit: int) -> Iterator[int]:
    """Yield the keys, the highest score first, equals in their order, which is newest first.

    Those behind the first ``limit`` are only put in order when it comes to them, which is rarely.
    """
    values = sorted(scores.values(), reverse=True)
    least = values[limit - 1] if 0 < limit < len(values) else float("-inf")
    first = [key for key, score in scores.items() if score >= least]
    yield from sorted(first, key=scores.__getitem__, reverse=True)
    others = [key for key, score in scores.items() if score < least]
    yield from sorted(others, key=scores.__getitem__, reverse=True)
