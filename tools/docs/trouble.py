"""Scenes in which something is wrong, for the page on troubleshooting."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

from sample_home import NOW
from terminal import FINDINGS, LAST_PART, Terminal

from kizami_core.paths import default_database_path, error_log_path

_SETTINGS = ".claude/settings.json"
_WEATHER = "週末の東京の天気を教えて"


def _hooks(terminal: Terminal) -> None:
    terminal.set_up()
    path = Path(terminal.home, _SETTINGS)
    installed = path.read_text(encoding="utf-8")
    path.write_text("{}", encoding="utf-8")
    terminal.show("hooks missing", ("kizami doctor", FINDINGS))
    path.write_text(json.dumps({"disableAllHooks": True, **json.loads(installed)}), encoding="utf-8")
    terminal.show("hooks off", ("kizami doctor", FINDINGS))
    path.write_text(installed.replace("/.local/bin/kizami save", "/old/bin/kizami save"), encoding="utf-8")
    terminal.show("hooks moved", ("kizami doctor", FINDINGS))
    terminal.show("no prompt", "kizami why")
    path.write_text('{"hooks": {},}', encoding="utf-8")
    terminal.show("settings broken", "kizami setup")


def _silence(terminal: Terminal) -> None:
    terminal.set_up()
    terminal.show("nothing fits", f"kizami recall '{_WEATHER}'", f"kizami why --prompt '{_WEATHER}'")
    terminal.configure({"hooks": {"autoRecall": False}})
    terminal.send(
        "Why did we decide against Redis for the mail queue?", "c07e93d2-41b5-4f86-b2aa-95d1e8f3604c"
    )
    terminal.show("recall off", ("kizami why", ":1"))
    terminal.configure({"hooks": {"minRelevanceScore": "high", "recallLimt": 5}, "serch": {"mode": "core"}})
    terminal.show("configuration wrong", ("kizami doctor", FINDINGS))


def _unsaved(terminal: Terminal) -> None:
    terminal.set_up()
    source = next(Path(terminal.home, ".claude", "projects").glob("*mail/*.jsonl"))
    text = source.read_text(encoding="utf-8")
    copy = source.with_name("e81f3b70-6a5d-4c92-8e14-b90d27c5f3a6.jsonl")
    for old, new in ((source.stem, copy.stem), ("6c1b7e90", "7d2c8fa1"), ("2026-11-03", "2026-10-06")):
        text = text.replace(old, new)
    copy.write_text(text, encoding="utf-8")
    moment = (NOW - timedelta(days=29)).timestamp()
    os.utime(copy, (moment, moment))
    terminal.show("not saved", ("kizami doctor", FINDINGS), "kizami backfill")


def _old(terminal: Terminal) -> None:
    terminal.set_up()
    terminal.configure({"maintenance": {"maxChunkAgeDays": 20}})
    terminal.at(NOW + timedelta(days=2))
    path = next(Path(terminal.home, ".claude", "projects").glob("*mail/*.jsonl"))
    ended = {"session_id": path.stem, "transcript_path": str(path), "cwd": f"{terminal.home}/mail"}
    terminal.hook("save", json.dumps({"hook_event_name": "SessionEnd", **ended}))
    terminal.show(
        "maintenance took", ("kizami stats", LAST_PART), "kizami import ~/.local/share/kizami/archive"
    )
    terminal.at(NOW)
    Path(terminal.home, "mail").rename(Path(terminal.home, "mailer"))
    terminal.show("rename dry", "kizami project rename mail ~/mailer --dry-run")


def _damage(terminal: Terminal) -> None:
    terminal.set_up()
    database = Path(default_database_path(os.environ))
    pages = bytearray(database.read_bytes())
    pages[:4096] = bytes(4096)
    database.write_bytes(pages)
    terminal.show("damaged", "kizami search redis", ("kizami doctor", FINDINGS))
    terminal.send("Why did we decide against Redis?", "c07e93d2-41b5-4f86-b2aa-95d1e8f3604c")
    log = error_log_path(os.environ)
    terminal.show("damaged log", f"tail -n 1 {log}".replace(terminal.home, "~"))
    terminal.show(
        "rescue",
        "kizami export --format json > ~/kizami-rescue.json",
        "mv ~/.local/share/kizami/memory.db ~/.local/share/kizami/memory.db.damaged",
        ("kizami setup --yes", ":2 -2:"),
    )


def _disk(terminal: Terminal) -> None:
    terminal.set_up()
    terminal.free_bytes = 200_000
    terminal.show("disk full", ("kizami doctor", FINDINGS))
    terminal.free_bytes = 64_000_000_000
    Path(default_database_path(os.environ)).parent.chmod(0o755)
    terminal.show("open to others", ("kizami doctor", FINDINGS), ("kizami doctor --repair", ":3"))


TROUBLE = (_hooks, _silence, _unsaved, _old, _damage, _disk)
