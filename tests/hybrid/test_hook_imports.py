"""What the hooks import of this package: a bound on their time that needs no clock."""

import json
import os
import subprocess
import sys
from pathlib import Path

from memories import PROJECT

SCRIPT = """
import os, sys, time
before = set(sys.modules)
from kizami_hybrid.resident.client import begin_search, wake
from kizami_hybrid.settings import load_settings
settings, _ = load_settings(sys.argv[1], os.environ)
settings = settings.replace(model="owner/ruri-v3-small", dimensions=16)
options = {"database": sys.argv[2], "project": None, "limit": 5, "now": time.time()}
pending = begin_search(settings, os.environ, "記憶", **options)
assert pending.problem == "", pending.problem
assert (pending.hits(time.monotonic() + 60) is None) is (sys.argv[3] == "absent")
pending.close()
assert wake(settings, os.environ, sys.argv[2], time.time()) == ""
print(*sorted(set(sys.modules) - before))
"""
OURS = {"errors", "manifest", "resident", "resident.channel", "resident.client", "resident.endpoint"} | {
    "resident.protocol",
    "settings",
}
CORE = {"errors", "config", "json_text", "messages", "paths", "records"}
STARTING = {"kizami_core.processes", "kizami_hybrid.resident.starting"}


HOOK = """
import os, sys
before = set(sys.modules)
real_exit = os._exit
def report(code):
    print(*sorted(set(sys.modules) - before), file=sys.stderr, flush=True)
    real_exit(code)
os._exit = report
sys.argv = ["kizami", "recall", "--stdin"]
from kizami_cli.__main__ import main
main()
"""


def imported(home, state):
    arguments = [sys.executable, "-S", "-c", SCRIPT, "absent.json", home.database, state]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        arguments,
        env=home.env | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def expected(*others):
    packages = {"__future__", "kizami_core", "kizami_hybrid", *others}
    return packages | {f"kizami_core.{name}" for name in CORE} | {f"kizami_hybrid.{name}" for name in OURS}


def test_hook_that_is_answered_imports_a_socket_and_the_scanner(home):
    home.start()
    assert imported(home, "answered") - {"_json"} == expected("_socket")


def test_hook_that_starts_the_process_imports_what_starts_it_instead_of_a_socket(home):
    assert imported(home, "absent") - {"_json"} == expected(*STARTING) - {"kizami_hybrid.resident.channel"}


def modules_of_recall(home, mode):
    config = Path(home.env["HOME"], ".config", "kizami", "config.json")
    config.parent.mkdir(parents=True, exist_ok=True)
    embedding = {"model": home.settings.model, "dimensions": home.settings.dimensions}
    fields = {"database": {"path": home.database}, "search": {"mode": mode}, "embedding": embedding}
    config.write_text(json.dumps(fields), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{HOOK}"],
        input=json.dumps({"prompt": "監査ログの保存先", "session_id": mode, "cwd": PROJECT}).encode(),
        env=home.env,
        capture_output=True,
        check=False,
    )
    assert done.stdout
    return set(done.stderr.decode().split())


def test_recall_in_hybrid_mode_imports_a_socket_and_a_few_modules_more_than_in_core_mode(home):
    home.book.add("監査ログの保存先は？", "S3 です。")
    home.start()
    more = modules_of_recall(home, "hybrid") - modules_of_recall(home, "core")
    ours = {f"kizami_hybrid.{name}" for name in OURS | {"backend", "fusion", "relevance"}}
    assert more == {"_socket", "kizami_cli.backends", "kizami_hybrid", *ours}
