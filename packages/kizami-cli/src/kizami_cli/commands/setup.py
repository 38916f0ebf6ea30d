"""`kizami setup`: database, configuration and hooks; its ``--status`` and ``--uninstall``."""

from __future__ import annotations

import glob
import os
import sys
import time

import click

from kizami_cli import claude_settings
from kizami_cli.claude_plugins import plugins_with_kizami, program_of_plugin
from kizami_cli.commands.setup_hybrid import choose_hybrid, install_model, offer_vectors
from kizami_cli.commands.setup_status import show_status
from kizami_cli.console import count, show, show_field, size
from kizami_cli.history import (
    default_workers,
    describe,
    save_history,
    say_failures,
    say_what_maintenance_takes,
    total_size,
)
from kizami_cli.hook_command import Program, find_program
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_cli.recommended import SETTINGS, unset, write_recommended
from kizami_core.backfill import split_left_out, unsaved
from kizami_core.config import load_config
from kizami_core.errors import ForeignSchemaError
from kizami_core.messages import Message
from kizami_core.paths import begin_error_log, claude_config_dir, config_path, error_log_path
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.statistics import read_statistics
from kizami_core.transcript.history import find_transcripts
from kizami_core.transcript.names import is_agent_transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kizami_cli.claude_settings import SettingsFile

# Queue rows of one transaction when an older database is indexed: hooks of running sessions get their turn.
_INDEX_BATCH = 2_000


@click.command("setup")
@common_options
@click.option("--yes", is_flag=True, help="Don't ask: change settings.json, save the history on disk.")
@click.option("--status", is_flag=True, help="Only show what is installed.")
@click.option("--json", "as_json", is_flag=True, help="With --status: print JSON.")
@click.option("--uninstall", is_flag=True, help="Remove the hooks; database and configuration stay.")
@click.option("--hybrid", is_flag=True, help="Set up search by meaning too (needs kizami-hybrid).")
@click.option(
    "--model-dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="With --hybrid: take the model's files from here, without a network.",
)
@click.pass_context
def command(
    context: click.Context,
    model_dir: str | None,
    *,
    yes: bool,
    status: bool,
    as_json: bool,
    uninstall: bool,
    hybrid: bool,
) -> None:
    """Install Kizami into Claude Code.

    Creates the database and a configuration with the recommended settings, and adds its hooks to
    Claude Code's settings.json. What is there already stays. Running it again changes nothing, and after an
    upgrade it brings everything up to date.
    """
    if status and uninstall:
        raise click.UsageError(_("--status and --uninstall exclude each other."))
    if as_json and not status:
        raise click.UsageError(_("--json goes with --status."))
    if model_dir and not hybrid:
        raise click.UsageError(_("--model-dir goes with --hybrid."))
    if hybrid and (status or uninstall):
        raise click.UsageError(_("--hybrid goes with neither --status nor --uninstall."))
    invocation: Invocation = context.obj
    settings_path = claude_settings.settings_path(os.environ)
    program = find_program(sys.argv[0], sys.executable, os.environ)
    explicit_config = os.path.abspath(invocation.config_path) if invocation.config_path else ""
    chosen_config = explicit_config or config_path(os.environ)
    if status:
        show_status(chosen_config, settings_path, program, explicit_config, as_json=as_json)
    elif uninstall:
        _uninstall(settings_path, chosen_config)
    else:
        # Looked at first: what can't be merged later must stop everything now.
        settings = claude_settings.read_settings(settings_path)
        if hybrid:
            install_model(chosen_config, model_dir)
        _set_up_config(chosen_config, "hybrid" if hybrid else "core")
        if hybrid:
            choose_hybrid(chosen_config)
        _set_up_database(chosen_config)
        _set_up_hooks(settings, program, explicit_config, yes=yes)
        _offer_history(chosen_config, yes=yes)
        if hybrid:
            offer_vectors(context, chosen_config, yes=yes)


def _set_up_config(path: str, search_mode: str) -> None:
    if write_recommended(path, search_mode):
        show_field("Configuration", _("{path}: written with the recommended settings", path=path))
        for section, keys in SETTINGS.items():
            written = {**keys, "mode": search_mode} if section == "search" else keys
            show_field("", ", ".join(f"{section}.{key} {value}" for key, value in written.items()))
        return
    show_field("Configuration", _("{path}: kept as it is", path=path))
    for problem in load_config(path, os.environ)[1]:
        show_field("", _("{key} {problem}", key=problem.key, problem=problem.message))
    for setting in unset(path):
        show_field("", _("recommended, but not set: {setting}", setting=setting))


def _set_up_database(config: str) -> None:
    path = load_config(config, os.environ)[0].database_path
    existed = os.path.exists(path)
    backups = set(glob.glob(glob.escape(path) + ".schema*"))
    try:
        connection = open_database(path)
    except ForeignSchemaError as error:
        raise ForeignSchemaError(
            Message(
                '{problem} For example: add "database": {{"path": "~/.local/share/kizami/memory-2.db"}} to '
                "{config}, then run `kizami setup` again. No hook was installed or changed.",
                problem=error,
                config=config,
            )
        ) from error
    try:
        while _index_batch(connection) == _INDEX_BATCH:
            pass
        statistics = read_statistics(connection)
    finally:
        connection.close()
    begin_error_log(error_log_path(os.environ))
    if existed:
        ready = _(
            "{path}: ready ({sessions}, {chunks})",
            path=path,
            sessions=count(statistics.sessions, "session"),
            chunks=count(statistics.chunks, "chunk"),
        )
        show_field("Database", ready)
    else:
        show_field("Database", _("{path}: created", path=path))
    for backup in sorted(set(glob.glob(glob.escape(path) + ".schema*")) - backups):
        show_field("", _("brought to this version's schema; what it was before: {backup}", backup=backup))


def _set_up_hooks(settings: SettingsFile, program: Program, config: str, *, yes: bool) -> None:
    path = settings.path
    before = claude_settings.installed_hooks(settings, program, config)
    text = claude_settings.with_hooks(settings, program, config)
    plugins = plugins_with_kizami(os.environ)
    serving = [plugin.name for plugin in plugins if not plugin.project and program_of_plugin(os.environ)]
    # The plugin knows of no other configuration than the default one.
    if serving and not before and not config:
        show_field("Hooks", _("{plugin} runs them: {path} stays as it is", plugin=serving[0], path=path))
        plugins = []
    elif text == settings.text:
        show_field("Hooks", _("{path}: installed already, nothing changed", path=path))
    elif (
        not yes
        and sys.stdin.isatty()
        and not click.confirm(_("Add Kizami's hooks to {path}?", path=path), default=True)
    ):
        show_field(
            "Hooks", _("{path}: left as it is. `kizami setup` adds the hooks when you want them.", path=path)
        )
        return
    else:
        backup = claude_settings.write_settings(settings, text, time.time())
        show_field(
            "Hooks", _("{path}: {events} run Kizami", path=path, events=", ".join(claude_settings.EVENTS))
        )
        for hook in before:
            if not hook.is_current and hook.owner == "kizami":
                show_field("", _("replaced in {event}: {command}", event=hook.event, command=hook.command))
        if backup:
            show_field("", _("what the file was before: {backup}", backup=backup))
        settings = claude_settings.read_settings(path)
    for warning in claude_settings.warnings(settings, program):
        show_field("", _("Note: {warning}", warning=warning))
    for plugin in plugins:
        beside = _("{plugin} is installed too: its hooks stand aside for these", plugin=plugin.name)
        show_field("Plugin", beside)
    show()
    show(
        _("Each turn is saved when its answer ends, and later prompts bring back what fits them."),
        style="bold",
    )
    show(_("See it at work: kizami demo. What is saved: kizami list. Undo this: kizami setup --uninstall"))
    show(_("Tab completion for your shell: kizami completion --help"))


def _offer_history(config_file: str, *, yes: bool) -> None:
    """Save what Claude Code keeps of the time before, if the person wants that."""
    config = load_config(config_file, os.environ)[0]
    connection = open_database(config.database_path)
    try:
        found = unsaved(connection, find_transcripts(claude_config_dir(os.environ)))
        files, _left_out = split_left_out(found, config=config, env=os.environ)
        if not files:
            return
        sessions = sum(not is_agent_transcript(file.path) for file in files)
        amount = {"sessions": count(sessions, "session"), "size": size(total_size(files))}
        show()
        if not yes and not sys.stdin.isatty():
            show(
                _(
                    "Claude Code keeps {sessions} ({size}) that are not saved. To save them: kizami backfill",
                    **amount,
                )
            )
            return
        question = _("Claude Code keeps {sessions} ({size}) that are not saved. Save them now?", **amount)
        if not yes and not click.confirm(question, default=True):
            show(_("`kizami backfill` saves them when you want them."))
            return
        tally = save_history(connection, files, config=config, workers=default_workers())
        show(describe(tally))
        say_failures(tally.failures)
        say_what_maintenance_takes(connection, config, time.time())
    finally:
        connection.close()


def _uninstall(path: str, config: str) -> None:
    settings = claude_settings.read_settings(path)
    text = claude_settings.without_hooks(settings)
    if text == settings.text:
        show_field("Hooks", _("{path}: none of Kizami's are there, nothing changed", path=path))
    else:
        hooks = claude_settings.installed_hooks(settings)
        backup = claude_settings.write_settings(settings, text, time.time())
        for hook in hooks:
            if hook.owner == "kizami":
                removed = _("removed from {event}: {command}", event=hook.event, command=hook.command)
                show_field("Hooks", removed)
        show_field("", _("{path}, what it was before: {backup}", path=path, backup=backup))
    for plugin in plugins_with_kizami(os.environ):
        goes_on = _(
            "{plugin} goes on running Kizami. To remove it: claude plugin uninstall {plugin}",
            plugin=plugin.name,
        )
        show_field("Plugin", goes_on)
    database = load_config(config, os.environ)[0].database_path
    show(_("Your memories and settings stay. Delete them yourself if you want them gone:"))
    show_field("", database)
    show_field("", config)


def _index_batch(connection: sqlite3.Connection) -> int:
    with transaction(connection):
        return word_index.refresh(connection, limit=_INDEX_BATCH)
