"""What the recall set says of the engine, in one process: a floor under quality, not the measurement itself.

The measurement runs whole processes (evaluate.py of the recall set); its figures stand in ARCHITECTURE.md.
"""

import importlib.util
import json
import os
import unicodedata
from datetime import UTC, datetime

import pytest

from kizami_core.config import parse_config
from kizami_core.recall import recall
from kizami_core.recording import save_transcript
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.storage.connection import open_database

pytestmark = pytest.mark.shared


def squeezed(text):
    return "".join(unicodedata.normalize("NFKC", text).lower().split())


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def shown(shared, tmp_path_factory):
    """For each prompt of the half ``tune``: its kind, and whether the right memory (or anything) is shown."""
    folder = shared / "data/recall"
    specification = importlib.util.spec_from_file_location("noise", folder / "noise.py")
    noise = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(noise)
    home = tmp_path_factory.mktemp("recall")
    work = home / "work"
    for project in noise.PROJECTS:
        (work / project).mkdir(parents=True)
    memories = lines(folder / "memories.jsonl")
    now = datetime.now(UTC)
    config = parse_config({}, os.environ)[0].replace(
        project_scope="tiered", min_relevance_score=RECOMMENDED_GATE
    )
    connection = open_database(str(home / "memory.db"))
    for _, _, cwd, path in noise.write(noise.plan(memories), home / "projects", work, now):
        save_transcript(connection, str(path), config=config, now=now.timestamp(), cwd=cwd)
    evidence = {memory["id"]: [squeezed(phrase) for phrase in memory["evidence"]] for memory in memories}

    def ask(query, form):
        return squeezed(
            recall(
                connection,
                query[form],
                session_id="now",
                project_path=str(work / query["project"]),
                config=config,
                now=now.timestamp(),
            ).block
        )

    found = {}
    for query in lines(folder / "queries.jsonl"):
        wanted = [phrase for memory in query["relevant"] for phrase in evidence[memory]]
        for form in ("text", "polite", "long"):
            if form in query and query["split"] == "tune":
                block = ask(query, form)
                found.setdefault(form, []).append(any(phrase in block for phrase in wanted))
    for query in lines(folder / "negatives.jsonl"):
        if query["split"] == "tune":
            found.setdefault(query["kind"], []).append(bool(ask(query, "text")))
    connection.close()
    return {kind: sum(answers) / len(answers) for kind, answers in found.items()}


@pytest.mark.parametrize(("form", "floor"), [("text", 0.5), ("polite", 0.45), ("long", 0.7)])
def test_right_memory_is_shown_often_enough(shown, form, floor):
    assert shown[form] >= floor


@pytest.mark.parametrize(("kind", "ceiling"), [("chat", 0.04), ("other", 0.08), ("near", 0.12)])
def test_prompts_that_nothing_answers_stay_silent(shown, kind, ceiling):
    assert shown[kind] <= ceiling
