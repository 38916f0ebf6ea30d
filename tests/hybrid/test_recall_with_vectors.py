"""Recall and search in hybrid mode, as processes: with vectors, and with all that can be wrong with them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kizami_core.config import load_config
from kizami_hybrid.backend import open_vectors
from kizami_hybrid.model_files import install_model
from kizami_hybrid.settings import load_settings
from kizami_hybrid.vector_diagnosis import check
from kizami_hybrid.vector_repair import repair
from memories import NOW, PROJECT
from resident_home import wait_until
from small_models import write_model

PROMPT = "フォームの状態管理はどうする？"
EMBED = """
import os, sys
from contextlib import closing
from kizami_hybrid.driver import choose, open_database
from kizami_hybrid.model_files import load_model
from kizami_hybrid.settings import load_settings
from kizami_hybrid.vector_refresh import refresh
model = load_model(load_settings(sys.argv[1], os.environ)[0])
with closing(open_database(sys.argv[2], choose())) as connection:
    refresh(connection, model)
"""


class Memories:
    """A home with memories, their vectors, and a configuration for each mode."""

    def __init__(self, home):
        self.home = home
        self.number = home.book.add(PROMPT, "小さな画面は useState、検証が複雑なら React Hook Form。")
        home.book.add_noise(60)
        self.config = self.write_config("hybrid")
        self.run_python(EMBED, self.config, home.database)

    def write_config(self, mode, **embedding):
        section = {
            "model": self.home.settings.model,
            "dimensions": self.home.settings.dimensions,
            **embedding,
        }
        path = Path(self.home.env["HOME"], f"{mode}.json")
        fields = {
            "database": {"path": self.home.database},
            "search": {"mode": mode},
            "hooks": {"minRelevanceScore": 0.1},
            "embedding": section,
        }
        path.write_text(json.dumps(fields), encoding="utf-8")
        return str(path)

    def run_python(self, code, *arguments):
        subprocess.run([sys.executable, "-c", code, *arguments], env=self.home.env, check=True)

    def kizami(self, *arguments, stdin="", may_fail=False, **env):
        done = subprocess.run(
            [sys.executable, "-m", "kizami_cli", *arguments],
            input=stdin.encode(),
            env=self.home.env | env,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert may_fail or done.returncode == 0, done.stderr.decode()
        return done

    def recall(self, prompt=PROMPT, config="", **env):
        fields = {"prompt": prompt, "session_id": "now", "cwd": PROJECT}
        shutil.rmtree(Path(self.home.env["XDG_DATA_HOME"], "kizami", "shown"), ignore_errors=True)
        arguments = ("recall", "--stdin", "--config", config or self.config)
        return self.kizami(*arguments, stdin=json.dumps(fields), **env).stdout.decode()

    def recall_by_words(self):
        return self.recall(config=self.write_config("core"))

    def receipt(self):
        path = Path(self.home.env["XDG_DATA_HOME"], "kizami", "recalls.jsonl")
        return json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["report"]

    def rows(self):
        """What `kizami doctor` is told, by check."""
        config = load_config(self.config, self.home.env)[0]
        return {row.check: (row.state, row.remedy) for row in check(self.config, config, self.home.env)}


@pytest.fixture
def memories(home):
    return Memories(home)


def cosines(receipt):
    return {item["chunk_id"]: item["cosine"] for item in receipt["candidates"] if item["cosine"] is not None}


def test_recall_takes_the_vectors_of_a_running_process_into_account(memories):
    memories.home.start()
    assert memories.rows()["embedding process"] == ("ok", "")
    assert "React Hook Form" in memories.recall()
    receipt = memories.receipt()
    assert cosines(receipt)[memories.number] == pytest.approx(max(cosines(receipt).values()))
    assert "vectors" in receipt["milliseconds"]
    assert memories.home.error_log == ""


def test_without_a_process_the_prompt_gets_the_answer_of_the_words_and_the_next_one_vectors(memories):
    by_words = memories.recall_by_words()
    assert "React Hook Form" in by_words
    assert memories.recall() == by_words
    assert cosines(memories.receipt()) == {}
    wait_until(lambda: memories.home.hits("記憶") is not None)
    memories.recall()
    assert cosines(memories.receipt())
    assert memories.home.error_log == ""


def test_a_killed_process_costs_no_prompt(memories):
    status = memories.home.start()
    os.kill(status["pid"], signal.SIGKILL)
    by_words = memories.recall_by_words()
    assert memories.recall() == by_words
    assert memories.home.error_log == ""


def test_a_hung_process_costs_no_more_than_its_deadline(memories):
    status = memories.home.start()
    os.kill(status["pid"], signal.SIGSTOP)
    by_words = memories.recall_by_words()
    try:
        assert memories.recall() == by_words
        assert memories.receipt()["milliseconds"]["vectors"] < 10_000
    finally:
        os.kill(status["pid"], signal.SIGCONT)


def test_a_removed_model_is_one_line_and_a_row(memories):
    shutil.rmtree(memories.home.settings.model_dir)
    assert memories.recall() == memories.recall_by_words()
    (line,) = memories.home.error_log.splitlines()
    assert "The embedding model is not installed" in line
    assert line.endswith("Run: kizami setup --hybrid")
    assert memories.rows()["embedding model"] == ("warning", "Run: kizami setup --hybrid")


def test_a_damaged_model_is_one_line_and_a_row(memories):
    with open(Path(memories.home.settings.model_dir, "tokenizer.json"), "ab") as file:
        file.write(b"damage")
    endpoint = memories.home.endpoint
    assert memories.recall() == memories.recall_by_words()
    wait_until(lambda: os.path.exists(endpoint.failure_path))
    memories.recall()
    (line,) = memories.home.error_log.splitlines()
    assert "is not what was installed" in line
    remedy = "Install the model again: kizami setup --hybrid"
    assert memories.rows()["embedding model"] == ("warning", remedy)
    assert memories.rows()["embedding process"] == ("warning", remedy)


def test_vectors_of_another_model_are_one_line_and_a_row(memories, tmp_path):
    other = memories.write_config("hybrid", model="owner/ruri-v3-other")
    settings, _ = load_settings(other, memories.home.env)
    install_model(settings, memories.home.env, model_dir=str(write_model(tmp_path / "other", seed_value=1.0)))
    memories.home.settings = settings
    memories.home.start()
    by_words = memories.recall_by_words()
    before = len(memories.home.error_log.splitlines())
    assert memories.recall() == by_words
    lines = memories.home.error_log.splitlines()[before:]
    assert len(lines) == 1
    assert lines[0].endswith("Run: kizami embed --backfill")
    assert memories.rows()["vectors"] == ("warning", "Run: kizami embed --backfill")


def test_damaged_vectors_are_never_found_and_a_row(memories):
    memories.home.start()
    connection = memories.home.book.connection
    connection.execute("UPDATE chunks_vec_map SET embedding = x'00ff' WHERE chunk_id = ?", (memories.number,))
    assert "React Hook Form" in memories.recall()
    assert memories.number not in cosines(memories.receipt())
    assert memories.rows()["vectors"] == ("warning", "Run: kizami doctor --repair")


def test_doctor_repairs_damaged_vectors(memories):
    connection = memories.home.book.connection
    connection.execute("UPDATE chunks_vec_map SET embedding = x'00ff' WHERE chunk_id = ?", (memories.number,))
    done = memories.kizami("doctor", "--repair", "--json", "--config", memories.config, may_fail=True)
    assert json.loads(done.stdout)["repaired"][-1] == (
        "vectors: 1 chunk without a sound one, made anew with the next prompts"
    )
    state, remedy = memories.rows()["vectors"]
    assert (state, remedy.rpartition(": ")[2]) == ("warning", "kizami embed")
    memories.run_python(EMBED, memories.config, memories.home.database)
    assert memories.rows()["vectors"] == ("ok", "")
    assert repair(memories.config, load_config(memories.config, {})[0].replace(search_mode="core"), {}) == []


def test_a_search_that_no_word_answers_says_so_before_the_nearest(memories):
    memories.home.start()
    common = ("--project", PROJECT, "--config", memories.config)
    found = memories.kizami("search", "qwertyuiop", *common)
    assert found.stderr.decode() == "No memory holds words of this. Nearest in meaning:\n"
    listed = json.loads(memories.kizami("search", "qwertyuiop", "--json", *common).stdout)
    assert [(hit["relevance"], hit["terms"]) for hit in listed] == [(0.0, [])] * 4
    assert memories.kizami("search", "useState", *common).stderr == b""


def test_without_sqlite_vec_the_answer_is_the_same(memories, tmp_path):
    memories.home.start()
    memories.recall()
    expected = cosines(memories.receipt())
    assert expected
    os.kill(memories.home.start()["pid"], signal.SIGKILL)
    empty = tmp_path / "packages" / "sqlite_vec"
    empty.mkdir(parents=True)
    (empty / "__init__.py").touch()
    path = os.pathsep.join(filter(None, (str(empty.parent), memories.home.env.get("PYTHONPATH"))))
    memories.home.env["PYTHONPATH"] = path
    memories.home.start()
    memories.recall()
    assert cosines(memories.receipt()) == expected
    assert memories.home.error_log == ""


def test_a_hybrid_package_that_fails_costs_no_prompt(memories, tmp_path):
    broken = tmp_path / "packages" / "kizami_hybrid"
    broken.mkdir(parents=True)
    (broken / "__init__.py").touch()
    (broken / "backend.py").write_text("raise RuntimeError('half installed')\n", encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(broken.parent), memories.home.env.get("PYTHONPATH"))))
    by_words = memories.recall_by_words()
    assert memories.recall(PYTHONPATH=path) == by_words
    (line,) = memories.home.error_log.splitlines()
    assert "fails (RuntimeError: half installed); core mode is used." in line
    found = memories.kizami("setup", "--status", "--json", "--config", memories.config, PYTHONPATH=path)
    assert "half installed" in json.loads(found.stdout)["configuration"]["problems"][0]


def test_a_backend_that_fails_in_the_midst_of_a_query_costs_no_prompt(memories, tmp_path):
    broken = tmp_path / "packages" / "kizami_hybrid"
    broken.mkdir(parents=True)
    (broken / "__init__.py").touch()
    (broken / "backend.py").write_text(
        "class Broken:\n"
        "    problem, odds, can_answer = '', 2.0, True\n"
        "    def ask(self, project): pass\n"
        "    def nearest(self): raise RuntimeError('out of order')\n"
        "    def close(self): pass\n"
        "def open_vectors(*args, **options): return Broken()\n",
        encoding="utf-8",
    )
    path = os.pathsep.join(filter(None, (str(broken.parent), memories.home.env.get("PYTHONPATH"))))
    by_words = memories.recall_by_words()
    assert memories.recall(PYTHONPATH=path) == by_words
    (line,) = memories.home.error_log.splitlines()
    assert "out of order" in line


def test_search_waits_for_a_process_that_starts_and_why_shows_the_cosines(memories):
    common = ("--project", PROJECT, "--config", memories.config)
    found = memories.kizami("search", "React", *common)
    assert found.stderr == b""
    assert f"#{memories.number}" in found.stdout.decode()
    explained = memories.kizami("why", "--prompt", PROMPT, "--json", *common)
    report = json.loads(explained.stdout)["report"]
    assert memories.number in cosines(report)
    shown = memories.kizami("why", "--prompt", PROMPT, *common).stdout.decode()
    (row,) = [line.split("\t") for line in shown.splitlines() if line.startswith(f"#{memories.number}\t")]
    cosine = next(item["cosine"] for item in report["candidates"] if item["chunk_id"] == memories.number)
    assert row[4] == f"{cosine:.2f}"


def test_a_hook_asks_once_and_a_command_for_each_scope(memories):
    memories.home.start()
    config = load_config(memories.config, memories.home.env)[0]
    found = {}
    for is_hook in (True, False):
        vectors = open_vectors(memories.config, config, memories.home.env, PROMPT, now=NOW, is_hook=is_hook)
        found[is_hook] = []
        for scope in (PROJECT, None):
            vectors.ask(scope)
            vectors.ask(scope)
            found[is_hook].append((vectors.odds > 1, memories.number in vectors.nearest()))
        assert vectors.problem == ""
        vectors.close()
    assert found[False] == [(True, True), (True, True)]
    assert found[True][1] == (False, False)


def test_a_save_leaves_its_chunks_to_the_process(memories, tmp_path):
    memories.home.start()
    path = tmp_path / "5c7be6a1-1111-4222-8333-444455556666.jsonl"
    common = {"sessionId": path.stem, "cwd": PROJECT, "timestamp": "2026-01-02T09:00:00.000Z"}
    lines = [
        {
            **common,
            "uuid": "u",
            "type": "user",
            "message": {"role": "user", "content": "監査ログの保存先は？"},
        },
        {
            **common,
            "uuid": "a",
            "type": "assistant",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "S3 です。"}]},
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    fields = {
        "transcript_path": str(path),
        "session_id": path.stem,
        "cwd": PROJECT,
        "hook_event_name": "Stop",
    }
    memories.kizami("save", "--stdin", "--config", memories.config, stdin=json.dumps(fields))
    query = "SELECT count(*) FROM chunks_vec_map m JOIN chunks c ON c.id = m.chunk_id WHERE c.session_id = ?"
    rows = memories.home.book.connection
    wait_until(lambda: rows.execute(query, (path.stem,)).fetchone() == (1,))
    assert memories.home.error_log == ""
