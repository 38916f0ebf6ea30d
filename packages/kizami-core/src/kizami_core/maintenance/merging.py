"""Merging: of chunks that say nearly the same, the richer one stays (spec: trigram Jaccard similarity).

Only chunks of one project are compared: taking the copy out of another one would take a memory away there.

Candidates are found by prefix filtering (Chaudhuri, Ganti, Kaushik 2006; Wang, Li, Feng 2012): with the
trigrams of each text ordered from rare to common, two texts of similarity t or more share at least k (or, if
that is less, all of ``ceil(t * n)``) among their first ``n - ceil(t * n) + k``. No pair is missed, and texts
that share only common trigrams are hardly ever compared. A chunk that is merged is compared with nothing
after that, so a thousand copies cost a thousand comparisons.
"""

from __future__ import annotations

import math
from collections import Counter

from kizami_core.errors import ConfigError
from kizami_core.maintenance.deletion import remove_chunks
from kizami_core.records import Record
from kizami_core.retrieval.normalize import fold
from kizami_core.storage.chunks import project_chunks
from kizami_core.storage.connection import transaction
from kizami_core.storage.space import reclaim_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from kizami_core.records import Chunk

DEFAULT_THRESHOLD = 0.6
_SHARED = 12  # k
_ROUNDING = 1e-9  # 0.7 * 10 is a little more than 7 to a computer


class MergedPair(Record):
    """A chunk that goes, the one that says it better, and their similarity in [0, 1]."""

    kept: Chunk
    removed: Chunk
    similarity: float


def merge(
    connection: sqlite3.Connection,
    *,
    project_path: str | None,
    now: float,
    threshold: float = DEFAULT_THRESHOLD,
    dry_run: bool = False,
) -> list[MergedPair]:
    """Merge within one project, or within each of all (None); on a dry run only tell.

    The turns of removed chunks are locked, so that no later save brings them back.

    Raises:
        ConfigError: the threshold is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ConfigError(
            f"The threshold {threshold:g} is not above 0 and at most 1. The default is {DEFAULT_THRESHOLD}."
        )
    projects: dict[str, list[Chunk]] = {}
    for chunk in project_chunks(connection, project_path):
        projects.setdefault(chunk.project_path, []).append(chunk)
    pairs = [pair for chunks in projects.values() for pair in find_similar(chunks, threshold)]
    if pairs and not dry_run:
        with transaction(connection):
            reason = f"similarity of {threshold:g} or more to a chunk that is kept"
            remove_chunks(
                connection, [pair.removed.id for pair in pairs], action="merge", reason=reason, now=now
            )
        reclaim_space(connection)
    return pairs


def find_similar(chunks: Sequence[Chunk], threshold: float) -> list[MergedPair]:
    """Return the chunks that a richer one makes superfluous, each with the most similar one kept."""
    frequencies: Counter[str] = Counter()
    sizes: dict[int, int] = {}
    for chunk in chunks:
        own = trigrams(chunk.content)
        sizes[chunk.id] = len(own)
        frequencies.update(own)
    kept = _Kept(frequencies, threshold)
    pairs: list[MergedPair] = []
    for chunk in sorted(chunks, key=lambda chunk: _richness(chunk, sizes[chunk.id]), reverse=True):
        richer, similarity = kept.most_similar(chunk)
        if richer is None:
            kept.add(chunk)
        else:
            pairs.append(MergedPair(richer, chunk, similarity))
    return pairs


class _Kept:
    """The chunks that are kept so far, found by what they share with a poorer one."""

    def __init__(self, frequencies: Mapping[str, int], threshold: float) -> None:
        self._frequencies = frequencies
        self._threshold = threshold
        self._chunks: list[Chunk] = []
        self._sizes: list[int] = []
        self._by_trigram: dict[str, list[int]] = {}

    def add(self, chunk: Chunk) -> None:
        own = trigrams(chunk.content)
        for trigram in self._prefix(own):
            self._by_trigram.setdefault(trigram, []).append(len(self._chunks))
        self._chunks.append(chunk)
        self._sizes.append(len(own))

    def most_similar(self, chunk: Chunk) -> tuple[Chunk | None, float]:
        """Return the kept chunk most like this one, the richest of equals, if any reaches the threshold."""
        own = trigrams(chunk.content)
        shared: Counter[int] = Counter()
        for trigram in self._prefix(own):
            shared.update(self._by_trigram.get(trigram, ()))
        least = min(_SHARED, self._least_overlap(len(own)))
        found: Chunk | None = None
        best = 0.0
        for number in sorted(shared):
            # Those kept are at least as long: too long, and even all of this text is too small a share.
            if shared[number] >= least and len(own) >= self._threshold * self._sizes[number]:
                similarity = jaccard(own, trigrams(self._chunks[number].content))
                if similarity >= self._threshold and similarity > best:
                    found, best = self._chunks[number], similarity
        return found, best

    def _prefix(self, own: frozenset[str]) -> list[str]:
        """Return the rarest trigrams of a text, without those that no other text has: they lead nowhere."""
        frequencies = self._frequencies
        order = sorted([(frequencies[trigram], trigram) for trigram in own])
        length = len(own) - self._least_overlap(len(own)) + _SHARED
        return [trigram for frequency, trigram in order[:length] if frequency > 1]

    def _least_overlap(self, size: int) -> int:
        return math.ceil(self._threshold * size - _ROUNDING)


def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of a text, its case, width and white space levelled; a shorter text is its own."""
    level = " ".join(fold(text).split())
    return frozenset([level[at : at + 3] for at in range(max(1, len(level) - 2))])


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return |A ∩ B| / |A ∪ B|."""
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _richness(chunk: Chunk, size: int) -> tuple[int, int, str, int]:
    """Order chunks by how much they say: distinct trigrams, then what they mention, then the newer."""
    metadata = chunk.metadata
    mentioned = len(metadata.file_paths) + len(metadata.tool_names) + len(metadata.error_messages)
    return size, mentioned, chunk.created_at, chunk.id
