"""The seam for vectors: a second retriever, which finds memories that are near to a query in meaning.

Core has none. A package above it implements ``VectorSource``, which is handed to ``recall`` or ``find``: what
it finds joins the candidates, and what it measures joins their evidence. Without one, or without its answer
in time, everything is as the words alone have it.
"""

from __future__ import annotations

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class VectorSource(Protocol):
        """One query's view of the vectors."""

        @property
        def odds(self) -> float:
            """The most that ``judge`` multiplies the odds of a relevance by.

            Infinity where it brings back what no word speaks for.
            """

        def ask(self, project_path: str | None) -> None:
            """Send the query, for one project or for all, unless that is done already; return at once."""

        def nearest(self) -> Sequence[int]:
            """Return the chunks nearest to what was asked last, nearest first; none without an answer."""

        def judge(self, candidates: Sequence[Judgement]) -> Sequence[Judgement]:
            """Return what words and vectors say of each candidate, given what the words say."""


class Judgement(Record):
    """What speaks for a candidate.

    ``relevance`` is a probability, 0.0 where nothing speaks for it; ``rank_score`` orders a search (higher is
    better); ``cosine``, to the query, is None where no vector was compared.
    """

    chunk_id: int
    relevance: float
    rank_score: float
    cosine: float | None = None
