"""Snippets: the part of a chunk that holds the evidence, in whole sentences.

A sentence is worth what the prompt's words in it say about it, and what it tells that the question did not:
names of code, paths, numbers, and the words by which decisions and causes are known. A reader who asks again
needs the answer, not the echo of the question.
"""

from __future__ import annotations

from math import sqrt

from kizami_core.retrieval.names import names
from kizami_core.retrieval.normalize import normalize
from kizami_core.retrieval.sentences import TOOL, USER, fitting, shorten, split_chunk
from kizami_core.transcript.graphemes import boundary_before
from kizami_core.transcript.tokens import WEIGHT_OF_A_TOKEN, estimate_tokens, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kizami_core.retrieval.sentences import Sentence

_GAP = "…"
_MAX_CHARACTERS = 20_000  # of a chunk are read; one that Kizami cut itself is shorter
_NEAR_CHARACTERS = 15
# A sentence that takes more of the budget than the first is shown in clauses of at most the second.
_LONGEST_SHARE, _CLAUSE_SHARE = 0.75, 0.25
# Set by the share of snippets that hold evidence, on the tune half of the development set for recall.
_SPECIFIC_WEIGHT, _DECISION_WEIGHT = 0.3, 0.2
# What a tool printed is rarely what was decided.
_TOOL_WEIGHT = 0.5
_NEIGHBOUR_SHARE = 0.2
_SAID_BEFORE = -1.0
_DECISIONS = (
    *("ことにし", "にしました", "にした", "採用", "決め", "決定", "方針", "ルール", "必ず", "原因", "理由"),
    *("decided", "chose", "instead", "because", "cause", "fixed", "always", "never", "must ", "rule"),
)


def snippet(content: str, rarities: Mapping[str, float], max_tokens: int) -> str:
    """Return at most ``max_tokens`` of a chunk: its question and the sentences that hold the evidence.

    Args:
        content: the chunk's text, with ``[User]``, ``[Assistant]`` and ``[Tool: …]`` markers.
        rarities: the query's terms (folded) with how telling each is.
        max_tokens: by ``estimate_tokens``.
    """
    room = max_tokens * WEIGHT_OF_A_TOKEN
    sentences = split_chunk(content[:_MAX_CHARACTERS])
    whole = _assemble(sentences, range(len(sentences)))
    if weigh(whole) <= room:
        return whole
    # Half a code block between two fences reads as a whole one, so lines of code are shown without them.
    sentences = [sentence for sentence in sentences if sentence.kind != "fence"]
    sentences = shorten(sentences, int(room * _LONGEST_SHARE), int(room * _CLAUSE_SHARE))
    weights = _weights(sentences, rarities)
    questions = [place for place, sentence in enumerate(sentences) if sentence.marker == USER]
    answers = [place for place, sentence in enumerate(sentences) if sentence.marker != USER]
    chosen: list[int] = []
    # The reader's own prompt resembles the question: it has what the whole answer leaves.
    question_room = room - weigh("\n" + _assemble(sentences, answers))
    if questions and answers and question_room > 0:
        best = max(questions, key=lambda place: (weights[place], -place))
        text_room = question_room - weigh(f"{USER} {_GAP}")
        text = cut(sentences[best].text, text_room // WEIGHT_OF_A_TOKEN)
        sentences[best] = sentences[best].replace(text=text)
        chosen = _take(sentences, weights, [best], questions, question_room)
    chosen = _take(sentences, weights, chosen, answers, room)
    chosen = _take(sentences, weights, chosen, questions, room)
    if not chosen:
        chosen = [max(range(len(sentences)), key=lambda place: (weights[place], -place))] if sentences else []
    return cut(_assemble(sentences, chosen), max_tokens)


def cut(text: str, max_tokens: int) -> str:
    """Return the text, or its beginning within ``max_tokens`` with an ellipsis, of whole words if it can."""
    if estimate_tokens(text) <= max_tokens:
        return text
    end = boundary_before(text, fitting(text, max_tokens * WEIGHT_OF_A_TOKEN - weigh(_GAP)))
    if text[end - 1 : end + 1].isascii() and text[end - 1 : end + 1].isalnum():
        space = text.rfind(" ", max(0, end - _NEAR_CHARACTERS), end)
        end = space if space > 0 else end
    beginning = text[:end].rstrip()
    return beginning + _GAP if beginning else ""


def _weights(sentences: Sequence[Sentence], rarities: Mapping[str, float]) -> list[float]:
    """Return how much each sentence says of what was asked, and beyond the question."""
    readable = [normalize(sentence.text) for sentence in sentences]
    folded = [text.lower() for text in readable]
    asked = [0.0] * len(sentences)
    everything = "\n".join(folded)
    for term, rarity in rarities.items():
        if term not in everything:
            continue
        holders = [place for place, text in enumerate(folded) if term in text]
        for place in holders:
            # A term that stands everywhere in the chunk leads nowhere in it.
            asked[place] += rarity / len(holders)
    specifics = [names(text) for text in readable]
    known: set[bytes] = set()
    for sentence, found in zip(sentences, specifics, strict=True):
        if sentence.marker == USER:
            known |= found
    weights = []
    said: set[str] = set()
    for sentence, text, mass, found in zip(sentences, folded, asked, specifics, strict=True):
        if text in said and sentence.kind != "clause":
            weights.append(_SAID_BEFORE)
            continue
        said.add(text)
        # Terms overlap (a long katakana word is many bigrams), so their sum counts by its root.
        weight = sqrt(mass) + _SPECIFIC_WEIGHT * len(found - known)
        if sentence.marker != USER and any(word in text for word in _DECISIONS):
            weight += _DECISION_WEIGHT
        weights.append(weight * _TOOL_WEIGHT if sentence.marker.startswith(TOOL) else weight)
    return _lifted(sentences, weights)


def _lifted(sentences: Sequence[Sentence], weights: Sequence[float]) -> list[float]:
    """Give each sentence at least a share of the weight of those beside it: they explain each other."""
    lifted = list(weights)
    for place in range(1, len(weights)):
        if sentences[place - 1].section == sentences[place].section:
            for own, other in ((place - 1, place), (place, place - 1)):
                if lifted[own] != _SAID_BEFORE:
                    lifted[own] = max(lifted[own], _NEIGHBOUR_SHARE * weights[other])
    return lifted


def _take(
    sentences: Sequence[Sentence],
    weights: Sequence[float],
    chosen: Sequence[int],
    places: Sequence[int],
    room: int,
) -> list[int]:
    """Add to what is chosen the weightiest sentences that fit into ``room`` (by ``weigh``), in order."""
    taken = list(chosen)
    used = weigh(_assemble(sentences, taken))
    for place in sorted(set(places) - set(chosen), key=lambda place: (-weights[place], place)):
        if weights[place] == _SAID_BEFORE or used + weigh(sentences[place].text) > room:
            continue
        more = sorted([*taken, place])
        weight = weigh(_assemble(sentences, more))
        if weight <= room:
            taken, used = more, weight
    return taken


def _assemble(sentences: Sequence[Sentence], places: Sequence[int]) -> str:
    """Join the sentences at some places; what is left out before one, in its section, is shown as a gap."""
    lines: list[str] = []
    previous, is_torn = -1, False
    followers = [*places[1:], len(sentences)] if places else []
    for place, after in zip(places, followers, strict=True):
        sentence = sentences[place]
        begins_section = place == 0 or sentences[place - 1].section != sentence.section
        gap = "" if begins_section or place == previous + 1 or is_torn else _GAP
        if previous < 0 or sentences[previous].section != sentence.section:
            lines.append(f"{sentence.marker} {gap}" if sentence.marker else gap)
        elif sentence.kind not in ("continued", "clause"):
            lines.append(gap)
        elif gap:
            lines[-1] = lines[-1].rstrip() + gap
        is_torn = place + 1 < min(after, len(sentences)) and sentences[place + 1].kind == "clause"
        lines[-1] += sentence.text.rstrip() + _GAP if is_torn else sentence.text
        previous = place
    return "\n".join(line.rstrip() for line in lines)
