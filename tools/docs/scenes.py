"""Scenes of ordinary days, for the pages on commands, settings, privacy and import."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from hybrid_scenes import install_model
from sample_home import NOW, write_foreign_memories, write_transcripts
from terminal import Terminal

from kizami_core.paths import default_database_path
from kizami_core.storage.schema import apply_migration

_NEW_SESSION = "c07e93d2-41b5-4f86-b2aa-95d1e8f3604c"
_PROMPTS = (
    "アップロードのエラー、前に何が原因だったっけ？",
    "Why did we decide against Redis for the mail queue?",
    "週末の東京の天気を教えて",
    "続けて",
)


def _first_day(terminal: Terminal) -> None:
    write_transcripts(terminal.home)
    terminal.show("demo", ("kizami demo", ":7 -26:"))
    terminal.show("setup", "kizami setup", answers="y\ny\n")
    terminal.show("setup status", "kizami setup --status")
    terminal.show("doctor", "kizami doctor")
    os.mkdir(os.path.join(terminal.home, ".zfunc"))
    terminal.show("completion", "kizami completion zsh > ~/.zfunc/_kizami", "head -n 3 ~/.zfunc/_kizami")
    terminal.show("setup uninstall", "kizami setup --uninstall")


def _settled(terminal: Terminal) -> None:
    """Bring a home to where it stands after some weeks: all saved, and some prompts sent."""
    terminal.set_up()
    for number, prompt in enumerate(_PROMPTS):
        terminal.at(NOW - timedelta(minutes=len(_PROMPTS) - number))
        terminal.send(prompt, _NEW_SESSION)
    terminal.at(NOW)


def _daily_use(terminal: Terminal) -> None:
    _settled(terminal)
    terminal.show("search", "kizami search 'mail queue' --limit 2")
    terminal.show("search one", ("kizami search 'mail queue' --limit 1", ":5"))
    terminal.show("search phrase", "kizami search '\"SKIP LOCKED\" queue'")
    terminal.show("search filters", "kizami search --role user --since 30d --limit 2")
    terminal.show("list", "kizami list", "kizami list --all-projects --limit 2")
    terminal.show("list all", "kizami list --all-projects --limit 3")
    terminal.show("show", "kizami show 9d40", "kizami show 3e7a")
    terminal.show("resolutions", "kizami resolutions TS2322")
    terminal.show("stats", "kizami stats")
    terminal.show("recall", "kizami recall 'Why did we decide against Redis for the mail queue?'")
    terminal.show("recall uploads", "kizami recall 'アップロードのエラー、前に何が原因だったっけ？'")
    terminal.show("inject", "kizami inject")
    terminal.show("why", "kizami why --prompt 'Why did we decide against Redis for the mail queue?'")
    terminal.show("why last", "kizami why")
    terminal.show("calibrate", ("kizami calibrate", ":7 14:22"))


def _tidying(terminal: Terminal) -> None:
    _settled(terminal)
    terminal.show("mark", "kizami mute 4", "kizami pin 3")
    terminal.show("mute", "kizami mute 6", "kizami mute", "kizami mute 6 --undo")
    terminal.show("pin", "kizami pin 3", "kizami pin")
    terminal.show(
        "edit",
        "kizami edit 5 --content '結合テストのデータベースは compose の db-test サービス(ポート 5433)。'",
    )
    terminal.show("merge", "kizami merge --dry-run", "kizami merge --yes")
    terminal.show("prune", "kizami prune --older-than 20d --dry-run")
    terminal.show(
        "delete",
        "kizami delete --session 9d40 --dry-run",
        "kizami delete --session 9d40 --yes",
        "kizami backfill",
    )
    terminal.show(
        "forget",
        "kizami forget --matching 'skip locked' --dry-run",
        ("kizami forget --matching 'skip locked' --yes", "6:7"),
        "kizami search '\"skip locked\"'",
    )


def _settings(terminal: Terminal) -> None:
    terminal.set_up()
    terminal.show("config", "kizami config list")
    terminal.show(
        "config change",
        "kizami config get hooks.minRelevanceScore",
        "kizami config set hooks.minRelevanceScore 0.15",
        "kizami config set hooks.recallLimt 5",
        "kizami config set hooks.recallLimit many",
        "kizami config unset hooks.minRelevanceScore",
        "kizami config path",
    )


def _privacy(terminal: Terminal) -> None:
    write_transcripts(terminal.home)
    terminal.run("kizami setup", answers="y\nn\n")
    path = next(Path(terminal.home, ".claude", "projects").glob("*mail/*.jsonl"))
    stopped = {"hook_event_name": "Stop", "session_id": path.stem, "transcript_path": str(path)}
    os.environ["JSON"] = json.dumps(stopped)
    terminal.show(
        "disabled",
        'echo "$JSON" | KIZAMI_DISABLE=1 kizami save --stdin',
        "kizami list --all-projects",
        "kizami backfill",
    )
    terminal.run(f"kizami save {path}")
    terminal.show("show private", "kizami show 9d40")
    terminal.show("search private", "kizami search '\"Aoba Dental\"' --all-projects")
    terminal.show(
        "delete by age",
        "kizami delete --before 2026-10-12 --dry-run",
        "kizami prune --older-than 90d --dry-run",
    )
    terminal.show(
        "erase",
        "kizami delete --session 9d40 --dry-run",
        "kizami delete --session 9d40 --yes",
        "kizami backfill",
        "grep -rl 'relay wants' ~/.local/share/kizami",
    )
    terminal.show(
        "erase all",
        ("kizami setup --uninstall", ":0"),
        "rm -r ~/.local/share/kizami ~/.config/kizami",
        "ls ~/.claude",
    )


def _moving(terminal: Terminal) -> None:
    write_transcripts(terminal.home)
    terminal.show("backfill", "kizami backfill --dry-run", "kizami backfill")
    terminal.show("backfill again", "kizami backfill")
    path = next(Path(terminal.home, ".claude", "projects").glob("*mail/*.jsonl"))
    terminal.show("save", f"kizami save {path}".replace(terminal.home, "~"))
    Path(terminal.home, "mail").rename(Path(terminal.home, "mailer"))
    terminal.show("project", "kizami project list", "kizami project rename mail ~/mailer --yes")
    terminal.show("export", "kizami export --output ~/all.jsonl.gz")
    lines = gzip.decompress(Path(terminal.home, "all.jsonl.gz").read_bytes())
    # Not compressed further: so it breaks off at the same line whichever library compresses.
    Path(terminal.home, "cut.jsonl.gz").write_bytes(gzip.compress(lines, 0)[: len(lines) // 2])
    terminal.show("import cut", "XDG_DATA_HOME=~/third kizami import ~/cut.jsonl.gz")
    terminal.show(
        "import",
        "XDG_DATA_HOME=~/other kizami import ~/all.jsonl.gz",
        "XDG_DATA_HOME=~/other kizami import ~/all.jsonl.gz",
    )


def _from_others(terminal: Terminal) -> None:
    terminal.show("no claude-mem", "kizami import-claude-mem --dry-run")
    terminal.show("no typescript", "kizami import-typescript --dry-run")
    terminal.set_up()
    write_foreign_memories(terminal.home)
    terminal.configure({"search": {"mode": "hybrid"}})
    terminal.show("search without model", ("kizami search 'mail queue' --limit 1", ":4"))
    install_model()
    terminal.show("import-claude-mem dry", "kizami import-claude-mem --dry-run")
    terminal.show("import-claude-mem", "kizami import-claude-mem")
    terminal.show("import-claude-mem map", "kizami import-claude-mem --map old-client=~/notes")
    terminal.show(
        "import-typescript",
        "kizami import-typescript --source ~/kizami-ts.db --dry-run",
        "kizami import-typescript --source ~/kizami-ts.db",
    )
    terminal.show("embed", "kizami embed --dry-run")
    terminal.show("embedder", "kizami embedder status")


def _carried_on(terminal: Terminal) -> None:
    """Find a database of the first TypeScript Kizami, whose tables are those of Kizami's first schema."""
    path = default_database_path(os.environ)
    os.makedirs(os.path.dirname(path), 0o700)
    with closing(sqlite3.connect(path)) as connection, connection:
        apply_migration(connection, 1)
        connection.execute(
            "INSERT INTO sessions(session_id, project_path, ended_at) VALUES (?, ?, '2026-10-12 10:05:00')",
            ("ts-1", os.getcwd()),
        )
        connection.execute(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
            " VALUES (?, ?, 0, '[User]\nWhere are the notes?', 'human', '2026-10-12 10:00:00')",
            ("ts-1", os.getcwd()),
        )
    terminal.show("setup carries on", ("kizami setup --yes", "5:9"))


ORDINARY = (_first_day, _daily_use, _tidying, _settings, _privacy, _moving, _from_others, _carried_on)
