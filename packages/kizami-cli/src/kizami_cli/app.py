"""The `kizami` command line: which command stands where, and how errors become one line.

Commands are imported when they are run. Those of other packages come by entry points of the group
``kizami.commands``, which are scanned only for a name that is not built in and for ``--help``: a scan takes
longer than most commands.
"""

from __future__ import annotations

import difflib
import keyword
import os
import sys
import time
import traceback
from importlib import import_module

import click

from kizami_cli import completion
from kizami_cli.console import prepare_streams
from kizami_cli.help_text import in_chosen_language
from kizami_cli.invocation import common_options
from kizami_cli.language import _, chosen_language, error_text, use_language
from kizami_core import __version__
from kizami_core.errors import KizamiError
from kizami_core.paths import append_error_line, error_log_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint
    from typing import Any

    from click.shell_completion import CompletionItem

_GROUP = "kizami.commands"
_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_QUOTED = 60  # characters of an argument that an error shows

# Name → one line for --help; the module of that name (``_`` follows a keyword of Python) holds ``command``.
BUILT_IN = {
    "setup": "Install the hooks into Claude Code, create database and configuration.",
    "doctor": "Look at everything that Kizami needs, and say what to do about what is wrong.",
    "backfill": "Save the whole history that Claude Code keeps on disk.",
    "demo": "Show Kizami at work on a sample session, leaving nothing behind.",
    "search": "Search the memories.",
    "list": "List the saved sessions.",
    "show": "Show a chunk or a whole session.",
    "resolutions": "Show errors that were fixed, and by what.",
    "stats": "Show what is stored and what maintenance did.",
    "why": "Explain what a prompt brought back, or why nothing.",
    "calibrate": "Show what each gate does on your own history, and set it.",
    "mute": "Never put a memory before a prompt again.",
    "pin": "Keep a memory whatever its age.",
    "edit": "Replace the content of a chunk.",
    "delete": "Delete a session, a chunk, or everything before a date.",
    "forget": "Erase for good every memory that holds a text, after showing what.",
    "prune": "Delete memories older than an age.",
    "merge": "Delete chunks that a richer one nearly repeats.",
    "project": "List the projects; bring the memories of a moved folder to its new place.",
    "export": "Write the memories as an archive, JSON or Markdown.",
    "import": "Bring in archives: another machine's memories, a backup, what maintenance took.",
    "config": "Show the settings and where each comes from, and change them.",
    "completion": "Print the script by which bash, zsh or fish completes commands and ids.",
    "save": "Save a transcript (a hook with --stdin).",
    "recall": "Print what a prompt would bring back (a hook with --stdin).",
    "inject": "Print what a new session would be told (a hook with --stdin).",
}
# Commands of packages that may not be installed.
ELSEWHERE = {
    "embed": "kizami-hybrid",
    "embedder": "kizami-hybrid",
    "import-claude-mem": "kizami-import",
    "import-typescript": "kizami-import",
}


class CommandTable(click.Group):
    """The commands by name, imported late."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Choose the language before anything is read or said in it, then run."""
        prepare_streams()
        arguments = sys.argv[1:] if args is None else args
        use_language(chosen_language(arguments, os.environ))
        try:
            return click.Group.main(in_chosen_language(self), args, *rest, **options)
        except Exception:
            if completion.VARIABLE in os.environ:
                sys.exit(1)  # in silence, while a person types
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names, the built-in ones first."""
        return [*BUILT_IN, *sorted(set(_entry_points()) - set(BUILT_IN))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None for a name that nobody provides."""
        if cmd_name in BUILT_IN:
            module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
            command: click.Command = import_module(f"kizami_cli.commands.{module}").command
            return in_chosen_language(command)
        entry_point = _entry_points().get(cmd_name)
        return None if entry_point is None else in_chosen_language(_with_common_options(entry_point.load()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say what could have been meant."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None or ctx.resilient_parsing:
            return name, command, args[1:]
        if name in ELSEWHERE:
            package = ELSEWHERE[name]
            extra = package.removeprefix("kizami-")
            raise click.ClickException(
                _(
                    "`kizami {name}` belongs to the package {package}, which is not installed. Install it: "
                    'pip install {package} (or: uv tool install "kizami-cli[{extra}]")',
                    name=name,
                    package=package,
                    extra=extra,
                )
            )
        near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
        if near:
            raise click.UsageError(
                _("There is no command {name!r}. Did you mean `kizami {near}`?", name=name, near=near[0]), ctx
            )
        raise click.UsageError(
            _("There is no command {name!r}. `kizami --help` lists the commands.", name=name), ctx
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands for --help without importing the built-in ones."""
        rows = [(name, _(line)) for name, line in BUILT_IN.items()]
        for name in self.list_commands(ctx)[len(BUILT_IN) :]:
            command = self.get_command(ctx, name)
            rows.append((name, command.get_short_help_str() if command else ""))
        with formatter.section(_("Commands")):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the commands, or where an option is begun the options."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return completion.complete_commands(BUILT_IN, ELSEWHERE, incomplete, _)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what goes wrong becomes one line and an exit code, never a traceback."""
        try:
            return super().invoke(ctx)
        except KizamiError as error:
            raise click.ClickException(error_text(error)) from error
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except OSError as error:
            raise click.ClickException(_system_problem(error)) from error
        except UnicodeEncodeError as error:
            raise click.ClickException(
                _("{text!r} holds bytes that are not UTF-8. Give it in UTF-8.", text=error.object[:_QUOTED])
            ) from error
        except Exception as error:
            raise click.ClickException(_note_bug(error)) from error


def _system_problem(error: OSError) -> str:
    """Return what to tell of an error of the operating system that no command has words of its own for."""
    reason = error.strerror or str(error)
    if error.filename is None:
        return _("{reason}. Check the free space and the permissions.", reason=reason)
    return _(
        "{path}: {reason}. Check the free space and the permissions there.",
        path=os.fsdecode(error.filename),
        reason=reason,
    )


def _note_bug(error: Exception) -> str:
    """Write the details of an unforeseen error to the error log; return what to tell the person."""
    log = error_log_path(os.environ)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    append_error_line(log, f"{moment} kizami: {''.join(traceback.format_exception(error))}")
    return _(
        "{error}. This is a fault of Kizami; its details are in {log}.",
        error=f"{type(error).__name__}: {error}",
        log=log,
    )


def _with_common_options(command: click.Command) -> click.Command:
    """Give another package's command the options that every command takes; it finds them in its ``obj``."""
    known = {parameter.name for parameter in command.params}
    return command if "config_path" in known else common_options(command)


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry_point.name: entry_point for entry_point in entry_points(group=_GROUP)}


@click.command(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kizami")
@common_options
def app() -> None:
    """Long-term memory for Claude Code: past conversations, saved and brought back by themselves."""
