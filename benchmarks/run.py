"""Measure whole processes, from exec to exit, as multiples of the bare interpreter in the same run.

    python benchmarks/run.py [--chunks 20000] [--runs 21] [--json FILE]

It uses the `kizami` command of the environment it runs in (nox -s bench installs the built wheels), a home of its
own and generated memories. The bare interpreter and the command under test take turns, so that a machine that
slows down slows both. Wall and CPU time are medians; memory is the peak of one process. Linux and macOS.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from generated_memory import KANJI, KATAKANA, Words, generate

BARE = [sys.executable, "-c", "pass"]
ROW = "{:<44} {:>9} {:>9} {:>7} {:>9}   {}"


# Starts, times and reaps one process. It is a process of its own, as small as Python gets, because the kernel
# counts the memory of the one that forks into the peak of the one that is started.
LAUNCHER = """
import os, sys, time
source, sink, *command = sys.argv[1:]
actions = [(os.POSIX_SPAWN_OPEN, 0, source, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, sink, os.O_WRONLY, 0),
           (os.POSIX_SPAWN_DUP2, 1, 2)]
begun = time.perf_counter()
process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
_, status, usage = os.wait4(process, 0)
print(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


class Run:
    """One finished process: wall and CPU seconds, peak resident megabytes, output."""

    def __init__(self, command, *, stdin=b"", env=None):
        with tempfile.NamedTemporaryFile() as source, tempfile.NamedTemporaryFile() as sink:
            source.write(stdin)
            source.flush()
            launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, source.name, sink.name, *command]
            measured = subprocess.run(
                launcher, env=env, capture_output=True, check=True, encoding="utf-8"
            ).stdout
            self.output = sink.read().decode("utf-8", "replace")
        wall, cpu, peak, code = measured.split()
        self.wall, self.cpu = float(wall), float(cpu)
        self.megabytes = int(peak) / (1024 if sys.platform == "linux" else 1024 * 1024)
        if code != "0":
            raise SystemExit(f"{command} ended with {code}:\n{self.output}")


class Bench:
    """Runs cases in turn with the bare interpreter and prints one row for each."""

    def __init__(self, runs):
        self.runs = runs
        self.results = []
        print(ROW.format("process", "wall ms", "cpu ms", "×bare", "peak MB", "goal"))

    def measure(self, name, command, *, stdin=b"", env=None, goal="", before=None):
        pairs = []
        for _ in range(self.runs):
            if before:
                before()
            pairs.append((Run(BARE, env=env), Run(command, stdin=stdin, env=env)))
        wall = statistics.median(run.wall for _, run in pairs)
        cpu = statistics.median(run.cpu for _, run in pairs)
        ratio = statistics.median(run.wall / bare.wall for bare, run in pairs)
        peak = max(run.megabytes for _, run in pairs)
        self.results.append(
            {"name": name, "wall_ms": wall * 1e3, "cpu_ms": cpu * 1e3, "ratio": ratio, "peak_mb": peak}
        )
        print(
            ROW.format(name, f"{wall * 1e3:.1f}", f"{cpu * 1e3:.1f}", f"{ratio:.2f}", f"{peak:.1f}", goal),
            flush=True,
        )
        return pairs[-1][1]


def hook_input(**fields):
    return json.dumps({"session_id": "bench", "cwd": "/home/dev/projects/project-0", **fields}).encode()


def transcript(path, turns, seed=3):
    """Write a session of plain exchanges, one chunk each."""
    words = Words(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(turns):
            user, _, assistant = words.exchange().partition("\n\n[Assistant]\n")
            at = (datetime.now(UTC) - timedelta(minutes=turns - number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            common = {
                "sessionId": path.stem,
                "cwd": "/home/dev/projects/project-0",
                "timestamp": at,
                "isSidechain": False,
            }
            for kind, text in (("user", user.removeprefix("[User]\n")), ("assistant", assistant[:900])):
                content = text if kind == "user" else [{"type": "text", "text": text}]
                record = {
                    **common,
                    "type": kind,
                    "uuid": f"{path.stem}-{kind}-{number}",
                    "message": {"role": kind, "id": f"msg-{number}", "content": content},
                }
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kizami = shutil.which("kizami", path=str(Path(sys.executable).parent)) or sys.exit(
        "kizami is not installed here"
    )
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # PYTHONDONTWRITEBYTECODE and the like would make every run compile anew what a user's does once.
        foreign = ("XDG_", "CLAUDE", "KIZAMI", "PYTHON")
        env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)} | {"HOME": folder}
        bench = Bench(options.runs)
        bench.measure("kizami --version", [kizami, "--version"], env=env)
        bench.measure(
            "setup, new home",
            [kizami, "setup"],
            env=env,
            goal="≤ 5 s",
            before=lambda: [
                shutil.rmtree(home / part, ignore_errors=True) for part in (".config", ".local", ".claude")
            ],
        )
        database = home / ".local/share/kizami/memory.db"
        fresh = database.stat().st_size

        session = home / "11111111-1111-4111-8111-111111111111.jsonl"
        transcript(session, 100)
        save = hook_input(transcript_path=str(session), hook_event_name="SessionEnd", reason="other")

        def forget():
            for ending in ("", "-wal", "-shm"):
                Path(f"{database}{ending}").unlink(missing_ok=True)
            Run([kizami, "setup"], env=env)

        bench.measure(
            "save of 100 chunks, new database",
            [kizami, "save", "--stdin"],
            stdin=save,
            env=env,
            goal="≤ 1 s",
            before=forget,
        )
        print(f"  database after it: {database.stat().st_size / 1e6:.2f} MB (empty: {fresh / 1e6:.2f} MB)")
        for ending in ("", "-wal", "-shm"):
            Path(f"{database}{ending}").unlink(missing_ok=True)
        connection, _ = generate(str(database), options.chunks)
        average = connection.execute("SELECT avg(length(content)) FROM chunks").fetchone()[0]
        try:
            shares = connection.execute(
                "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 6"
            ).fetchall()
        except Exception:  # noqa: BLE001 - not every SQLite is built with dbstat
            shares = []
        connection.close()
        size = database.stat().st_size
        per_thousand = size / options.chunks * 1000
        print(
            f"  database of {options.chunks} chunks of {average:.0f} characters: {per_thousand / 1e6:.2f} MB per 1,000 (goal: about 5)"
        )
        print("  " + ", ".join(f"{name} {100 * part / size:.0f} %" for name, part in shares))

        chooser = random.Random(5)
        japanese = f"{chooser.choice(KATAKANA)}の{chooser.choice(KANJI)}はどう決めたっけ？{chooser.choice(KANJI)}との関係も"
        prompts = {
            "recall, one project, Japanese": japanese,
            "recall, one project, English": "why does the session transaction in cacheRollback fail?",
            "recall, はい": "はい",
            "recall, nothing known": "zzyzx qwerfdsa",
            "recall, prompt of 3,000 characters": japanese
            + "\n"
            + "2026-01-01 INFO worker finished job\n" * 80,
            "recall, prompt of 1 MB": japanese + "\n" + "2026-01-01 INFO worker finished job\n" * 28_000,
        }

        def forget_shown():
            # A session is shown a memory once; every run is to show it.
            shutil.rmtree(database.parent / "shown", ignore_errors=True)

        for name, prompt in prompts.items():
            bench.measure(
                name,
                [kizami, "recall", "--stdin"],
                stdin=hook_input(prompt=prompt, hook_event_name="UserPromptSubmit"),
                env=env,
                goal="≤ 50 ms",
                before=forget_shown,
            )
        bench.measure(
            "recall, from a small project (tiered)",
            [kizami, "recall", "--stdin"],
            env=env,
            goal="≤ 50 ms",
            stdin=hook_input(prompt=japanese, cwd="/home/dev/elsewhere", hook_event_name="UserPromptSubmit"),
            before=forget_shown,
        )
        bench.measure(
            "inject",
            [kizami, "inject", "--stdin"],
            stdin=hook_input(hook_event_name="SessionStart", source="startup"),
            env=env,
        )
        bench.measure("save, nothing new", [kizami, "save", "--stdin"], stdin=save, env=env)
        bench.measure("search", [kizami, "search", "--all-projects", japanese], env=env)
    if options.json:
        options.json.write_text(json.dumps(bench.results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
