"""Backfill a large Claude Code history: MB/s, chunks/s, peak memory, and an interruption half-way.

python benchmarks/backfill.py FOLDER [--megabytes 1000] [--workers 0 --workers 2] [--keep FOLDER]

FOLDER holds transcripts, at any depth. They are copied with fresh ids into a temporary home, laid out as the
client does, until the wanted size is reached. `kizami backfill` saves them once for each number of workers. Then
it begins anew, gets SIGINT half-way as from a terminal, and runs again to the end: the rows must be the same.
Peak memory is that of all its processes together (proportional set size, Linux).
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

# The ids that tell records apart, and those that they refer to each other by.
ID = re.compile(
    rb'("(?:uuid|parentUuid|logicalParentUuid|leafUuid|sourceToolAssistantUUID)" ?: ?")([^"\\]+)(")'
)
SESSIONS_PER_PROJECT = 12
# Without row numbers: the order of writing is none of the contents.
ROWS = {
    "turns": "SELECT uuid, session_id, started_at, text_length, is_locked FROM turns ORDER BY uuid",
    "chunks": """
        SELECT c.session_id, c.chunk_index, c.project_path, c.content, c.role, c.metadata, c.created_at, c.token_count,
               c.is_agent, t.uuid
        FROM chunks c LEFT JOIN turns t ON t.id = c.turn_id ORDER BY c.session_id, c.chunk_index
    """,
    "sessions": "SELECT * FROM sessions ORDER BY session_id",
    "transcripts": "SELECT path, session_id, offset, size, head FROM transcripts ORDER BY path",
    "words": "SELECT term, doc FROM temp.words WHERE term < char(0xE000) OR term > char(0xE001) ORDER BY term",
}
SAMPLE_SECONDS = 0.1


def multiply(source, projects, wanted_bytes):
    """Copy the transcripts of a folder with fresh ids until the wanted size is reached; return bytes and files."""
    originals = [
        (path.relative_to(source), path.read_bytes(), "agent-" in path.name or "subagents" in path.parts)
        for path in sorted(source.rglob("*.jsonl"))
    ]
    written = files = 0
    while written < wanted_bytes:
        name, data, is_agent = originals[files % len(originals)]
        copy = files // len(originals)
        mark = f"{copy:04x}".encode()
        data = ID.sub(lambda found, mark=mark: found[1] + mark + found[2][4:] + found[3], data)
        session = fresh_id(f"{name} {copy}")
        folder = projects / f"-home-dev-project-{files // SESSIONS_PER_PROJECT}"
        if is_agent:
            target = folder / fresh_id(f"parent {copy}") / "subagents" / f"agent-{session[:17]}.jsonl"
        else:
            target = folder / f"{session}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        os.utime(target, (1.7e9 + files, 1.7e9 + files))
        written += len(data)
        files += 1
    return written, files


def fresh_id(text):
    digits = hashlib.sha256(text.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


class Backfill:
    """One run of `kizami backfill` into a database of its own: its report, seconds, peak megabytes, exit code."""

    def __init__(self, home, name, *, workers, interrupt_at=""):
        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("XDG_", "CLAUDE", "KIZAMI"))
        }
        env |= {
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / name),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        }
        command = [sys.executable, "-m", "kizami_cli", "backfill", "--json", "--workers", str(workers)]
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        self.peak_mb = 0.0
        watch = threading.Thread(target=self._watch, args=(process,))
        watch.start()
        lines = []
        for line in process.stderr:
            lines.append(line.strip())
            if interrupt_at and interrupt_at in line:
                os.killpg(process.pid, signal.SIGINT)
        out = process.stdout.read()
        self.code = process.wait()
        self.seconds = time.perf_counter() - begun
        watch.join()
        self.last_line = lines[-1] if lines else ""
        self.report = json.loads(out) if out else {}
        self.database = home / name / "kizami" / "memory.db"
        if self.code not in ((0, 130) if interrupt_at else (0,)):
            raise SystemExit(f"exit code {self.code}: {lines[-5:]}")

    def _watch(self, process):
        while process.poll() is None:
            self.peak_mb = max(self.peak_mb, family_mb(process.pid))
            time.sleep(SAMPLE_SECONDS)


def family_mb(group):
    """Return the megabytes of all processes of a process group."""
    total = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if os.getpgid(int(folder.name)) == group:
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:  # it ended meanwhile
            continue
    return total / 1024


def contents(path):
    """Return for each table how many rows it has, and a digest of them."""
    found = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, chunks_words, row)")
        for name, query in ROWS.items():
            digest = hashlib.sha256()
            rows = 0
            for row in connection.execute(query):
                digest.update(repr(row).encode("utf-8", "replace"))
                rows += 1
            found[name] = (rows, digest.hexdigest()[:16])
        found["integrity"] = connection.execute("PRAGMA integrity_check").fetchall()
        for table in ("chunks_fts", "chunks_words"):
            connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--workers", type=int, action="append", help="default: 0 and 2")
    parser.add_argument("--keep", type=Path, help="work here and leave everything")
    options = parser.parse_args()
    # Started in the background, this process ignores SIGINT, and what it starts would, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    home = options.keep or Path(tempfile.mkdtemp(prefix="kizami-backfill-"))
    try:
        run(options, home)
    finally:
        if not options.keep:
            shutil.rmtree(home)


def run(options, home):
    size, files = multiply(options.folder, home / ".claude" / "projects", options.megabytes * 1e6)
    print(
        f"{size / 1e6:,.0f} MB in {files:,} transcripts; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    row = "{:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8} {:>7}"
    print(row.format("workers", "seconds", "MB/s", "turns", "chunks", "chunks/s", "peak MB", "db MB"))
    workers = options.workers or [0, 2]
    for number in workers:
        whole = Backfill(home, f"whole-{number}", workers=number)
        report = whole.report
        figures = (
            f"{whole.seconds:.1f}",
            f"{size / 1e6 / whole.seconds:.1f}",
            f"{report['turns_written']:,}",
            f"{report['chunks_written']:,}",
            f"{report['chunks_written'] / whole.seconds:,.0f}",
            f"{whole.peak_mb:.0f}",
            f"{whole.database.stat().st_size / 1e6:.0f}",
        )
        print(row.format(number, *figures), flush=True)
    first = Backfill(home, "interrupted", workers=workers[-1], interrupt_at="50 %")
    print(f"interrupted after {first.seconds:.1f} s: exit code {first.code}, {first.last_line!r}", flush=True)
    second = Backfill(home, "interrupted", workers=workers[-1])
    print(f"carried on in {second.seconds:.1f} s: {second.report['turns_written']:,} turns more")
    expected, found = contents(whole.database), contents(second.database)
    for name, value in expected.items():
        print(f"{name}: {value} {'same' if found[name] == value else f'DIFFERENT: {found[name]}'}")
    if expected != found:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
