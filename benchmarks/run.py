"""Measure whole processes, from exec to exit, as multiples of the bare interpreter in the same run.

    python benchmarks/run.py [--chunks 20000] [--large 200000] [--keep FOLDER] [--runs 21] [--json FILE]

The large database takes a quarter of an hour to make: --large 0 leaves it out, --keep FOLDER keeps both for the
next run. It uses the `kizami` command of the environment it runs in (nox -s bench installs the built wheels), a home of its
own and generated memories. The bare interpreter and the command under test take turns, so that a machine that
slows down slows both. Wall and CPU time are medians; memory is the peak of one process. Linux and macOS.
"""

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from generated_memory import KANJI, KATAKANA, Words, generate

BARE = [sys.executable, "-c", "pass"]
PROJECT = "/home/dev/projects/project-0"
LOG_LINE = "2026-01-01 INFO worker finished job\n"
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
    """Runs cases in turn with the bare interpreter, in a home of its own, and prints one row for each."""

    def __init__(self, home, runs):
        self.runs = runs
        self.results = []
        self.kizami = shutil.which("kizami", path=str(Path(sys.executable).parent))
        if self.kizami is None:
            raise SystemExit("kizami is not installed here")
        # PYTHONDONTWRITEBYTECODE and the like would make every run compile anew what a user's does once.
        foreign = ("XDG_", "CLAUDE", "KIZAMI", "PYTHON")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)} | {"HOME": str(home)}
        self.data = home / ".local/share/kizami"
        self.memories = self.data / "memory.db"
        print(ROW.format("process", "wall ms", "cpu ms", "×bare", "peak MB", "goal"))

    def run(self, *arguments, stdin=b""):
        return Run([self.kizami, *arguments], stdin=stdin, env=self.env)

    def forget(self):
        for ending in ("", "-wal", "-shm"):
            Path(f"{self.memories}{ending}").unlink(missing_ok=True)

    def fill(self, chunks, keep):
        """Put a generated database in place of the one there is; in the folder ``keep`` it stays for later."""
        self.forget()
        kept = keep and keep / f"memories-{chunks}.db"
        if kept and kept.exists():
            shutil.copy(kept, self.memories)
            return
        connection, _ = generate(str(self.memories), chunks)
        connection.close()
        if kept:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.memories, kept)

    def recall(self, name, prompt, *options, cwd=PROJECT, goal):
        """Measure a recall. A session is shown a memory once; every run is to show it."""
        last = self.measure(
            f"recall, {name}",
            *("recall", "--stdin", *options),
            stdin=hook_input(prompt=prompt, cwd=cwd, hook_event_name="UserPromptSubmit"),
            goal=goal,
            before=lambda: shutil.rmtree(self.data / "shown", ignore_errors=True),
        )
        return last.output

    def measure(self, name, *arguments, stdin=b"", goal="", before=None):
        pairs = []
        for _ in range(self.runs):
            if before:
                before()
            pairs.append((Run(BARE, env=self.env), self.run(*arguments, stdin=stdin)))
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
    return json.dumps({"session_id": "bench", "cwd": PROJECT, **fields}).encode()


def transcript(path, turns, seed=3, *, first=0):
    """Write a session of plain exchanges, one chunk each; from ``first`` on they are added to it."""
    words = Words(seed + first)
    with path.open("a" if first else "w", encoding="utf-8") as file:
        for number in range(first, first + turns):
            user, _, assistant = words.exchange().partition("\n\n[Assistant]\n")
            at = (datetime.now(UTC) - timedelta(minutes=first + turns - number)).strftime(
                "%Y-%m-%dT%H:%M:%S.000Z"
            )
            common = {
                "sessionId": path.stem,
                "cwd": PROJECT,
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


def measure_setup_and_save(bench, home, session):
    """Measure a new home, and the first save of a session of 100 turns."""
    bench.measure("kizami --version", "--version")
    parts = (".config", ".local", ".claude")
    bench.measure(
        "setup, new home",
        "setup",
        goal="≤ 5 s",
        before=lambda: [shutil.rmtree(home / part, ignore_errors=True) for part in parts],
    )
    empty = bench.memories.stat().st_size

    def begin_anew():
        bench.forget()
        bench.run("setup")

    save = hook_input(transcript_path=str(session), hook_event_name="SessionEnd", reason="other")
    bench.measure(
        "save of 100 chunks, new database", "save", "--stdin", stdin=save, goal="≤ 1 s", before=begin_anew
    )
    size = bench.memories.stat().st_size
    print(f"  database after it: {size / 1e6:.2f} MB (empty: {empty / 1e6:.2f} MB)")


def measure_later_saves(bench, session):
    """Measure the save of one turn that was added to a session, and one that finds nothing new."""
    save = hook_input(transcript_path=str(session), hook_event_name="Stop")
    bench.run("save", "--stdin", stdin=save)
    added = iter(range(100, 100 + bench.runs))
    bench.measure(
        "save of one turn",
        *("save", "--stdin"),
        stdin=save,
        goal="≤ 4 ×",
        before=lambda: transcript(session, 1, first=next(added)),
    )
    bench.measure("save, nothing new", "save", "--stdin", stdin=save)


def print_sizes(bench, chunks):
    """Print what a database of so many chunks takes, and its greatest parts."""
    with closing(sqlite3.connect(bench.memories)) as connection:
        average = connection.execute("SELECT avg(length(content)) FROM chunks").fetchone()[0]
        try:
            shares = connection.execute(
                "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 6"
            ).fetchall()
        except sqlite3.OperationalError:  # not every SQLite is built with dbstat
            shares = []
    size = bench.memories.stat().st_size
    print(
        f"  database of {chunks} chunks of {average:.0f} characters: {size / chunks / 1e3:.2f} MB per 1,000"
        " (goal: about 5)"
    )
    print("  " + ", ".join(f"{name} {100 * part / size:.0f} %" for name, part in shares))


def name_of_code(bench):
    """Return an identifier of three parts that the project's memories hold, the rarest of its first chunks."""
    with closing(sqlite3.connect(bench.memories)) as connection:
        texts = connection.execute(
            "SELECT content FROM chunks WHERE project_path = ? ORDER BY id LIMIT 200", (PROJECT,)
        )
        names = Counter(re.findall(r"\b[a-z]+(?:[A-Z][a-z]+){2}\b", "\n".join(text for (text,) in texts)))
    return min(names, key=lambda name: (names[name], name))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--large", type=int, default=200_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chooser = random.Random(5)
    japanese = f"{chooser.choice(KATAKANA)}の{chooser.choice(KANJI)}はどう決めたっけ？{chooser.choice(KANJI)}との関係も"
    english = "why does the session transaction in cacheRollback fail?"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        bench = Bench(home, options.runs)
        session = home / "11111111-1111-4111-8111-111111111111.jsonl"
        transcript(session, 100)
        measure_setup_and_save(bench, home, session)
        bench.fill(options.chunks, options.keep)
        print_sizes(bench, options.chunks)
        bench.recall("one project, Japanese", japanese, goal="≤ 2.6 ×")
        bench.recall("one project, English", english, goal="≤ 2.6 ×")
        shown = bench.recall("memories shown", f"why did we choose {name_of_code(bench)}?", goal="≤ 2.6 ×")
        print(f"  shown: {shown.count('(relevance: ')} memories")
        bench.recall("はい", "はい", goal="≤ 2.0 ×")
        bench.recall("nothing known", "zzyzx qwerfdsa", goal="≤ 2.0 ×")
        bench.recall("prompt of 3,000 characters", japanese + "\n" + LOG_LINE * 80, goal="≤ 50 ms")
        bench.recall("prompt of 1 MB", japanese + "\n" + LOG_LINE * 28_000, goal="≤ 6 ×")
        bench.recall("folder without memories (tiered)", japanese, cwd="/home/dev/elsewhere", goal="≤ 50 ms")
        start = hook_input(hook_event_name="SessionStart", source="startup")
        bench.measure("inject", "inject", "--stdin", stdin=start)
        measure_later_saves(bench, session)
        bench.measure("search", "search", "--all-projects", japanese)
        if options.large:
            bench.fill(options.large, options.keep)
            for name, prompt in (("Japanese", japanese), ("English", english), ("unknown", "zzyzx qwerfdsa")):
                row = f"all of {options.large:,} chunks, {name}"
                bench.recall(row, prompt, "--all-projects", goal="≤ 3.5 ×")
    if options.json:
        options.json.write_text(json.dumps(bench.results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
