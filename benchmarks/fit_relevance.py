"""Fit the constants of kizami_core/retrieval/relevance.py and choose the gate that `kizami setup` writes.

    python benchmarks/fit_relevance.py ../shared/data/recall [--report]

The development set's sessions are saved through the real pipeline into a temporary database. The ``tune`` half of
its prompts then gives one example for each of the first ten candidates: the evidence, and whether the candidate
holds a relevant memory. Printed: the weights, and for each gate what would be shown, by cross-validation on
``tune``; with --report also on the half that nothing is fitted on. Standard library only; about a minute.
"""

import argparse
import importlib
import json
import math
import os
import random
import sys
import tempfile
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

from kizami_core.config import parse_config
from kizami_core.recording import save_transcript
from kizami_core.retrieval.lexical import LexicalRetriever
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.relevance import features
from kizami_core.retrieval.reranker import rerank
from kizami_core.storage.connection import open_database

NAMES = ("mass", "window mass", "rarest", "density", "words asked")
CANDIDATES, SHOWN, FOLDS, RIDGE = 10, 3, 6, 1.0
GATES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
MAY_BE_NEGATIVE = {"words asked"}


def squeezed(text):
    return "".join(unicodedata.normalize("NFKC", text).lower().split())


def build(folder, home):
    """Save every session; return the connection and the evidence phrases of each memory."""
    sys.path.insert(0, str(folder))
    noise = importlib.import_module("noise")
    memories = noise.load("memories.jsonl")
    work = home / "work"
    for project in noise.PROJECTS:
        (work / project).mkdir(parents=True)
    sessions = noise.write(noise.plan(memories), home / "projects", work, datetime.now(UTC))
    connection = open_database(str(home / "memory.db"))
    config, _ = parse_config({}, os.environ)
    for _, _, cwd, path in sessions:
        save_transcript(connection, path, config=config, now=datetime.now(UTC).timestamp(), cwd=cwd)
    phrases = {memory["id"]: [squeezed(phrase) for phrase in memory["evidence"]] for memory in memories}
    return connection, phrases, str(work)


def prompts(folder):
    """Yield (half, kind, project, text, relevant memories) for every form of every prompt."""
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        for form in ("text", "polite", "long"):
            if form in query:
                kind = query["difficulty"] if form == "text" else form
                yield query["split"], kind, query["project"], query[form], query["relevant"]
    for line in (folder / "negatives.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        yield query["split"], "no answer: " + query["kind"], query["project"], query["text"], []


def examples(connection, phrases, work, folder):
    """Return for each prompt its half, its kind and its candidates as (features, is relevant)."""
    found = []
    for half, kind, project, text, relevant in prompts(folder):
        wanted = [phrase for memory in relevant for phrase in phrases[memory]]
        query = analyze_query(text)
        candidates = []
        if query.words:
            retriever = LexicalRetriever(connection, f"{work}/{project}")
            statistics = retriever.statistics(query)
            chunks = retriever.retrieve(query, statistics, limit=30)
            for candidate in rerank(query, chunks, statistics)[:CANDIDATES]:
                content = squeezed(candidate.chunk.content)
                is_right = any(phrase in content for phrase in wanted)
                candidates.append((features(query, candidate.evidence), is_right))
        found.append((half, kind, candidates))
    return found


def sigmoid(value):
    return 1.0 / (1.0 + math.exp(-value)) if value > -700 else 0.0


def fit(rows, steps=4000, rate=0.5):
    """Ridge logistic regression by projected gradient descent; evidence may not count against a candidate."""
    size = len(rows[0][0])
    mean = [sum(x[k] for x, _ in rows) / len(rows) for k in range(size)]
    spread = [math.sqrt(sum((x[k] - mean[k]) ** 2 for x, _ in rows) / len(rows)) or 1.0 for k in range(size)]
    scaled = [([(x[k] - mean[k]) / spread[k] for k in range(size)], y) for x, y in rows]
    weights, intercept = [0.0] * size, 0.0
    for _ in range(steps // 10):
        gradient, slope = [RIDGE * w for w in weights], 0.0
        for x, y in scaled:
            error = sigmoid(intercept + sum(map(float.__mul__, weights, x))) - y
            slope += error
            for k in range(size):
                gradient[k] += error * x[k]
        for k in range(size):
            weights[k] -= rate * 10 * gradient[k] / len(rows)
            if NAMES[k] not in MAY_BE_NEGATIVE:
                weights[k] = max(0.0, weights[k])
        intercept -= rate * 10 * slope / len(rows)
    plain = [w / s for w, s in zip(weights, spread, strict=True)]
    return plain, intercept - sum(w * m for w, m in zip(plain, mean, strict=True))


def shown(candidates, model, gate):
    weights, intercept = model
    scored = sorted(
        ((sigmoid(intercept + sum(map(float.__mul__, weights, map(float, x)))), y) for x, y in candidates),
        key=lambda pair: pair[0],
        reverse=True,
    )
    return [y for p, y in scored[:SHOWN] if p >= gate]


def table(title, judged):
    """Print the share of prompts with the right memory shown, or (no answer) with anything shown."""
    kinds = sorted({kind for kind, _, _ in judged})
    plain = [kind for kind in kinds if not kind.startswith(("no answer", "polite", "long"))]
    print(
        f"\n{title}\n{'gate':>5} {'plain':>6}", *(f"{kind.removeprefix('no answer: '):>10}" for kind in kinds)
    )
    for gate in GATES:
        share = {}
        for kind in [*kinds, "plain"]:
            of_kind = [(c, m) for k, c, m in judged if k == kind or (kind == "plain" and k in plain)]
            hits = [shown(c, m, gate) for c, m in of_kind]
            right = [bool(h) if kind.startswith("no answer") else any(h) for h in hits]
            share[kind] = 100 * sum(right) / len(right)
        print(f"{gate:5.2f} {share['plain']:5.0f}%", *(f"{share[kind]:9.0f}%" for kind in kinds))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", action="store_true", help="also judge on the other half")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        connection, phrases, work = build(options.folder.resolve(), Path(home))
        found = examples(connection, phrases, work, options.folder)
        connection.close()
    tune = [(kind, candidates) for half, kind, candidates in found if half == "tune"]
    random.Random(1).shuffle(tune)
    judged = []
    for fold in range(FOLDS):
        rows = [row for at, (_, candidates) in enumerate(tune) if at % FOLDS != fold for row in candidates]
        model = fit(rows)
        judged += [(kind, candidates, model) for kind, candidates in tune[fold::FOLDS]]
    table(f"tune, {FOLDS}-fold cross-validation", judged)
    model = fit([row for _, candidates in tune for row in candidates])
    print("\nWEIGHTS =", tuple(round(w, 3) for w in model[0]), " # " + ", ".join(NAMES))
    print("INTERCEPT =", round(model[1], 3))
    if options.report:
        table("report", [(kind, candidates, model) for half, kind, candidates in found if half == "report"])


if __name__ == "__main__":
    main()
