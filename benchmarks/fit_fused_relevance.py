"""Choose the constants of kizami_hybrid/relevance.py, and show what the gates do with them.

    python benchmarks/fit_fused_relevance.py ../shared/data --cache vectors.db [--report]

To be run again whenever core's relevance changes, which they move; with the vectors in the cache (e5_vectors.py) it
takes some minutes. Both modes have one gate, so a pair is fit if on the ``tune`` half of the development set for
recall no kind of prompt without an answer fires more often at it than by words, and if every second question of
gate-ja fires no more often where as many right answers are found (averaged over gates). Of the fit pairs that bring
back the most, within one prompt, the one with the strongest lead is taken, whose answers are farthest from the gate.
Printed: the constants and tables; with --report the other halves too.
"""

import argparse
import tempfile
from datetime import UTC, datetime
from itertools import product
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
PASTS = (-9.0, -4.0, -3.5, -3.0, -2.5)
FALSE = "no answer: "
NONE = -1e9  # log odds of nothing
WORDS = (0.0, NONE)
NOISE = 1.2  # points: one of 87 prompts, of all forms


class Asked:
    """One prompt and its candidates: log odds by words, what the vectors say, whether they are right."""

    def __init__(self, half, kind, source, is_right):
        self.half, self.kind, self.is_expected = half, kind, source.is_expected
        candidates, cosines = source.seen[0] if source.seen else ([], {})
        ahead = leads(cosines)
        self.words = np.array([odds_of(item.relevance) for item in candidates])
        self.right = np.array([is_right(item.chunk_id) for item in candidates], bool)
        self.leads = np.array([ahead.get(item.chunk_id, 0.0) for item in candidates])

    def best(self, lead, past):
        """Return the log odds of the best candidate, and of the best right one among those shown."""
        least = np.where((self.leads > 0) & self.is_expected, past, NONE)
        odds = np.maximum(self.words, least) + lead * self.leads
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
    """The prompts of a set under one pair of constants, in log odds."""

    def __init__(self, asked, constants):
        self.best = [(one.kind, *one.best(*constants)) for one in asked]
        self.hits = -np.sort([-right for kind, _, right in self.best if not kind.startswith(FALSE)])

    def right(self, gate, kinds=None):
        chosen = [right >= gate for kind, _, right in self.best if self._is_wanted(kind, kinds)]
        return 100 * sum(chosen) / max(1, len(chosen))

    def _is_wanted(self, kind, kinds):
        return not kind.startswith(FALSE) if kinds is None else kind in kinds

    def fires(self, kind):
        """Return the log odds of what a kind of prompt without an answer fires with, in order."""
        return -np.sort([-best for of, best, _ in self.best if of == kind])

    def kinds_without_answer(self):
        return {kind for kind, *_ in self.best if kind.startswith(FALSE)}

    def fires_at_most(self, other, gate):
        """Tell whether no kind fires more often at a gate than in another judgement."""
        return all(
            np.sum(self.fires(kind) >= gate) <= np.sum(other.fires(kind) >= gate)
            for kind in self.kinds_without_answer()
        )

    def share_of_fires(self, gate):
        return 100 * np.mean([best >= gate for kind, best, _ in self.best if kind.startswith(FALSE)])


def right_if_fit(asked, questions, words, words_questions, constants):
    """Return the share of right answers at the gate under a pair that is fit, else 0."""
    fused, fused_questions = Judged(asked, constants), Judged(questions, constants)
    gate = odds_of(RECOMMENDED_GATE)
    won = 0.0
    for each in map(odds_of, GATES):
        count = int(np.sum(words_questions.hits >= each))
        same = fused_questions.hits[count - 1] if count else -NONE
        won += words_questions.share_of_fires(each) - fused_questions.share_of_fires(same)
    is_fit = fused.fires_at_most(words, gate) and won >= 0
    return fused.right(gate) if is_fit else 0.0


def odds_of(probability):
    if probability <= 0:
        return NONE
    return log(probability / (1 - probability)) if probability < 1 else -NONE


def table(title, asked, constants):
    kinds = list(dict.fromkeys(one.kind for one in asked))
    plain = {kind for kind in kinds if not kind.startswith((FALSE, "polite", "long"))}
    print(
        f"\n{title}\n{'':>14} {'plain':>7} " + " ".join(f"{kind.removeprefix(FALSE):>11}" for kind in kinds)
    )
    for gate in GATES:
        for label, judged in (("core", Judged(asked, WORDS)), ("fused", Judged(asked, constants))):
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
    words = [Judged(group, WORDS) for group in tune]
    right = {pair: right_if_fit(*tune, *words, pair) for pair in product(LEADS, PASTS)}
    print("past:".rjust(10) + "".join(f"{past:8.1f}" for past in PASTS))
    for lead in LEADS:
        print(f"lead {lead:.2f}:" + "".join(f"{right[lead, past]:8.1f}" for past in PASTS))
    best = max(
        (pair for pair, share in right.items() if share >= max(right.values()) - NOISE),
        key=lambda pair: (pair[0], -pair[1]),
    )
    print("LEAD, PAST =", best)
    for half in ("tune", "report") if options.report else ("tune",):
        for name, group in zip(("recall", "gate-ja"), halves[half], strict=True):
            table(f"{name}, {half}", group, best)


if __name__ == "__main__":
    main()
