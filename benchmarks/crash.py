"""Kill Kizami at random instants (`kill -9`) and look at what is left: nothing half-written, nothing lost.

    python benchmarks/crash.py FOLDER [COUNT] [--seed 1] [--keep FOLDER]

FOLDER holds transcripts, at any depth. Each kill stops a process at an instant drawn from the time that it takes
when it is left alone (but for most of the start of the interpreter), notes what it was doing (the database open; within a transaction), and kills it. COUNT (300) is the
number of kills of a hook that saves a transcript with the database open; those before that and those that came too
late are told beside it. A tenth of it each goes to a detached save of all transcripts as one, to `kizami backfill`
with its processes that read ahead, and to `kizami prune`, which rewrites the file.

After each kill a copy of what is left is checked (`PRAGMA integrity_check`, both full-text indexes, everything that
is derived), while the next process meets what the kill left as it is: killed again, or run to its end. Then the
rows must be those of a database that was saved to without interruption. Linux. Exit code 1 when anything differs.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from backfill import ID

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.storage.connection import open_database
from kizami_core.transcript.names import is_compaction_helper
from transcripts import rows

SOUND = IntegrityReport((), ())
READINGS = """
    SELECT path, session_id, offset, size, head, cwd, clock, queue, seen, begun, has_sidechains
    FROM transcripts ORDER BY path
"""
SECONDS = 120  # after which a process hangs
MAX_KILLS = 3  # in a row, before a process may end
HEADINGS = (
    "what is killed",
    "kills",
    "db open",
    "in a transaction",
    "too early",
    "too late",
    "integrity",
    "rows",
)
LINE = "{:<22} {:>6} {:>8} {:>17} {:>10} {:>9} {:>10} {:>6}"


class Store:
    """A data directory of its own, and Kizami's processes that use it."""

    def __init__(self, home, name):
        self._home = home
        self.folder = home / name / "kizami"
        self.database = self.folder / "memory.db"
        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("XDG_", "CLAUDE", "KIZAMI"))
        }
        self._env = env | {"HOME": str(home), "XDG_DATA_HOME": str(self.folder.parent)}

    def start(self, arguments, fields):
        process = subprocess.Popen(
            [sys.executable, "-m", "kizami_cli", *arguments],
            env=self._env,
            cwd=self._home,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        process.stdin.write(json.dumps(fields).encode())
        process.stdin.close()
        return process

    def run(self, arguments, fields):
        """Run a process to its end, which must be a good one; return how long that took."""
        begun = time.perf_counter()
        with self.start(arguments, fields) as process:
            said = process.stderr.read().decode()
            if process.wait(SECONDS) or (arguments[-1] == "--stdin" and said):
                raise SystemExit(f"{arguments} {fields} ended with {process.returncode}: {said}")
        return time.perf_counter() - begun

    def kill(self, arguments, fields, delay):
        """Kill a process after a time; return what it was doing: "early", "open", "transaction" or "late"."""
        with self.start(arguments, fields) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGSTOP)
            doing = self._doing(process.pid)
            process.kill()
            if process.wait(SECONDS) != -signal.SIGKILL:
                doing = "late"
        deadline = time.monotonic() + SECONDS
        while members := group(process.pid):
            if time.monotonic() > deadline:
                raise SystemExit(f"{arguments}: these go on without the one that was killed: {members}")
            time.sleep(0.01)
        return doing

    def _doing(self, pid):
        try:
            opened = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            return "early"
        if str(self.database) not in opened:
            return "early"
        files = {os.stat(path).st_ino for path in self.folder.glob("memory.db*")}
        locks = (line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines())
        held = [
            int(lock[-2])
            for lock in locks
            if lock[3] == "WRITE" and lock[4] == str(pid) and int(lock[5].split(":")[2]) in files
        ]
        # The lock of writers: byte 120 of the shared memory, before there is any the reserved byte of the file.
        return "transaction" if {120, 0x40000001} & set(held) else "open"

    def look_at_copy(self):
        """Return what is wrong with the database as it is, without touching it: nothing, or a report."""
        if not self.database.exists():
            return []
        with tempfile.TemporaryDirectory(dir=self._home) as folder:
            for path in self.folder.glob("memory.db*"):
                if not path.name.endswith("-shm"):
                    shutil.copy2(path, folder)
            with closing(open_database(os.path.join(folder, "memory.db"))) as connection:
                report = check(connection)
                return [] if report == SOUND else [report]

    def contents(self):
        with closing(open_database(str(self.database))) as connection:
            if (report := check(connection)) != SOUND:
                raise SystemExit(f"{self.database} after its end: {report}")
            return rows(connection) | {"readings": connection.execute(READINGS).fetchall()}

    def take_over(self, other):
        """Become a copy of another store."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(other.folder, self.folder)


class Figures:
    """One line of the table."""

    def __init__(self, choose, start, name, wanted):
        self.name = name
        self._wanted = wanted
        self._choose = choose
        self._start = start
        self.doing = dict.fromkeys(("early", "open", "transaction", "late"), 0)
        self.unsound = self.different = 0

    @property
    def hits(self):
        return self.doing["open"] + self.doing["transaction"]

    def is_done(self):
        return self.hits >= self._wanted

    def kill(self, store, command, seconds):
        """Kill a command that takes this long, and look at what is left."""
        doing = store.kill(*command, self._choose.uniform(self._start, seconds))
        self.doing[doing] += 1
        if reports := store.look_at_copy():
            self.unsound += 1
            print(f"{self.name}: unsound after a kill ({doing}): {reports}", flush=True)

    def is_same(self, found, expected, what):
        """Compare the rows after the next process's end with those that an uninterrupted one ends with."""
        if found == expected:
            return True
        self.different += 1
        for table, wanted in expected.items():
            if found[table] == wanted:
                continue
            others = [row for row in found[table] if row not in wanted]
            missing = [row for row in wanted if row not in found[table]]
            print(f"{self.name}: {what}: {table}: {others[:2]} instead of {missing[:2]}"[:2000], flush=True)
        return False

    def show(self):
        kills = sum(self.doing.values())
        doing = self.doing
        figures = (kills, self.hits, doing["transaction"], doing["early"], doing["late"])
        print(LINE.format(self.name, *figures, self.unsound, self.different), flush=True)


def group(leader):
    """Return the processes of a group that have not ended."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, members = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:  # it ended meanwhile
                continue
            if int(members) == leader and state not in "ZX":
                found.append(int(folder.name))
    return found


def hook_fields(path, event, **fields):
    return {
        "hook_event_name": event,
        "transcript_path": str(path),
        "session_id": path.stem,
        "cwd": "/",
        **fields,
    }


def lay_out(source, home):
    """Copy the transcripts to where the client keeps them; return the copies."""
    copies = []
    for original in sorted(source.rglob("*.jsonl")):
        if original.stat().st_size and not is_compaction_helper(str(original)):
            folder = home / ".claude" / "projects" / f"-{len(copies)}"
            if original.parent.name == "subagents":
                folder = folder / original.parents[1].name / "subagents"
            folder.mkdir(parents=True)
            copies.append(folder / original.name)
            copies[-1].write_bytes(original.read_bytes())
            os.utime(copies[-1], (1.7e9 + len(copies), 1.7e9 + len(copies)))
    return copies


def answered_prefix(lines, choose):
    """Return how many lines the client had written when it ran Stop, and the answer that it told; or None.

    The record of the answer, after which a person's prompt or nothing follows, may be missing yet.
    """
    ends = []
    for number, (line, following) in enumerate(zip(lines, [*lines[1:], b"{}"], strict=True)):
        try:
            record, after = json.loads(line), json.loads(following)
            blocks = record["message"]["content"]
            is_end = record["type"] == "assistant" and not record.get("isSidechain")
            is_end = is_end and {block["type"] for block in blocks} == {"text"}
            if is_end and isinstance(after.get("message", {}).get("content", ""), str):
                ends.append((number + choose.randrange(2), blocks[-1]["text"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return choose.choice(ends) if ends else None


def kill_saves(figures, transcripts, home, choose):
    """Kill the hooks that save, over all transcripts, again and again, each time into a new database."""
    while not figures.is_done():
        killed, whole = Store(home, "killed"), Store(home, "whole")
        for store in (killed, whole):
            shutil.rmtree(store.folder, ignore_errors=True)
        for path in choose.sample(transcripts, len(transcripts)):
            save = ["save", "--stdin"]
            end = hook_fields(path, choose.choice(["SessionEnd", ""]))
            seconds = whole.run(save, end)
            data, times = path.read_bytes(), (path.stat().st_atime, path.stat().st_mtime)
            lines = data.splitlines(keepends=True)
            stop = answered_prefix(lines, choose) if choose.random() < 0.5 else None
            if stop is not None:
                path.write_bytes(b"".join(lines[: stop[0]]))
                fields = hook_fields(path, "Stop", last_assistant_message=stop[1])
                for _ in range(choose.randint(1, MAX_KILLS)):
                    figures.kill(killed, (save, fields), seconds)
                if choose.random() < 0.5:
                    killed.run(save, fields)
                path.write_bytes(data)
                os.utime(path, times)
            for _ in range(choose.randint(1, MAX_KILLS)):
                figures.kill(killed, (save, end), seconds)
            killed.run(save, end)
            # After a difference the two go on anew, so that each is counted once.
            if not figures.is_same(killed.contents(), whole.contents(), path) or figures.is_done():
                break


def kill_and_go_on(figures, store, command, seconds, expected):
    """Kill a command a few times in a row, let it end, and begin anew."""
    while not figures.is_done():
        shutil.rmtree(store.folder, ignore_errors=True)
        for _ in range(MAX_KILLS):
            figures.kill(store, command, seconds)
        store.run(*command)
        figures.is_same(store.contents(), expected, command[0])


def kill_prunes(figures, whole, home):
    saved, pruned, killed = Store(home, "saved"), Store(home, "pruned"), Store(home, "killed")
    saved.take_over(whole)
    with closing(open_database(str(saved.database))) as connection:
        times = connection.execute("SELECT created_at FROM chunks ORDER BY created_at").fetchall()
    median = datetime.fromisoformat(times[len(times) // 2][0]).replace(tzinfo=UTC)
    command = (["prune", "--yes", "--older-than", f"{(datetime.now(UTC) - median).days}d"], {})
    pruned.take_over(saved)
    seconds = pruned.run(*command)
    while not figures.is_done():
        killed.take_over(saved)
        figures.kill(killed, command, seconds)
        killed.run(*command)
        figures.is_same(killed.contents(), pruned.contents(), "prune")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="work here and leave everything")
    options = parser.parse_args()
    home = (options.keep or Path(tempfile.mkdtemp(prefix="kizami-crash-"))).resolve()
    try:
        raise SystemExit(run(options, home))
    finally:
        if not options.keep:
            shutil.rmtree(home)


def run(options, home):
    choose = random.Random(options.seed)
    transcripts = lay_out(options.folder, home)
    size = sum(path.stat().st_size for path in transcripts)
    print(f"{len(transcripts)} transcripts, {size / 1e6:.1f} MB, seed {options.seed}")
    print(LINE.format(*HEADINGS), flush=True)
    empty = home / "empty.jsonl"
    empty.touch()
    idle = Store(home, "idle")
    start = min(idle.run(["save", "--stdin"], hook_fields(empty, "Stop")) for _ in range(9))
    figures = partial(Figures, choose, start * 0.85)
    few = -(-options.count // 10)
    saves, detached = figures("hook save", options.count), figures("detached save", few)
    backfills, prunes = figures("backfill", few), figures("prune", few)
    kill_saves(saves, transcripts, home, choose)
    saves.show()

    whole, killed = Store(home, "whole"), Store(home, "killed")
    joined = home / "joined" / "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10.jsonl"
    joined.parent.mkdir()
    joined.write_bytes(b"".join(ID.sub(rb"\1beef\2\3", path.read_bytes()) + b"\n" for path in transcripts))
    shutil.rmtree(whole.folder)
    command = (["save", "--stdin"], hook_fields(joined, "", kizami_finish="1"))
    seconds = whole.run(*command)
    kill_and_go_on(detached, killed, command, seconds, whole.contents())
    detached.show()

    shutil.rmtree(whole.folder)
    command = (["backfill", "--workers", "2"], {})
    seconds = whole.run(*command)
    kill_and_go_on(backfills, killed, command, seconds, whole.contents())
    backfills.show()

    kill_prunes(prunes, whole, home)
    prunes.show()
    return int(any(line.unsound or line.different for line in (saves, detached, backfills, prunes)))


if __name__ == "__main__":
    main()
