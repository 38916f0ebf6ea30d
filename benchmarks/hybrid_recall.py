"""What hybrid mode costs a prompt: whole recall processes beside those of core mode, on the same database.

    python benchmarks/hybrid_recall.py --model-dir DIR [--chunks 20000] [--runs 41]

DIR holds a model of Ruri's true shape (hybrid_cost.py leaves one in its --dir); the memories are generated, their
vectors random. The modes take turns, so that a machine that slows down slows all of them:

- warm: the embedding process runs;
- dead: it was killed, and its socket is still there;
- cold: there is none, and the hook starts one.

Compared are the prompts for which both modes show something, or both nothing: showing a memory costs what it costs in
either mode. On a busy machine run it under `chrt -r 10`, and look at the processor time too. Not with
PYTHONDONTWRITEBYTECODE, under which every module may be compiled anew.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import connect

import numpy as np
from generated_memory import generate
from run import Run, hook_input

from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.storage.connection import transaction
from kizami_hybrid.driver import choose, open_database
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.model_files import install_model
from kizami_hybrid.resident.control import start_and_wait
from kizami_hybrid.resident.endpoint import find_endpoint
from kizami_hybrid.settings import parse_settings
from kizami_hybrid.vector_index import catch_up
from kizami_hybrid.vector_schema import prepare

USER = "[User]\n"
GOALS = {"hybrid, warm": "≤ 1.3", "hybrid, dead": "≤ 1.1", "hybrid, cold": "≤ 1.1"}


class Home:
    """A home with the model, memories with vectors, and a configuration for each mode."""

    def __init__(self, path, model_dir, chunks):
        foreign = ("XDG_", "CLAUDE", "KIZAMI")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        self.env |= {"HOME": str(path), "XDG_RUNTIME_DIR": str(path), "XDG_CACHE_HOME": str(path / "cache")}
        section = {"model": "bench/ruri-v3-shape"}
        self.settings, _ = parse_settings(section, self.env)
        install_model(self.settings, self.env, model_dir=str(model_dir))
        self.endpoint = find_endpoint(self.settings, self.env)
        self.database = path / "memory.db"
        connection, _ = generate(str(self.database), chunks)
        connection.close()
        self.configs = {}
        for mode in ("core", "hybrid"):
            self.configs[mode] = path / f"{mode}.json"
            fields = {
                "database": {"path": str(self.database)},
                "search": {"mode": mode, "projectScope": "tiered"},
                "hooks": {"minRelevanceScore": RECOMMENDED_GATE},
                "embedding": section,
            }
            self.configs[mode].write_text(json.dumps(fields), encoding="utf-8")

    def embed(self):
        """Give every chunk a vector, which no model is needed for, and leave the process running."""
        status = self.start()
        chance = np.random.default_rng(7)
        with closing(open_database(str(self.database), choose())) as connection:
            prepare(connection, ModelIdentity(**status["model"]))
            with transaction(connection):
                ids = [
                    row[0]
                    for row in connection.execute("SELECT chunk_id FROM vector_queue ORDER BY chunk_id")
                ]
                for number in ids:
                    vector = chance.normal(size=self.settings.dimensions).astype("<f4")
                    connection.execute(
                        "INSERT INTO chunks_vec_map(chunk_id, vec_rowid, is_agent, embedding) VALUES (?, ?, 0, ?)",
                        (number, number, (vector / np.linalg.norm(vector)).tobytes()),
                    )
                connection.execute("DELETE FROM vector_queue")
            catch_up(connection)

    def start(self):
        return start_and_wait(self.endpoint, self.settings, str(self.database), self.env)

    def kill(self, *, forget=False):
        """Kill the process; with ``forget`` the next hook starts one."""
        with suppress(OSError, ValueError):
            os.kill(int(Path(self.endpoint.pid_path).read_text(encoding="ascii")), 9)
        if forget:
            Path(self.endpoint.attempt_path).unlink(missing_ok=True)
        else:
            Path(self.endpoint.attempt_path).touch()

    def recall(self, mode, prompt):
        shutil.rmtree(self.database.parent / ".local", ignore_errors=True)
        command = [
            sys.executable,
            "-m",
            "kizami_cli",
            "recall",
            "--stdin",
            "--config",
            str(self.configs[mode]),
        ]
        stdin = hook_input(prompt=prompt, hook_event_name="UserPromptSubmit")
        return Run(command, stdin=stdin, env=self.env)

    def prompts(self, count):
        """Return prompts that quote memories of the project, so that vectors have something to decide."""
        with closing(connect(self.database)) as connection:
            contents = connection.execute(
                "SELECT content FROM chunks WHERE project_path = '/home/dev/projects/project-0' ORDER BY id"
            ).fetchall()
        chosen = random.Random(5).sample(contents, count)
        return [f"{content.removeprefix(USER)[:30]}はどう決める？" for (content,) in chosen]

    def milliseconds_of_vectors(self):
        """Return what the last recall spent on them: nothing where they could bring nothing through."""
        log = self.database.parent / ".local/share/kizami/recalls.jsonl"
        spent = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["report"]["milliseconds"]
        return [spent["vectors"]] if "vectors" in spent else []


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model-dir", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=41)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), options.model_dir, options.chunks)
        prompts = home.prompts(options.runs)
        home.embed()
        before = {
            "hybrid, warm": home.start,
            "hybrid, dead": home.kill,
            "hybrid, cold": lambda: home.kill(forget=True),
        }
        try:
            for name, prepare_run in before.items():
                pairs, waits = [], []
                for prompt in prompts:
                    prepare_run()
                    pair = (home.recall("core", prompt), home.recall("hybrid", prompt))
                    waits += home.milliseconds_of_vectors()
                    if bool(pair[0].output) == bool(pair[1].output):
                        pairs.append(pair)
                core = statistics.median(run.wall for run, _ in pairs)
                hybrid = statistics.median(run.wall for _, run in pairs)
                wall = statistics.median(run.wall / words.wall for words, run in pairs)
                cpu = statistics.median(run.cpu / words.cpu for words, run in pairs)
                print(
                    f"{name}: core {core * 1e3:.1f} ms, hybrid {hybrid * 1e3:.1f} ms, {wall:.2f}× (goal {GOALS[name]}), "
                    f"CPU {cpu:.2f}×; vectors {statistics.median(waits):.1f} ms in {len(waits)}; {len(pairs)} prompts",
                    flush=True,
                )
        finally:
            home.kill()


if __name__ == "__main__":
    main()
