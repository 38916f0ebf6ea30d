"""Calibration: what each gate would have done on a person's own history.

Nobody has said which memory was right for which prompt. What can be told without that:

- *own*: each past prompt is asked again as it was then, of the memories that were older than it and of
  another session. How many bring something back at a gate is a fact; whether it was wanted is not known.
- *foreign*: each is asked of the memories of an unrelated project, where nothing can be the answer. What
  fires there is false. Projects are unrelated when neither lies within the other, their folders' names share
  no word and neither's memories name a file of the other. The estimate is too high where unrelated projects
  share a subject after all, and too low because the hardest false fires, on the same subject in the same
  project, can't occur there. Prompts that only steer the conversation never fire and are left out, so they
  can't make the rate look better.
- *again*: each is asked once more, shortened to every second word. Its own turn should come back among the
  first. It shows what a higher gate costs and compares gates; the level itself says little, since the words
  stand in that turn as they are (who asks in other words finds less) and half of what was said is missing.

The terms' rarities are those of today's memories in all three.
"""

from __future__ import annotations

import random
import re
from math import sqrt

from kizami_core.candidates import Candidates
from kizami_core.question import is_worth_asking
from kizami_core.ranking import Ranking
from kizami_core.records import Hit, Record
from kizami_core.retrieval.filters import Filters
from kizami_core.retrieval.query import analyze_query, only_steers
from kizami_core.storage.marks import marked_ids
from kizami_core.storage.past_prompts import conversation_sizes, file_neighbours, opening_chunks
from kizami_core.timestamps import epoch_seconds, format_utc
from kizami_core.transcript.rendering import MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kizami_core.config import Config
    from kizami_core.recall_report import Verdict
    from kizami_core.records import Chunk

# The gates to choose from, and how far they lie apart.
_STEP = 0.01
GATES = tuple(hundredths / 100 for hundredths in range(5, 96))
# A rate of fewer prompts than these says little.
ENOUGH_PROMPTS = 30
# Fewer answers of a person than these, or of one kind alone, fit no gate.
ENOUGH_ANSWERS = 10
# A prompt with fewer words is not shortened: half of it says nothing.
_LEAST_WORDS = 4
_Z = 1.96  # of the normal distribution, for 95 % confidence
_NAME_WORD = re.compile(r"[^\W\d_]{3,}")


class PastPrompt(Record):
    """What a person asked: ``text`` is the prompt, or its beginning where it fills more than a chunk."""

    text: str
    chunk: Chunk


class Asked(Record):
    """A past prompt and the best of what it would have brought back at the time; None for nothing."""

    prompt: PastPrompt
    best: Hit | None


class Rate(Record):
    """How many of how many."""

    part: int
    whole: int

    @property
    def share(self) -> float:
        """The part of the whole, 0.0 of nothing."""
        return self.part / self.whole if self.whole else 0.0

    def interval(self) -> tuple[float, float]:
        """Return between which bounds the true share lies with 95 % confidence (Wilson 1927).

        (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
        """
        if not self.whole:
            return 0.0, 1.0
        n, p, square = self.whole, self.share, _Z * _Z
        middle = p + square / (2 * n)
        margin = _Z * sqrt(p * (1 - p) / n + square / (4 * n * n))
        scale = 1 + square / n
        return max(0.0, (middle - margin) / scale), min(1.0, (middle + margin) / scale)


class Calibration(Record):
    """What the prompts of a sample would bring back.

    Attributes:
        own: every prompt, as it was asked.
        steering: how many of these only steer the conversation.
        foreign: the highest relevance that each brought back in an unrelated project.
        again: for each shortened prompt, what came back in order: relevance, and whether it is its turn.
        limit: how many memories a prompt is shown.
    """

    own: tuple[Asked, ...]
    steering: int
    foreign: tuple[float, ...]
    again: tuple[tuple[tuple[float, bool], ...], ...]
    limit: int

    def fires(self, gate: float) -> Rate:
        """Return for how many prompts something would have been shown."""
        relevances = [asked.best.relevance if asked.best else 0.0 for asked in self.own]
        return Rate(sum(_passes(relevance, gate) for relevance in relevances), len(relevances))

    def fires_falsely(self, gate: float) -> Rate:
        """Return for how many prompts an unrelated project would have shown something."""
        return Rate(sum(_passes(relevance, gate) for relevance in self.foreign), len(self.foreign))

    def finds_again(self, gate: float) -> Rate:
        """Return for how many shortened prompts their own turn would have been shown."""
        shown = ([own for relevance, own in found if _passes(relevance, gate)] for found in self.again)
        return Rate(sum(any(turns[: self.limit]) for turns in shown), len(self.again))

    def lowest_gate(self, false_fires: float) -> float | None:
        """Return the lowest of ``GATES`` whose rate of false fires is ``false_fires`` or less, or None."""
        return next((gate for gate in GATES if self.fires_falsely(gate).share <= false_fires), None)

    def nearest(self, gate: float, count: int) -> list[Asked]:
        """Return the prompts whose best memory is nearest to a gate in relevance, the nearest first."""
        found = [(abs(asked.best.relevance - gate), asked) for asked in self.own if asked.best is not None]
        found.sort(key=lambda pair: pair[0])
        return [asked for _, asked in found[:count]]


def calibrate(
    connection: sqlite3.Connection,
    prompts: Sequence[PastPrompt],
    *,
    config: Config,
    now: float,
    seed: int = 1,
) -> Iterator[Calibration]:
    """Ask the prompts again; yield what is known after each of them, so that progress can be shown.

    Args:
        connection: an open database; it is only read.
        prompts: see ``past_prompts``.
        config: limit, scope, half-life and penalty; not the gate.
        now: epoch seconds.
        seed: of the choice of unrelated projects; the same seed makes the same choice.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample that can be drawn again
    sizes = conversation_sizes(connection)
    related = file_neighbours(connection, list(sizes))
    muted = marked_ids(connection, "muted")
    bench = _Bench(connection, config, dict.fromkeys(muted, "muted"))
    known = Calibration((), 0, (), (), config.recall_limit)
    for prompt in prompts:
        query = analyze_query(prompt.text)
        words = [] if only_steers(query) else [word.surface for word in query.words]
        asked = Asked(prompt, bench.best_then(prompt) if words else None)
        known = known.replace(own=(*known.own, asked), steering=known.steering + (not words))
        home = prompt.chunk.project_path
        elsewhere = [path for path in sizes if path != home and are_unrelated(home, path, related)]
        if words and elsewhere:
            # A larger memory is asked more often, as in life.
            (place,) = chance.choices(elsewhere, [sizes[path] for path in elsewhere])
            known = known.replace(foreign=(*known.foreign, bench.highest_in(place, prompt.text, now)))
        if len(words) >= _LEAST_WORDS:
            found = bench.found_again(prompt, " ".join(words[::2]), now)
            known = known.replace(again=(*known.again, found))
        yield known


def past_prompts(
    connection: sqlite3.Connection, limit: int, project_path: str | None = None
) -> list[PastPrompt]:
    """Return the newest prompts that recall was or would have been asked for, of all projects in turn.

    Args:
        connection: an open database.
        limit: the most prompts.
        project_path: take those of this project alone; None for all.
    """
    paths = list(conversation_sizes(connection)) if project_path is None else [project_path]
    queues = []
    for path in paths:
        asked = (
            PastPrompt(prompt_of(chunk.content), chunk) for chunk in opening_chunks(connection, path, limit)
        )
        queues.append([prompt for prompt in asked if is_worth_asking(prompt.text)])
    turns = [(place, queue[place]) for queue in queues for place in range(len(queue))]
    turns.sort(key=lambda turn: turn[0])
    return [prompt for _, prompt in turns[:limit]]


def prompt_of(content: str) -> str:
    """Return the prompt that a content begins with: what stands under its first mark."""
    kept: list[str] = []
    for line in content.split("\n")[1:]:
        if line.startswith(MARKS):
            break
        kept.append(line)
    return "\n".join(kept).strip()


def are_unrelated(path: str, other: str, related: Collection[tuple[str, str]]) -> bool:
    """Tell whether two projects have nothing to do with each other, as far as names and files tell.

    ``related`` holds pairs of projects of which the first names files of the second.
    """
    if (path, other) in related or (other, path) in related:
        return False
    places = [place.replace("\\", "/").rstrip("/") for place in (path, other)]
    if any(inner.startswith(f"{outer}/") for inner, outer in (places, places[::-1])):
        return False
    names = [set(_NAME_WORD.findall(place.rpartition("/")[2].lower())) for place in places]
    return not names[0] & names[1]


def fitted_gate(answers: Sequence[tuple[float, bool]]) -> float | None:
    """Return the gate that agrees with most answers; of several the one in the middle.

    It lies within the relevances that were judged, or just above: of others the answers tell nothing.

    Args:
        answers: the relevance of a memory, and whether the person wanted it. With fewer than
            ``ENOUGH_ANSWERS``, or of one kind alone, there is no gate: None.
    """
    if len(answers) < ENOUGH_ANSWERS or len({wanted for _, wanted in answers}) == 1:
        return None
    judged = [relevance for relevance, _ in answers]
    agreeing = {
        gate: sum(_passes(relevance, gate) == wanted for relevance, wanted in answers)
        for gate in GATES
        if min(judged) - _STEP <= gate <= max(judged) + _STEP
    }
    most = max(agreeing.values(), default=0)
    best = [gate for gate, number in agreeing.items() if number == most]
    return best[len(best) // 2] if best else None


class _Bench:
    """Asks the engine as recall does, without a gate."""

    def __init__(self, connection: sqlite3.Connection, config: Config, hidden: Mapping[int, Verdict]) -> None:
        self._connection = connection
        self._config = config
        self._hidden = hidden
        self._pinned = frozenset(marked_ids(connection, "pinned"))

    def best_then(self, prompt: PastPrompt) -> Hit | None:
        """Return the most relevant memory of what the prompt could bring back when it was asked."""
        chunk = prompt.chunk
        at = epoch_seconds(chunk.created_at)
        if at is None:
            return None
        hits = self._weigh(
            prompt.text,
            chunk.project_path,
            at,
            session_id=chunk.session_id,
            filters=Filters(until=format_utc(at)),
        )
        best = max(hits, key=lambda hit: hit.relevance, default=None)
        return best if best is not None and best.relevance > 0 else None

    def highest_in(self, project_path: str, text: str, now: float) -> float:
        """Return the highest relevance that a text has in one project alone."""
        hits = self._weigh(text, project_path, now, is_alone=True)
        return max((hit.relevance for hit in hits), default=0.0)

    def found_again(self, prompt: PastPrompt, text: str, now: float) -> tuple[tuple[float, bool], ...]:
        """Return what a text brings back in the prompt's project, best first, and whether it is its turn."""
        opening = prompt.chunk
        return tuple(
            (hit.relevance, _is_of_turn(hit.chunk, opening))
            for hit in self._weigh(text, opening.project_path, now)
        )

    def _weigh(
        self,
        text: str,
        project_path: str,
        now: float,
        *,
        session_id: str | None = None,
        filters: Filters | None = None,
        is_alone: bool = False,
    ) -> list[Hit]:
        candidates = Candidates(
            self._connection,
            analyze_query(text),
            project_path=project_path,
            session_id=session_id,
            config=self._config.replace(project_scope=True) if is_alone else self._config,
            now=now,
            hidden=self._hidden,
            pinned=self._pinned,
            filters=filters,
        )
        return Ranking(candidates).weighed()


def _is_of_turn(chunk: Chunk, opening: Chunk) -> bool:
    return chunk.id == opening.id or (chunk.turn_id is not None and chunk.turn_id == opening.turn_id)


def _passes(relevance: float, gate: float) -> bool:
    return relevance >= gate and relevance > 0
