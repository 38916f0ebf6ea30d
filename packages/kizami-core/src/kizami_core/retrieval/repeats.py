"""Repeats: memories that say the same, and older ones that a newer one of their project replaces.

Both are told from the texts alone, for the few memories about to be shown. Two that are worded alike say the
same unless each names something that the other does not: entries of a runbook about two services are two
memories. A conversation about something that was decided before either asks the same again, or names what is
to change ("replace the mail queue", "メールの送信方式を変えたい"): then the subject it names stands in the
older memory too.
"""

from __future__ import annotations

from kizami_core.retrieval.likeness import jaccard, trigrams
from kizami_core.retrieval.names import identifying_words, latin_words
from kizami_core.retrieval.normalize import fold, normalize
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.sentences import ASSISTANT, TOOL, USER, split_chunk, split_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kizami_core.records import Chunk, Hit
    from kizami_core.retrieval.query import QueryWord

# Texts this much alike are worded alike. Different exchanges that follow one pattern reach 0.43 in the
# development set for recall.
_SAME_TEXT = 0.6
_RESULT = " → "  # between what a tool was told and what it answered
# Two questions are one question when this share of the words of each stands in the other.
_SAME_QUESTION = 0.75
# A change is about an older memory when so many words of its question, and so great a share, stand there.
_SHARED_WORDS, _SHARED_OF_CHANGE = 2, 0.3
_CHANGES = (
    *("変えよう", "変えたい", "変えて", "変更したい", "変更しよう", "変更して", "差し替え", "置き換え"),
    *("切り替え", "乗り換え", "移行", "考え直", "見直", "やめよう", "やめたい", "やめて", "廃止"),
    *("replac", "switch", "migrat", "move from", "move to", "move away", "drop", "no longer", "get rid of"),
    *("instead of", "reconsider", "rethink", "revisit"),
)


def without_repeats(hits: Sequence[Hit], limit: int) -> tuple[list[Hit], list[Hit]]:
    """Return the first ``limit`` hits that don't say the same, and those that were left out as repeats.

    Of two that do, the newer is kept, at the place of the better one; of different projects the better one.
    Hits behind the last one kept are not looked at.

    Args:
        hits: best first.
        limit: the most hits.
    """
    kept: list[Hit] = []
    texts: list[_Text] = []
    repeats: list[Hit] = []
    for hit in hits:
        if len(kept) == limit:
            break
        text = _Text(hit.chunk)
        same = next((place for place, other in enumerate(texts) if text.says_the_same_as(other)), None)
        if same is None:
            kept.append(hit)
            texts.append(text)
        elif _is_newer_of_project(hit.chunk, kept[same].chunk):
            repeats.append(kept[same])
            kept[same], texts[same] = hit, text
        else:
            repeats.append(hit)
    return kept, repeats


def without_copies(hits: Sequence[Hit], hidden: Sequence[Chunk]) -> list[Hit]:
    """Return the hits but those that say the same as a hidden chunk and are not newer."""
    texts = [_Text(chunk) for chunk in hidden]
    kept = []
    for hit in hits:
        older = [text for text in texts if not _is_newer_of_project(hit.chunk, text.chunk)]
        own = _Text(hit.chunk) if older else None
        if own is None or not any(own.says_the_same_as(text) for text in older):
            kept.append(hit)
    return kept


def replaced_last(hits: Sequence[Hit]) -> list[tuple[Hit, Chunk | None]]:
    """Return the hits, each with the newest one's chunk that replaces it; those replaced come last."""
    subjects = [_Subject(hit.chunk) for hit in hits] if len(hits) > 1 else []
    shown: list[tuple[Hit, Chunk | None]] = []
    for place, hit in enumerate(hits):
        newer = [
            other.chunk
            for other in subjects
            if _is_newer_of_project(other.chunk, hit.chunk) and other.replaces(subjects[place])
        ]
        shown.append((hit, max(newer, key=_age_order, default=None)))
    return sorted(shown, key=lambda pair: pair[1] is not None)


def _is_newer_of_project(chunk: Chunk, other: Chunk) -> bool:
    return chunk.project_path == other.project_path and _age_order(chunk) > _age_order(other)


def _age_order(chunk: Chunk) -> tuple[str, int]:
    return chunk.created_at, chunk.id


class _Text:
    """A chunk with its trigrams."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._trigrams = trigrams(chunk.content)

    def says_the_same_as(self, other: _Text) -> bool:
        """Tell whether both are worded alike and not each about something else."""
        if jaccard(self._trigrams, other._trigrams) < _SAME_TEXT:
            return False
        one, another = _said(self.chunk.content), _said(other.chunk.content)
        return not (_names_more(one, another) and _names_more(another, one))


def _said(content: str) -> str:
    """Return a content, normalized, without what tools answered: that differs from one time to the next."""
    kept: list[str] = []
    is_answer = False
    for line in normalize(content).split("\n"):
        if line.startswith(TOOL):
            kept.append(line.partition(_RESULT)[0])
            is_answer = True
        elif line.startswith((USER, ASSISTANT)):
            is_answer = False
        if not is_answer:
            kept.append(line)
    return "\n".join(kept)


def _names_more(text: str, other: str) -> bool:
    """Tell whether a text holds a name, a number or a word of its question that the other does not."""
    if identifying_words(text) - latin_words(other):
        return True
    folded = other.lower()
    return any(not _stands_in(word, folded) for word in _names("\n".join(_questions(text))))


def _questions(content: str) -> list[str]:
    """Return the sentences of what a person said in a content, folded."""
    asked = [part.text for part in split_chunk(content) if part.marker == USER]
    return [fold(sentence) for text in asked for sentence in split_line(text)]


class _Subject:
    """What a chunk is about: the names in its question, and the sentences that may change something."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._sentences = _questions(chunk.content)
        self._question = "\n".join(self._sentences)
        self._words = _names(self._question)
        self._text = fold(chunk.content)

    def replaces(self, older: _Subject) -> bool:
        """Tell whether this chunk, the newer one, decides anew what the older one decided."""
        return self._asks_again(older) or self._changes(older)

    def _asks_again(self, older: _Subject) -> bool:
        return _is_mostly_in(self._words, older._question) and _is_mostly_in(older._words, self._question)

    def _changes(self, older: _Subject) -> bool:
        shared = [word for word in self._words if _stands_in(word, older._text)]
        if len(shared) < max(_SHARED_WORDS, _SHARED_OF_CHANGE * len(self._words)):
            return False
        return any(
            any(change in sentence for change in _CHANGES)
            and any(_stands_in(word, sentence) for word in shared)
            for sentence in self._sentences
        )


def _names(question: str) -> list[QueryWord]:
    """Return the words that name things: Latin ones, others without inflection; no words of change."""
    return [
        word
        for word in analyze_query(question).words
        if not any(change in word.surface or word.surface in change for change in _CHANGES)
        and (
            len(word.surface) > 2  # noqa: PLR2004 - "no", "ci"
            if word.surface.isascii()
            else len(word.surface) > 1 and not any("ぁ" <= character <= "ん" for character in word.surface)
        )
    ]


def _is_mostly_in(words: Sequence[QueryWord], text: str) -> bool:
    missing = [word.surface for word in words if not _stands_in(word, text)]
    # Two functions, two versions: another name makes another question.
    if any("_" in surface or any(map(str.isdigit, surface)) for surface in missing):
        return False
    return len(words) - len(missing) >= max(_SHARED_WORDS, _SAME_QUESTION * len(words))


def _stands_in(word: QueryWord, text: str) -> bool:
    """Tell whether at least half of a word's terms stand in a folded text."""
    return 2 * sum(term in text for term in word.terms) >= len(word.terms)
