"""`kizami why`: what recall did for a prompt, and why."""

from __future__ import annotations

import os
import time

import click

from kizami_cli.completion import complete_session
from kizami_cli.console import say, show_json
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_cli.recall_receipt import memory_texts, reason, show_receipt
from kizami_core.errors import NotFoundError
from kizami_core.messages import Message
from kizami_core.paths import recall_log_path, shown_dir
from kizami_core.recall import recall
from kizami_core.recall_log import log_entry, read_log, read_shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_core.recall_log import LoggedRecall

# `/kizami:why` is a prompt too, and not the one that it asks about.
_OWN_COMMANDS = "/kizami:"


@click.command("why")
@common_options
@click.option("--last", is_flag=True, help="Explain the last prompt in this project (the default).")
@click.option(
    "--session",
    metavar="ID",
    default="",
    help="The last prompt of this session, or as asked in it.",
    shell_complete=complete_session,
)
@click.option("--prompt", metavar="TEXT", help="Ask this now, in this project, and explain it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the reason and the whole report.")
@click.pass_obj
def command(invocation: Invocation, session: str, prompt: str | None, *, last: bool, as_json: bool) -> None:
    """Explain what a prompt brought back, or why it brought back nothing.

    Each recall of the hook leaves a receipt in Kizami's data directory; the last several hundred are kept.
    """
    if last and prompt is not None:
        raise click.UsageError(_("--last and --prompt exclude each other."))
    if not invocation.config.auto_recall:
        say(_("Automatic recall is off (hooks.autoRecall is false): prompts bring back nothing."))
    with invocation.database() as connection:
        if prompt is None:
            entry = _logged(invocation, session)
        else:
            entry = _asked_now(invocation, connection, prompt, session)
        texts = memory_texts(connection, entry)
    if as_json:
        fields = entry.as_dict()
        for candidate in fields["report"]["candidates"]:
            candidate["memory"] = texts[candidate["chunk_id"]]
        show_json({"reason": reason(entry.report), **fields})
    else:
        show_receipt(entry, texts)


def _logged(invocation: Invocation, session: str) -> LoggedRecall:
    """Return the last receipt of a session, or of the project.

    Raises:
        NotFoundError: there is none.
    """
    project = None if session else invocation.project_filter()
    for entry in reversed(read_log(recall_log_path(os.environ))):
        is_own = entry.prompt.startswith(_OWN_COMMANDS)
        if not is_own and entry.session_id.startswith(session) and project in (None, entry.project_path):
            return entry
    if session:
        raise NotFoundError(
            Message(
                "No prompt of a session {session!r} is logged. `kizami why` explains the last one.",
                session=session,
            )
        )
    if project is None:
        raise NotFoundError(Message("No prompt is logged yet. `kizami why --prompt TEXT` asks now."))
    raise NotFoundError(
        Message(
            "No prompt in {project} is logged yet. `kizami why --prompt TEXT` asks now. --all-projects looks "
            "at all projects.",
            project=project,
        )
    )


def _asked_now(
    invocation: Invocation, connection: sqlite3.Connection, prompt: str, session: str
) -> LoggedRecall:
    config = invocation.config
    if invocation.all_projects:
        config = config.replace(project_scope=False)
    now, started = time.time(), time.perf_counter()
    project = invocation.project_path()
    with invocation.vectors(prompt, now) as vectors:
        report = recall(
            connection,
            prompt,
            session_id=session,
            project_path=project,
            config=config,
            now=now,
            already_shown=read_shown(shown_dir(os.environ), session),
            vectors=vectors,
        ).report
    total = round(1000 * (time.perf_counter() - started), 2)
    report = report.replace(milliseconds={**report.milliseconds, "total": total})
    return log_entry(prompt, report, session_id=session, project_path=project, now=now)
