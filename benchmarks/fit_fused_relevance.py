"""Choose the constant of kizami_hybrid/relevance.py, and show what the gates do with it.

    python benchmarks/fit_fused_relevance.py ../shared/data --cache vectors.db [--report]

To be run again whenever core's relevance changes, which it moves; with the vectors in the cache (e5_vectors.py) it
takes some minutes. Each weight is judged on the ``tune`` half of the development set for recall (how many more prompts
bring back the right memory at as many false fires as by words) and on every second question of gate-ja (how many
fewer false fires at as many right answers), averaged over gates; of those that differ by no more than one prompt
the smallest is taken. Printed: the constant and a table; with --report the other halves too.
"""

import argparse
import tempfile
from datetime import UTC, datetime
from math import log
from pathlib import Path

import numpy as np
from e5_vectors import Embeddings, Index
from fit_relevance import build, prompts, squeezed
from hybrid_quality import NOW, PROJECT, RECALL_CHARACTERS, rows, save_documents

from kizami_core.config import Config
from kizami_core.recall import recall
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.storage.connection import open_database
from kizami_hybrid.relevance import leads

SHOWN = 3
GATES = (0.05, 0.08, 0.1, RECOMMENDED_GATE, 0.16, 0.2, 0.3)
LEADS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
FALSE = "no answer: "
NONE = -1e9  # log odds of nothing
NOISE = 1.5  # points: one of 60 prompts


class Asked:
    """One prompt and its candidates: log odds by words, what the vectors say, whether they are right."""

    def __init__(self, half, kind, source, is_right):
        self.half, self.kind = half, kind
        candidates, cosines = source.seen[0] if source.seen else ([], {})
        ahead = leads(cosines)
        # Without a word in common vectors bring nothing back.
        kept = [item for item in candidates if 0 < item.relevance < 1]
        self.words = np.array([log(item.relevance / (1 - item.relevance)) for item in kept])
        self.right = np.array([is_right(item.chunk_id) for item in kept], bool)
        self.leads = np.array([ahead.get(item.chunk_id, 0.0) for item in kept])

    def best(self, weight):
        """Return the log odds of the best candidate, and of the best right one among those shown."""
        odds = self.words + weight * self.leads
        shown = np.argsort(-odds, kind="stable")[:SHOWN]
        return max(odds[shown], default=NONE), max(odds[shown][self.right[shown]], default=NONE)


def ask(connection, index, project, text, now):
    source = index.source(text)
    config = Config(database_path="", min_relevance_score=0.001)
    recall(connection, text, session_id="now", project_path=project, config=config, now=now, vectors=source)
    return source


def of_recall(folder, home, embeddings):
    connection, phrases, work = build(folder.resolve(), home)
    index = Index(connection, embeddings, RECALL_CHARACTERS)
    contents = {
        number: squeezed(text) for number, text in connection.execute("SELECT id, content FROM chunks")
    }
    now = datetime.now(UTC).timestamp()
    asked = []
    for half, kind, project, text, relevant in prompts(folder):
        wanted = [phrase for memory in relevant for phrase in phrases[memory]]
        source = ask(connection, index, f"{work}/{project}", text, now)
        asked.append(
            Asked(
                half, kind, source, lambda number, wanted=wanted: any(p in contents[number] for p in wanted)
            )
        )
    connection.close()
    return asked


def of_questions(folder, home, embeddings):
    connection = open_database(str(home / "questions.db"))
    ids = save_documents(connection, rows(folder, "documents"))
    index = Index(connection, embeddings)
    asked = []
    for at, query in enumerate(rows(folder, "queries")):
        kind = query["kind"] if query["kind"] == "positive" else FALSE + query["kind"]
        relevant = set(query.get("relevant", ()))
        source = ask(connection, index, PROJECT, query["text"], NOW)
        half = "tune" if at % 2 else "report"
        asked.append(Asked(half, kind, source, lambda number, relevant=relevant: ids[number] in relevant))
    connection.close()
    return asked


class Judged:
    """The prompts of a set under one weight, in sorted log odds."""

    def __init__(self, asked, weight):
        self.best = [(one.kind, *one.best(weight)) for one in asked]
        self.fires = -np.sort([-best for kind, best, _ in self.best if kind.startswith(FALSE)])
        self.hits = -np.sort([-right for kind, _, right in self.best if not kind.startswith(FALSE)])

    def right(self, gate, kinds=None):
        chosen = [right >= gate for kind, _, right in self.best if self._is_wanted(kind, kinds)]
        return 100 * sum(chosen) / max(1, len(chosen))

    def _is_wanted(self, kind, kinds):
        return not kind.startswith(FALSE) if kinds is None else kind in kinds

    def at_as_many_fires(self, fires):
        """Return the lowest gate with no more false fires than this."""
        return self.fires[fires] + 1e-9 if fires < len(self.fires) else NONE

    def fires_at(self, gate):
        return int(np.sum(self.fires >= gate))


def gain(asked, questions, words, words_questions, weight):
    """Return the points won by a weight: right answers on one set, false fires on the other."""
    fused, fused_questions = Judged(asked, weight), Judged(questions, weight)
    won = 0.0
    for gate in map(odds_of, GATES):
        same = fused.at_as_many_fires(words.fires_at(gate))
        won += fused.right(same) - words.right(gate)
        count = int(np.sum(words_questions.hits >= gate))
        same = fused_questions.hits[count - 1] if count else -NONE
        fires = words_questions.fires_at(gate) - fused_questions.fires_at(same)
        won += 100 * fires / len(fused_questions.fires)
    return won / len(GATES)


def odds_of(probability):
    return log(probability / (1 - probability))


def table(title, asked, weight):
    kinds = list(dict.fromkeys(one.kind for one in asked))
    plain = {kind for kind in kinds if not kind.startswith((FALSE, "polite", "long"))}
    print(
        f"\n{title}\n{'':>14} {'plain':>7} " + " ".join(f"{kind.removeprefix(FALSE):>11}" for kind in kinds)
    )
    for gate in GATES:
        for label, judged in (("core", Judged(asked, 0.0)), ("fused", Judged(asked, weight))):
            at = odds_of(gate)
            figures = [
                100
                * np.mean(
                    [
                        (best if kind.startswith(FALSE) else right) >= at
                        for k, best, right in judged.best
                        if k == kind
                    ]
                )
                for kind in kinds
            ]
            print(
                f"{label:>6} ≥ {gate:.3f} {judged.right(at, plain):7.1f} "
                + " ".join(f"{x:11.1f}" for x in figures)
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", required=True, help="file that keeps the vectors")
    parser.add_argument("--report", action="store_true", help="also judge on the other half")
    options = parser.parse_args()
    embeddings = Embeddings(options.cache)
    with tempfile.TemporaryDirectory() as home:
        asked = of_recall(options.data / "recall", Path(home), embeddings)
        questions = of_questions(options.data / "retrieval" / "gate-ja", Path(home), embeddings)
    embeddings.close()
    halves = {
        half: [[one for one in group if one.half == half] for group in (asked, questions)]
        for half in ("tune", "report")
    }
    tune = halves["tune"]
    words = [Judged(group, 0.0) for group in tune]
    gains = {weight: gain(*tune, *words, weight) for weight in LEADS}
    for weight, won in gains.items():
        print(f"lead {weight:.2f}: {won:+.2f} points")
    best = min(weight for weight, won in gains.items() if won >= max(gains.values()) - NOISE)
    print("LEAD =", best)
    for half in ("tune", "report") if options.report else ("tune",):
        for name, group in zip(("recall", "gate-ja"), halves[half], strict=True):
            table(f"{name}, {half}", group, best)


if __name__ == "__main__":
    main()
