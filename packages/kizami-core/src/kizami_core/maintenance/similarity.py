"""Finding near-duplicates without comparing every pair.

The measure is the Jaccard similarity of trigrams. Candidates of a text come from two indexes of the texts
that are kept so far:

* *Shingles* (Broder 1997): of all runs of 12 characters those with the 48 smallest hashes. Two texts that are
  nearly the same share several of them. A run that many kept texts share says nothing and is left out, so a
  text has a bounded number of candidates and the work grows with the number of texts, not of pairs.
* Short texts hardly share runs of 12 characters, whatever they say. For them prefix filtering (Chaudhuri,
  Ganti, Kaushik 2006) misses no pair: with the trigrams of each text ordered from rare to common, two texts
  of similarity t or more share at least k (or, if that is less, all of ``ceil(t * n)``) among their first
  ``n - ceil(t * n) + k``.

A candidate is then measured by bitmaps of its trigrams, and only where these come near the threshold by the
trigrams themselves. ``benchmarks/merge_report.py`` says how many pairs are found and how many are compared.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections import Counter
from functools import lru_cache

from kizami_core.records import Record
from kizami_core.retrieval.likeness import jaccard, level, runs, trigrams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kizami_core.records import Chunk

_SHINGLE = 12  # characters
_SHINGLES = 48
_COMMON = 32  # kept texts that share a shingle
_LEAST_SHARED = 2
_SHORT = 128  # trigrams
_SHARED = 12  # k
_BITS = 4_096
_MARGIN = 0.1  # by which the similarity of bitmaps may be below that of trigrams
_ROUNDING = 1e-9  # 0.7 * 10 is a little more than 7 to a computer


class MergedPair(Record):
    """A chunk that goes, the one that says it better, and their similarity in [0, 1]."""

    kept: Chunk
    removed: Chunk
    similarity: float


class Search:
    """One search for near-duplicates. ``compared`` counts the pairs whose trigrams were compared."""

    def __init__(self, threshold: float) -> None:
        self.compared = 0
        self._threshold = threshold

    def pairs(self, chunks: Iterable[Chunk]) -> list[MergedPair]:
        """Return the chunks that a richer one makes superfluous, each with the most similar one kept."""
        texts = [Text(chunk) for chunk in chunks]
        texts.sort(key=lambda text: text.richness, reverse=True)
        kept = Index(frequencies_of(texts, self._threshold), self._threshold)
        found: list[MergedPair] = []
        for text in texts:
            richer, similarity = self._most_similar(text, kept)
            if richer is None:
                kept.add(text)
            else:
                found.append(MergedPair(richer.chunk, text.chunk, similarity))
        return found

    def _most_similar(self, text: Text, kept: Index) -> tuple[Text | None, float]:
        """Return the kept text most like this one, the richest of equals, if any reaches the threshold."""
        found: Text | None = None
        best = 0.0
        near = [
            candidate
            for candidate in kept.candidates(text)
            if bitmap_similarity(text.bitmap, candidate.bitmap) >= self._threshold - _MARGIN
        ]
        own = trigrams(text.chunk.content) if near else frozenset()
        for candidate in near:
            self.compared += 1
            similarity = jaccard(own, trigrams(candidate.chunk.content))
            if similarity >= self._threshold and similarity > best:
                found, best = candidate, similarity
        return found, best


class Text:
    """A chunk with what is worked out of its text once."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        levelled = level(chunk.content)
        own = runs(levelled, 3)
        self.size = len(own)
        self.bitmap = _bitmap(own)
        self.shingles = heapq.nsmallest(_SHINGLES, _shingles(levelled))
        metadata = chunk.metadata
        mentioned = len(metadata.file_paths) + len(metadata.tool_names) + len(metadata.error_messages)
        # How much a chunk says: distinct trigrams, then what it mentions, then the newer one.
        self.richness = (self.size, mentioned, chunk.created_at, chunk.id)


class Index:
    """The texts that are kept so far, found by what they share with a poorer one."""

    def __init__(self, frequencies: Mapping[str, int], threshold: float) -> None:
        self._frequencies = frequencies
        self._threshold = threshold
        self._texts: list[Text] = []
        self._by_shingle: dict[int, list[int]] = {}
        self._by_trigram: dict[str, list[int]] = {}

    def add(self, text: Text) -> None:
        """Keep a text: from now on it is a candidate for those that come after it."""
        number = len(self._texts)
        self._texts.append(text)
        for shingle in text.shingles:
            postings = self._by_shingle.setdefault(shingle, [])
            if len(postings) <= _COMMON:
                postings.append(number)
        if _is_short_enough(text.size, self._threshold):
            for trigram in self._prefix(trigrams(text.chunk.content)):
                self._by_trigram.setdefault(trigram, []).append(number)

    def candidates(self, text: Text) -> Iterator[Text]:
        """Yield the kept texts that may be like this one, the richest first."""
        shared: Counter[int] = Counter()
        if text.size <= _SHORT:
            for trigram in self._prefix(trigrams(text.chunk.content)):
                shared.update(self._by_trigram.get(trigram, ()))
            least = min(_SHARED, _least_overlap(self._threshold, text.size))
        else:
            for shingle in text.shingles:
                postings = self._by_shingle.get(shingle, ())
                if len(postings) <= _COMMON:
                    shared.update(postings)
            least = _LEAST_SHARED
        for number in sorted(shared):
            # Those kept are at least as long: too long, and even all of this text is too small a share.
            is_near = text.size >= self._threshold * self._texts[number].size - _ROUNDING
            if shared[number] >= least and is_near:
                yield self._texts[number]

    def _prefix(self, own: frozenset[str]) -> list[str]:
        """Return the rarest trigrams of a text, without those that no other text has: they lead nowhere."""
        frequencies = self._frequencies
        order = sorted([(frequencies[trigram], trigram) for trigram in own])
        length = len(own) - _least_overlap(self._threshold, len(own)) + _SHARED
        return [trigram for frequency, trigram in order[:length] if frequency > 1]


def _shingles(levelled: str) -> set[int]:
    """Return the hashes of the runs of a text, taken from its two-byte units: slicing those is fast."""
    units = levelled.encode("utf-16-le", "replace")
    size = 2 * _SHINGLE
    return {zlib.crc32(units[at : at + size]) for at in range(0, max(1, len(units) - size + 1), 2)}


def _bitmap(own: frozenset[str]) -> int:
    bits = bytearray(_BITS // 8)
    for run in own:
        place = _place(run)
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


@lru_cache(maxsize=2**17)  # most trigrams come again
def _place(run: str) -> int:
    return zlib.crc32(run.encode("utf-8", "replace")) % _BITS


def bitmap_similarity(one: int, other: int) -> float:
    """Return the similarity of two bitmaps of trigrams: that of the trigrams, but for those that collide."""
    return (one & other).bit_count() / (one | other).bit_count()


def _is_short_enough(size: int, threshold: float) -> bool:
    """Tell whether a text may resemble a short one."""
    return size * threshold <= _SHORT


def frequencies_of(texts: Sequence[Text], threshold: float) -> Counter[str]:
    """Return in how many of the texts that may resemble a short one each trigram stands."""
    frequencies: Counter[str] = Counter()
    for text in texts:
        if _is_short_enough(text.size, threshold):
            frequencies.update(trigrams(text.chunk.content))
    return frequencies


def _least_overlap(threshold: float, size: int) -> int:
    return math.ceil(threshold * size - _ROUNDING)
