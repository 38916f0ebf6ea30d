"""What the resident embedder costs, on a model of Ruri's true shape with random weights.

    python benchmarks/hybrid_cost.py [--chunks 20000] [--background 40] [--dir DIR]

Time to ready (process start to first answer), memory, the time of a warm request as a hook makes it (connect,
embed the prompt, search, read the answer) by one client and by eight processes at once, alone and while chunks
are embedded in the background, and how fast that goes. Needs `onnx` to build the model; DIR keeps it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import ruri_shape

from kizami_core.storage.connection import open_database as create_database
from kizami_core.storage.connection import transaction
from kizami_hybrid.driver import choose, open_database
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.model_files import install_model
from kizami_hybrid.resident.client import begin_search, wake
from kizami_hybrid.resident.control import ask_status, start_and_wait, stop_and_wait
from kizami_hybrid.resident.endpoint import find_endpoint
from kizami_hybrid.settings import parse_settings
from kizami_hybrid.vector_index import catch_up
from kizami_hybrid.vector_schema import prepare

PROJECTS = 12
DEADLINE_SECONDS = 0.1
PROMPTS = (
    "React Hook Form で依存配列の警告が出たとき、前はどう直した？",
    "データベースのマイグレーションが途中で止まった原因",
    "pytest の並列実行でポートが衝突する",
    "Docker のビルドが遅い。キャッシュの効かせ方",
    "その設定ファイルはどこに置くのでしたか",
)


class Bench:
    """A home with the model and a database; its environment is this process's, so that clients share it."""

    def __init__(self, home: Path, model_dir: Path | None) -> None:
        self.env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
        self.env |= {"XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data")}
        self.settings, _ = parse_settings({"model": "bench/ruri-v3-shape"}, self.env)
        if model_dir:
            if not (model_dir / "tokenizer.json").exists():
                ruri_shape.write_model(model_dir)
            install_model(self.settings, self.env, model_dir=str(model_dir))
        self.endpoint = find_endpoint(self.settings, self.env)
        self.database = str(home / "memory.db")

    def fill(self, count: int) -> None:
        """Save chunks with random vectors, which no model is needed for."""
        chance = np.random.default_rng(7)
        create_database(self.database).close()
        start = start_and_wait(self.endpoint, self.settings, self.database, self.env)
        with closing(open_database(self.database, choose())) as connection:
            prepare(connection, ModelIdentity(**start["model"]))
            self.save(connection, count, 300)
            vectors = chance.normal(size=(count, self.settings.dimensions)).astype("<f4")
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            with transaction(connection):
                rows = connection.execute("SELECT chunk_id FROM vector_queue ORDER BY chunk_id").fetchall()
                connection.executemany(
                    "INSERT INTO chunks_vec_map(chunk_id, vec_rowid, is_agent, embedding) VALUES (?, ?, 0, ?)",
                    ((row[0], row[0], vector.tobytes()) for row, vector in zip(rows, vectors, strict=True)),
                )
                connection.execute("DELETE FROM vector_queue")
            catch_up(connection)

    def save(self, connection: object, count: int, characters: int) -> None:
        chance = random.Random(count)
        kanji = [chr(code) for code in range(0x4E00, 0x6E00)]
        with transaction(connection):
            for number in range(count):
                connection.execute(
                    "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at,"
                    " token_count) VALUES (?, ?, 0, ?, 'mixed', datetime(?, 'unixepoch'), 1)",
                    (
                        f"{characters}-{number}",
                        f"/p{number % PROJECTS}",
                        "".join(chance.choices(kanji, k=characters)),
                        1_700_000_000 + number,
                    ),
                )

    def requests(self, count: int, project: str | None) -> list[float]:
        """Ask as a hook does; return the milliseconds of each request."""
        times = []
        for number in range(count):
            begun = time.perf_counter()
            prompt = PROMPTS[number % len(PROMPTS)]
            pending = begin_search(
                self.settings,
                self.env,
                prompt,
                database=self.database,
                project=project,
                limit=50,
                now=time.time(),
            )
            if pending.hits(time.monotonic() + 30) is None:
                raise SystemExit(f"no answer: {pending.problem}")
            pending.close()
            times.append((time.perf_counter() - begun) * 1000)
        return times

    def requests_at_once(self, clients: int, count: int, project: str) -> list[float]:
        command = [sys.executable, __file__, "--client", str(count), "--project", project]
        command += ["--dir", str(Path(self.env["HOME"]))]
        running = [
            subprocess.Popen(command, stdout=subprocess.PIPE, env=self.env, encoding="utf-8")
            for _ in range(clients)
        ]
        return [value for each in running for value in json.loads(each.communicate()[0])]


def show(name: str, times: list[float]) -> None:
    late = sum(value > DEADLINE_SECONDS * 1000 for value in times) / len(times)
    p50, p95 = np.percentile(times, [50, 95])
    print(
        f"{name:<52} p50 {p50:6.1f}  p95 {p95:6.1f}  max {max(times):6.1f} ms  later than 100 ms {late:.1%}"
    )


def high_water_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1000
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--background", type=int, default=40)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--client", type=int)
    parser.add_argument("--project", default="")
    options = parser.parse_args()
    if options.client:
        bench = Bench(options.dir, None)
        bench.requests(5, options.project)
        print(json.dumps(bench.requests(options.client, options.project)))
        return
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(Path(home), options.dir or Path(home, "model"))
        try:
            measure(bench, options.chunks, options.background)
        finally:
            stop_and_wait(bench.endpoint)


def measure(bench: Bench, chunks: int, background: int) -> None:
    ready = []
    for _ in range(5):
        begun = time.perf_counter()
        status = start_and_wait(bench.endpoint, bench.settings, "", bench.env)
        ready.append(time.perf_counter() - begun)
        stop_and_wait(bench.endpoint)
    print(f"ready after {np.median(ready):.2f} s, {status['resident_bytes'] / 1e6:.0f} MB")
    bench.fill(chunks)
    pid = int(ask_status(bench.endpoint)["pid"])
    bench.requests(20, None)
    print(f"{chunks:,} chunks")
    show("1 client, one project", bench.requests(200, "/p1"))
    show("1 client, all projects", bench.requests(100, None))
    show("8 processes at once, one project", bench.requests_at_once(8, 40, "/p1"))
    memory = ask_status(bench.endpoint)["resident_bytes"] / 1e6
    print(f"then {memory:.0f} MB, at most {high_water_mb(pid):.0f} MB")
    with closing(open_database(bench.database, choose())) as connection:
        bench.save(connection, background, 500)
    begun = time.perf_counter()
    wake(bench.settings, bench.env, bench.database, time.time())
    show("1 client, one project, while chunks are embedded", bench.requests(100, "/p1"))
    while ask_status(bench.endpoint)["waiting"][bench.database]:
        time.sleep(0.1)
    seconds = time.perf_counter() - begun
    memory = ask_status(bench.endpoint)["resident_bytes"] / 1e6
    print(
        f"{background} chunks of 500 tokens embedded in {seconds:.1f} s: {background / seconds:.1f} a second"
    )
    print(f"then {memory:.0f} MB, at most {high_water_mb(pid):.0f} MB")


if __name__ == "__main__":
    main()
