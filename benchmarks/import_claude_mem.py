"""An import of a claude-mem database as `kizami import-claude-mem` does it: rows a second, and peak memory.

    python benchmarks/import_claude_mem.py [--observations 50000]

The database is generated: sessions of 25 observations of about 770 characters, half of them Japanese, with five
prompts and a summary each, in 20 projects. `again` imports the same database once more, which adds nothing.
Each import is a process of its own; its peak is that of the resident set.
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

SESSION = 25
PROMPT = 5
START = 1_770_000_000_000  # ms
WORDS = (
    "認証 検索 索引 キャッシュ 接続 プール のテスト を直した ため 方法 設定 token race lock schema migrate index latency "
    "queue worker retry timeout deploy rollback login session cursor buffer thread src/app.py src/db/pool.py config.toml"
).split()
SCHEMA = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT,
  user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,
  subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,
  created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, learned TEXT,
  completed TEXT, next_steps TEXT, prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT,
  created_at TEXT, created_at_epoch INTEGER);
CREATE INDEX o ON observations(memory_session_id);
CREATE INDEX s ON session_summaries(memory_session_id);
CREATE INDEX p ON user_prompts(content_session_id);
"""
IMPORT = """
import json, os, resource, sys, time
from contextlib import closing
from kizami_core.config import Config
from kizami_core.storage.connection import open_database
from kizami_import import Folders, import_claude_mem
source, database = sys.argv[1:]
with closing(open_database(database)) as connection:
    connection.execute("PRAGMA cache_size = -65536")  # as the command does
    begun, cpu = time.monotonic(), time.process_time()
    report = import_claude_mem(connection, source, folders=Folders(connection, "/nowhere"),
                               config=Config(database_path=database), now=time.time())
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([sum(report.imported.values()), sum(report.known.values()), seconds, cpu, peak]))
"""


def words(count):
    return "".join(random.choice(WORDS) + random.choice([" ", "", "、", "。"]) for _ in range(count))


def generate(path, observations):
    random.seed(7)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SCHEMA)
        for number in range(observations):
            session, place = divmod(number, SESSION)
            project, moment, prompt = f"project{session % 20}", START + number * 60_000, 1 + place // PROMPT
            if place == 0:
                connection.execute(
                    "INSERT INTO sdk_sessions VALUES (NULL, ?, ?, ?, NULL, '', ?)",
                    (f"c{session}", f"m{session}", project, moment),
                )
                connection.execute(
                    "INSERT INTO session_summaries VALUES (NULL, ?, ?, ?, ?, ?, ?, 1, '', ?)",
                    (f"m{session}", project, words(8), words(15), words(15), words(8), moment),
                )
            if place % PROMPT == 0:
                connection.execute(
                    "INSERT INTO user_prompts VALUES (NULL, ?, ?, ?, '', ?)",
                    (f"c{session}", prompt, words(12), moment),
                )
            facts = json.dumps([words(10) for _ in range(4)], ensure_ascii=False)
            connection.execute(
                "INSERT INTO observations VALUES (NULL, ?, ?, NULL, 'bugfix', ?, ?, ?, ?, '[\"gotcha\"]', ?, ?, ?, '', ?)",
                (f"m{session}", project, f"{number} {words(6)}", words(6), facts, words(60),
                 f'["src/m{number % 300}.py"]', f'["src/n{number % 300}.py"]', prompt, moment),
            )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--observations", type=int, default=50_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, database = Path(folder, "claude-mem.db"), Path(folder, "memory.db")
        generate(source, arguments.observations)
        print(f"source {source.stat().st_size / 1e6:.0f} MB")
        print(f"{'':<8}{'imported':>9}{'known':>9}{'s':>8}{'cpu s':>8}{'rows/s':>8}{'peak MB':>9}")
        for name in ("first", "again"):
            done = subprocess.run(
                [sys.executable, "-c", IMPORT, str(source), str(database)],
                check=True,
                capture_output=True,
                env=os.environ | {"HOME": folder},
            )
            imported, known, seconds, cpu, peak = json.loads(done.stdout)
            rate = (imported + known) / seconds
            print(
                f"{name:<8}{imported:>9,}{known:>9,}{seconds:>8.1f}{cpu:>8.1f}{rate:>8.0f}{peak:>9.0f}",
                flush=True,
            )
        print(f"memory.db {database.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
