"""Many savers and recallers at once on one database: errors, lost turns, and how long a recall takes then.

    python benchmarks/concurrency.py [--savers 16] [--recallers 16] [--rounds 100] [--chunks 20000]

Each round starts that many hooks at the same moment, each a process of its own (`kizami … --stdin`): every saver
tells of its own session, which got one more turn, of one that several share, or of a fork of its own; every recaller
asks for a decision that was saved before. Beforehand the database holds generated memories. After each round every
turn that a hook was told of must be stored once, with its answer; at the end the rows must be those of one process
that saved every session once. Times are from the start of a process to its end; `recall alone` has as many processes
at once, none of which saves. Exit code 1 for an error, a lost turn or a difference.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from generated_memory import generate

from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.storage.connection import open_database

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from busy_sessions import BusySessions, run_hooks
from transcripts import rows

ALONE_ROUNDS = 5


def percentiles(name, seconds):
    ordered = sorted(seconds)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    print(f"{name:<22} {len(ordered):>6} {statistics.median(ordered) * 1e3:>8.0f} {p95 * 1e3:>8.0f}")


def faults(results):
    return [(done.code, done.err) for done in results if done.code or done.err]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--savers", type=int, default=16)
    parser.add_argument("--recallers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--chunks", type=int, default=20_000, help="of generated memories beforehand")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="kizami-concurrency-"))
    try:
        raise SystemExit(run(options, home))
    finally:
        shutil.rmtree(home)


def run(options, home):
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "CLAUDE", "KIZAMI"))
    }
    env |= {"HOME": str(home)}
    data = home / ".local" / "share" / "kizami"
    connection, _ = generate(str(data / "memory.db"), options.chunks)
    connection.close()
    sessions = BusySessions(home / "transcripts", options.savers)
    errors, recalls, saves, lost = [], [], [], 0
    asked = answered = 0
    for _ in range(2):  # so that there is something to ask for
        beforehand = [("save", fields) for fields in sessions.grow()]
        errors += faults(run_hooks(beforehand, env, meanwhile=sessions.finish_writing))
    for _ in range(options.rounds):
        questions = sessions.questions(options.recallers)
        savers = [("save", fields) for fields in sessions.grow()]
        recallers = [("recall", fields) for fields, _ in questions]
        done = run_hooks(savers + recallers, env, meanwhile=sessions.finish_writing)
        errors += faults(done)
        saves += [result.seconds for result in done[: len(savers)]]
        recalls += [result.seconds for result in done[len(savers) :]]
        asked += len(questions)
        answered += sum(
            answer in result.out for (_, answer), result in zip(questions, done[len(savers) :], strict=True)
        )
        with closing(sqlite3.connect(data / "memory.db")) as connection:
            lost += len(sessions.lost(connection))

    def ask(number):
        return run_hooks([("recall", fields) for fields, _ in sessions.questions(number)], env)

    alone = [ask(options.savers + options.recallers) for _ in range(ALONE_ROUNDS)]
    single = [ask(1) for _ in range(ALONE_ROUNDS * 4)]
    for fields in sessions.end():
        errors += faults(run_hooks([("save", fields)], env))
    with closing(open_database(str(data / "memory.db"))) as connection:
        report = check(connection)
        # The generated memories have no turns.
        connection.execute("DELETE FROM chunks WHERE turn_id IS NULL")
        connection.execute("DELETE FROM sessions WHERE session_id NOT IN (SELECT session_id FROM turns)")
        is_same = rows(connection) == sessions.rows_of_one_saver(home / "once.db")

    print(
        f"{options.savers} savers, {options.recallers} recallers, {options.rounds} rounds, {os.cpu_count()} cores"
    )
    print(f"{'ms':<22} {'runs':>6} {'p50':>8} {'p95':>8}")
    percentiles("recall", recalls)
    percentiles("save", saves)
    percentiles("recall alone", [result.seconds for results in alone for result in results])
    percentiles("recall, one at a time", [result.seconds for (result,) in single])
    log = data / "error.log"
    logged = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    print(f"errors: {len(errors)}; lines in error.log: {len(logged)}")
    print("\n".join(sorted({err.strip() for _, err in errors} | set(logged))[:5]))
    print(f"turns told of: {len(sessions.told)}; lost: {lost}; questions: {asked}, answered: {answered}")
    print(f"integrity: {report}; rows as of one saver: {is_same}")
    return int(bool(errors or logged or lost or not is_same or report != IntegrityReport((), ())))


if __name__ == "__main__":
    main()
