"""The home that the pages' commands run in: its path as long as the one shown, its sessions ever the same."""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

from claude_mem_databases import ClaudeMem  # noqa: E402 - the path above
from transcripts import Transcript  # noqa: E402 - the path above
from typescript_kizami import database as typescript_database  # noqa: E402 - the path above

SHOWN = "/home/dev"
_LETTERS = "bcdfghjklmnpqrstvwxz"  # of which no word is made
_DEPLOYMENT = (
    "Run `make deploy-staging`: it builds the image, pushes it with the commit as its tag, migrates the "
    "database and restarts the pods one after another. `make rollback-staging` goes back to the image before."
)
NOW = datetime(2026, 11, 4, 9, 30, tzinfo=UTC)


def make_home() -> str:
    """Create an empty folder whose path has as many characters as ``SHOWN``, so that lines wrap alike.

    It lies in /tmp whatever TMPDIR says, and is the same to the search whatever it is called.
    """
    while True:
        path = "/tmp/" + "".join(random.choices(_LETTERS, k=len(SHOWN) - len("/tmp/")))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        return path


def write_transcripts(home: str) -> None:
    """Write what Claude Code would have left of some weeks' work, with the times of that work."""
    for transcript in (*_sessions(home), _demo_session(home)):
        folder = Path(home, ".claude", "projects", transcript.cwd.replace(home, SHOWN).replace("/", "-"))
        path = transcript.write(folder)
        last = json.loads(transcript.lines[-1]).get("timestamp") or "2026-11-02T01:15:00Z"
        moment = datetime.fromisoformat(last).timestamp()
        os.utime(path, (moment, moment))
        os.makedirs(transcript.cwd, exist_ok=True)


def write_foreign_memories(home: str) -> None:
    """Write a database of claude-mem and one of the TypeScript Kizami."""
    moment = int(datetime(2026, 10, 11, 9, 0, tzinfo=UTC).timestamp())
    os.makedirs(os.path.join(home, ".claude-mem"), exist_ok=True)
    theirs = ClaudeMem(os.path.join(home, ".claude-mem", "claude-mem.db"))
    for number, (project, title) in enumerate(
        (
            ("shiori", "Photos are scaled by libvips"),
            ("notes", "Notes are searched by trigrams"),
            ("old-client", "納品物は月末に zip でまとめる"),
        )
    ):
        theirs.session(f"theirs-{number}", project, at=moment + 60 * number)
        theirs.prompt(f"theirs-{number}", f"{title}?", at=moment + 60 * number)
        theirs.observation(f"theirs-{number}", title, project=project, at=moment + 60 * number)
    notes = os.path.join(home, "notes")
    os.mkdir(notes)
    first = "[User]\nWhere are the notes?\n\n[Assistant]\nIn ~/notes, as Markdown."
    second = "[User]\nタグはどう付ける？\n\n[Assistant]\n先頭の行に #tag の形で。"
    chunks = [
        ("ts-1", notes, 0, first, "2026-10-12 10:00:00"),
        ("ts-1", notes, 1, second, "2026-10-12 10:05:00"),
    ]
    theirs_too = os.path.join(home, "kizami-ts.db")
    typescript_database(theirs_too, chunks, ended_at="2026-10-12T10:05:00.000Z")


def _demo_session(home: str) -> Transcript:
    text = files("kizami_cli").joinpath("data", "demo_session.jsonl").read_text(encoding="utf-8")
    transcript = Transcript("5b1f0c6e-8d3a-4c57-9a41-2e7d60b3f918", cwd=f"{home}/shiori")
    for line in text.rstrip("\n").split("\n"):
        transcript.raw(line.replace(SHOWN, home))
    return transcript


def _sessions(home: str) -> list[Transcript]:
    shiori, mail = f"{home}/shiori", f"{home}/mail"
    limits = Transcript(
        "d2f6e917-30c5-4b8e-9f02-714ad5c863be", cwd=shiori, begin=datetime(2026, 10, 9, 5, 0, tzinfo=UTC)
    )
    limits.ask("How do we deploy to staging?", uuid="71a6e0c4-0b2d-4f19-8e35-c90d1a7b2f60")
    limits.answer(_DEPLOYMENT)
    limits.ask("セッションの有効期限は何分にする？", uuid="0e3c9f58-6d21-4a7b-b8c4-52f7d1093ae6")
    limits.answer(
        "30分にします。無操作で30分、延長しても最長12時間です。"
        "値は src/config/session.ts の SESSION_MINUTES で、本番だけ環境変数で上書きできます。"
    )
    again = Transcript(
        "a41c08b3-95e7-4d60-8b1f-e63f0927c5d4", cwd=shiori, begin=datetime(2026, 10, 14, 7, 30, tzinfo=UTC)
    )
    again.ask("How do we deploy to staging again?", uuid="b58d13f2-47e0-4c96-a1d8-0f6e29c47b83")
    again.answer(f"{_DEPLOYMENT} Watch it with `kubectl -n staging get pods`.")
    types = Transcript(
        "3e7a51d0-c84f-4926-9d3b-1f58a0e76c29", cwd=shiori, begin=datetime(2026, 10, 22, 1, 10, tzinfo=UTC)
    )
    types.ask("The build fails in UploadForm, please fix it.", uuid="f4092c7d-1e68-4b35-87a9-d3c05e816fb2")
    types.call("toolu_1", "Bash", command="npm run build")
    types.result(
        "toolu_1",
        "src/UploadForm.tsx(41,7): error TS2322: Type 'string | null' is not assignable to type 'string'.",
        is_error=True,
    )
    types.answer("`value` may be null before a file is chosen; the input wants a string.")
    types.call("toolu_2", "Edit", file_path=f"{shiori}/src/UploadForm.tsx", old_string="value={name}",
               new_string='value={name ?? ""}')  # fmt: skip
    types.result("toolu_2", f"The file {shiori}/src/UploadForm.tsx has been updated.")
    types.call("toolu_3", "Bash", command="npm run build")
    types.result("toolu_3", "built in 4.2s")
    types.answer('Fixed: `value={name ?? ""}` in src/UploadForm.tsx. The build passes.')
    relay = Transcript(
        "9d40c2aa-1b7e-4f35-8c90-6a2f51e7b0d4", cwd=mail, begin=datetime(2026, 11, 3, 2, 0, tzinfo=UTC)
    )
    relay.ask(
        "Sending mails fails with 535, why? <private>It is for Aoba Dental.</private>\n"
        "SMTP_USER=robot\nSMTP_PASSWORD=tr0ub4dor-and-3",
        uuid="6c1b7e90-25fa-4d83-9b06-e8a4f3d7150c",
    )
    relay.answer(
        "535 is a refused login: the relay wants the full address as user name, so SMTP_USER must be "
        "robot@example.com and not robot."
    )
    return [limits, again, types, relay]
