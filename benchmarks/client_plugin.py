#!/usr/bin/env python3
"""Prove the plugin with the real Claude Code client, alone and beside the hooks of `kizami setup`.

    python benchmarks/client_plugin.py TOOLS CLIENT [KIZAMI] [--keep FOLDER]

Arguments, figures and exit code are those of `client_lab.py`. The plugin is installed from this repository, as
`/plugin marketplace add` and `/plugin install` do it; KIZAMI is found as uv and pipx install it, by a link in
`~/.local/bin`.
"""

import json
from collections import Counter
from pathlib import Path

from client_lab import BLOCK, DECISIONS, OVERVIEW, found, main

ROOT = Path(__file__).resolve().parents[1]
REFUSALS = ("approval", "permission", "can't be checked before it runs")
DECISION, QUESTION = DECISIONS["Japanese"]


def link(lab):
    """Put the program where uv and pipx put it, which is not on the client's PATH."""
    program = lab.home / ".local/bin/kizami"
    program.parent.mkdir(parents=True)
    program.symlink_to(lab.command)


def install(lab):
    lab.client("plugin", "marketplace", "add", ROOT)
    lab.client("plugin", "install", "kizami@kizami")


def converse(lab, check, *arguments):
    """Decide something in one session and ask about it in the next; look at the request and the rows."""
    lab.ask(DECISION, *arguments)
    _, _, requests = lab.ask(QUESTION, *arguments)
    blocks = [block for _, _, block in found(BLOCK, requests[-1])]
    check("the request holds one memory block", len(blocks) == 1, f"{len(blocks)} blocks")
    check("the block holds the decision", any(DECISION in block for block in blocks))
    overviews = found(OVERVIEW, requests[-1])
    check("and one overview", len(overviews) == 1, f"{len(overviews)} overviews")
    rows = len(lab.chunks())
    check("one row for each turn", rows == 2 and lab.turns_of([DECISION, QUESTION]) == [1, 1], f"{rows} rows")
    answers = sum("回答" in chunk["content"] for chunk in lab.chunks())
    check("each with its answer", answers == 2, f"{answers} answers")
    receipts = (lab.database().parent / "recalls.jsonl").read_text(encoding="utf-8").splitlines()
    check("recall ran once for each prompt", len(receipts) == 2, f"{len(receipts)} receipts")
    errors = lab.error_lines()
    check("no hook reported an error", not errors, "; ".join(errors))
    kinds = Counter(kind for kind in attachments(lab) if kind.startswith("hook_"))
    check("the client neither", not any("error" in kind for kind in kinds), dict(kinds))


def attachments(lab):
    """Yield the type of each attachment in all transcripts."""
    for path in lab.transcripts():
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record.get("type") == "attachment":
                yield record["attachment"]["type"]


def plugin_alone(lab, check):
    """The plugin alone: setup leaves the settings to it, and everything works."""
    install(lab)
    copied = lab.home / ".claude/plugins/cache/kizami/kizami"
    size = sum(path.stat().st_size for path in copied.rglob("*") if path.is_file())
    check("what installing copies is small", 0 < size < 20_000, f"{size} bytes")
    lab.kizami("setup")
    settings = json.loads((lab.home / ".claude/settings.json").read_text(encoding="utf-8"))
    check("setup adds no hooks beside it", "hooks" not in settings, ", ".join(settings))
    converse(lab, check)
    findings = json.loads(lab.kizami("doctor", "--json"))["checks"]
    states = {item["check"]: item["state"] for item in findings if item["check"] in ("hooks", "plugin")}
    check("doctor is content", states == {"plugin": "ok"}, states)
    ran = sorted(path.name for path in (lab.database().parent / "runs").iterdir())
    check("each event ran", ran == ["SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"], " ".join(ran))


def plugin_and_settings(lab, check):
    """Setup's hooks and the installed plugin: nothing is done twice."""
    lab.kizami("setup")
    install(lab)
    # `claude plugin` ends a session that never began: its transcript is missed in the error log.
    lab.error_lines()
    converse(lab, check)


def plugin_folder_and_settings(lab, check):
    """The same with the plugin loaded from the repository for one session."""
    lab.kizami("setup")
    converse(lab, check, "--plugin-dir", ROOT / "plugin")


def settings_of_a_dead_program(lab, check):
    """Setup's hooks start what is gone: the plugin does their work."""
    lab.kizami("setup")
    settings = lab.home / ".claude/settings.json"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace(lab.command, "/gone/kizami"), encoding="utf-8")
    check("no hook of the settings works", lab.command not in settings.read_text(encoding="utf-8"))
    install(lab)
    lab.ask(DECISION)
    _, _, requests = lab.ask(QUESTION)
    blocks = found(BLOCK, requests[-1])
    check("the request holds one memory block", len(blocks) == 1, f"{len(blocks)} blocks")
    turns = lab.turns_of([DECISION, QUESTION])
    check("every turn is stored", turns == [1, 1], turns)


def program_missing(lab, check):
    """The plugin without the program: one line for the person, nothing for Claude, no error."""
    (lab.home / ".local/bin/kizami").unlink()
    install(lab)
    code, answer, requests = lab.ask(QUESTION)
    check("the prompt is answered", code == 0 and bool(answer), f"exit {code}")
    said = [text for _, text in requests[-1] if "kizami-cli" in text]
    check("Claude is told nothing", not said, f"{len(said)} texts")
    kinds = Counter(kind for kind in attachments(lab) if kind.startswith("hook_"))
    check("the person is told once", kinds["hook_system_message"] == 1, dict(kinds))
    check("no error is shown", not any("error" in kind for kind in kinds))


def slash_commands(lab, check):
    """The slash commands are there, run their command alone, and leave nothing in the memory."""
    lab.extend_path(lab.home / ".local/bin")
    install(lab)
    lab.kizami("setup")
    lab.ask(DECISION)
    printed = lab.client("-p", "--verbose", "--output-format", "stream-json", "もう一つの質問")
    (begin,) = (json.loads(line) for line in printed.splitlines() if '"subtype":"init"' in line)
    listed = sorted(name for name in begin["slash_commands"] if name.startswith("kizami:"))
    check("they are listed", listed == ["kizami:forget", "kizami:search", "kizami:why"], " ".join(listed))
    rows = lab.chunks()
    trap = lab.folder / "trap"
    typed = f"再試行 $(touch {trap}) `touch {trap}` !`touch {trap}` [[bash kizami search -- '再試行']]"
    code, answer, requests = lab.ask(f"/kizami:search {typed}")
    expanded = [text for _, text in requests[0] if "kizami search [OPTIONS] -- 'QUERY'" in text]
    check(
        "search is expanded with the text as typed", len(expanded) == 1 and f"$(touch {trap})" in expanded[0]
    )
    check("its command runs without a question", code == 0 and "再試行" in answer, answer[:60])
    cases = {
        "forget may look without a question": ("forget", "kizami forget --dry-run --matching='x'", True),
        "forget may not erase without one": ("forget", "kizami forget --yes --matching='x'", False),
        "search runs nothing behind its command": ("search", f"kizami search -- 'x'; touch {trap}", False),
        "nor inside it": ("search", f'kizami search -- "$(touch {trap})"', False),
        "why explains": ("why", "kizami why", True),
    }
    for name, (command, line, is_allowed) in cases.items():
        _, answer, _ = lab.ask(f"/kizami:{command} [[bash {line}]]")
        is_refused = any(word in answer for word in REFUSALS)
        check(name, is_refused != is_allowed, answer[:90])
    check("no shell expanded what was typed", not trap.exists())
    check("none of it is in the memory", lab.chunks() == rows, f"{len(lab.chunks()) - len(rows)} more rows")
    _, _, requests = lab.ask("/kizami:why")
    session = lab.transcripts()[-1].stem
    named = any(f"kizami why --session {session}" in text for _, text in requests[0])
    check("why names the session", named)


SCENARIOS = (
    plugin_alone,
    plugin_and_settings,
    plugin_folder_and_settings,
    settings_of_a_dead_program,
    program_missing,
    slash_commands,
)


if __name__ == "__main__":
    main(SCENARIOS, link, __doc__)
