"""Fit the constants of kizami_core/retrieval/relevance.py and choose the gate that `kizami setup` writes.

    python benchmarks/fit_relevance.py ../shared/data/recall ../shared/data/retrieval/gate-ja [--report]

The development set's sessions are saved through the real pipeline into a temporary database. The ``tune`` half of
its prompts then gives one example for each of the first ten candidates: the evidence, and whether the candidate
holds a relevant memory. Every second question of gate-ja, which are all content, gives examples of weight 1.2:
without them a question about what was never said fires too easily. Printed: the weights, and for each gate what
would be shown, by cross-validation on ``tune``, and on gate-ja; with --report also on the half that nothing is
fitted on. Standard library only; about two minutes.
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
from kizami_core.retrieval import word_index
from kizami_core.retrieval.lexical import LexicalRetriever
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.relevance import background, features
from kizami_core.retrieval.reranker import rerank
from kizami_core.storage.connection import open_database, transaction
from kizami_core.transcript.tokens import estimate_tokens

NAMES = ("mass", "rarest", "share", "standout", "strength", "past")
CANDIDATES, SHOWN, FOLDS, RIDGE = 10, 3, 6, 1.0
GATES = (0.08, 0.09, 0.1, 0.11, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4)
QUESTION_WEIGHT = 1.2


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


def candidates(connection, project, text, is_right):
    """Return (features, is relevant) of the first candidates of one prompt."""
    query = analyze_query(text)
    if not query.words:
        return []
    retriever = LexicalRetriever(connection, project)
    statistics = retriever.statistics(query)
    reranked = rerank(query, retriever.retrieve(query, statistics, limit=30), statistics)
    level = background(reranked)
    return [(features(query, found, level), is_right(found.chunk)) for found in reranked[:CANDIDATES]]


def examples(connection, phrases, work, folder):
    """Return for each prompt its half, its kind and its candidates."""
    found = []
    for half, kind, project, text, relevant in prompts(folder):
        wanted = [phrase for memory in relevant for phrase in phrases[memory]]

        def is_right(chunk, wanted=wanted):
            content = squeezed(chunk.content)
            return any(phrase in content for phrase in wanted)

        found.append((half, kind, candidates(connection, f"{work}/{project}", text, is_right)))
    return found


def questions(folder, home):
    """Return for each question of gate-ja its half, its kind and its candidates."""
    rows = {
        name: [
            json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for name in ("documents", "queries")
    }
    connection = open_database(str(home / "gate.db"))
    with transaction(connection):
        connection.executemany(
            """
            INSERT INTO chunks(id, session_id, project_path, chunk_index, content, role, created_at, token_count)
            VALUES (?, ?, '/p', 0, ?, 'mixed', '2026-01-01 00:00:00', ?)
            """,
            [
                (at, f"s{at}", row["text"], estimate_tokens(row["text"]))
                for at, row in enumerate(rows["documents"])
            ],
        )
        connection.execute(
            """INSERT INTO sessions(session_id, project_path, chunk_count) SELECT session_id, '/p', 1 FROM chunks"""
        )
        word_index.refresh(connection)
    found = []
    for at, row in enumerate(rows["queries"]):
        relevant = set(row.get("relevant", ()))

        def is_right(chunk, relevant=relevant):
            return rows["documents"][chunk.id]["id"] in relevant

        half = "tune" if at % 2 else "report"
        found.append((half, row["kind"], candidates(connection, "/p", row["text"], is_right)))
    connection.close()
    return found


def sigmoid(value):
    return 1.0 / (1.0 + math.exp(-value)) if value > -700 else 0.0


def solved(matrix, vector):
    """Solve a small system of linear equations by Gaussian elimination."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for at in range(len(rows)):
        pivot = max(range(at, len(rows)), key=lambda number: abs(rows[number][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for number, row in enumerate(rows):
            if number != at:
                rows[number] = [x - row[at] * y for x, y in zip(row, rows[at], strict=True)]
    return [row[-1] for row in rows]


def fit(rows, steps=30):
    """Ridge logistic regression by Newton's method; evidence may not count against a candidate.

    A row is (features, is relevant, weight). A weight that would fall below zero is left out and the rest are
    fitted again.
    """
    size = len(rows[0][0])
    mean = [sum(x[k] for x, _, _ in rows) / len(rows) for k in range(size)]
    spread = [
        math.sqrt(sum((x[k] - mean[k]) ** 2 for x, _, _ in rows) / len(rows)) or 1.0 for k in range(size)
    ]
    used = list(range(size))
    while True:
        scaled = [([*((x[k] - mean[k]) / spread[k] for k in used), 1.0], y, w) for x, y, w in rows]
        ridge = [RIDGE] * len(used) + [1e-9]
        weights = [0.0] * len(ridge)
        for _ in range(steps):
            gradient = [r * w for r, w in zip(ridge, weights, strict=True)]
            hessian = [[r if a == b else 0.0 for b in range(len(ridge))] for a, r in enumerate(ridge)]
            for x, y, w in scaled:
                p = sigmoid(sum(map(float.__mul__, weights, x)))
                curve = w * p * (1.0 - p)
                for a, value in enumerate(x):
                    gradient[a] += w * (p - y) * value
                    for b in range(a + 1):
                        hessian[a][b] += curve * value * x[b]
            for a in range(len(ridge)):
                for b in range(a):
                    hessian[b][a] = hessian[a][b]
            step = solved(hessian, gradient)
            weights = [w - s for w, s in zip(weights, step, strict=True)]
            if max(map(abs, step)) < 1e-6:
                break
        wrong = [k for k, w in zip(used, weights, strict=False) if w < 0]
        if not wrong:
            break
        used = [k for k in used if k not in wrong]
    plain = [0.0] * size
    for k, w in zip(used, weights, strict=False):
        plain[k] = w / spread[k]
    return plain, weights[-1] - sum(w * m for w, m in zip(plain, mean, strict=True))


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


def weighed(judged, weight):
    return [(*row, weight) for _, rows in judged for row in rows]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recall", type=Path)
    parser.add_argument("gate", type=Path)
    parser.add_argument("--report", action="store_true", help="also judge on the other half")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        connection, phrases, work = build(options.recall.resolve(), Path(home))
        found = examples(connection, phrases, work, options.recall)
        connection.close()
        asked = questions(options.gate, Path(home))
    tune = [(kind, rows) for half, kind, rows in found if half == "tune"]
    random.Random(1).shuffle(tune)
    besides = weighed([(kind, rows) for half, kind, rows in asked if half == "tune"], QUESTION_WEIGHT)
    judged = []
    for fold in range(FOLDS):
        others = [example for at, example in enumerate(tune) if at % FOLDS != fold]
        model = fit(weighed(others, 1.0) + besides)
        judged += [(kind, rows, model) for kind, rows in tune[fold::FOLDS]]
    table(f"tune, {FOLDS}-fold cross-validation", judged)
    model = fit(weighed(tune, 1.0) + besides)
    questions_judged = [
        ("plain" if kind == "positive" else f"no answer: {kind}", rows, model) for _, kind, rows in asked
    ]
    table("gate-ja", questions_judged)
    print("\nWEIGHTS =", tuple(round(w, 3) for w in model[0]), " # " + ", ".join(NAMES))
    print("INTERCEPT =", round(model[1], 3))
    if options.report:
        table("report", [(kind, rows, model) for half, kind, rows in found if half == "report"])


if __name__ == "__main__":
    main()
