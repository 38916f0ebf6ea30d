"""The options that every command takes, and what follows from them: configuration, database, project."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from functools import cached_property
from tempfile import TemporaryDirectory

import click

from kizami_cli.backends import mode_problem, open_vectors
from kizami_cli.completion import complete_project
from kizami_cli.console import say
from kizami_cli.language import LANGUAGES, _
from kizami_core.config import load_config
from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.messages import Message
from kizami_core.paths import config_path
from kizami_core.storage.connection import open_database, storage_error
from kizami_core.storage.projects import resolve_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from kizami_cli.backends import Vectors
    from kizami_core.config import Config

    Function = TypeVar("Function", bound=Callable[..., Any])


class Invocation:
    """What was given by the common options, before or after the command's name (click's ``ctx.obj``)."""

    def __init__(self) -> None:
        self.config_path = ""
        self.project = ""
        self.all_projects = False

    @cached_property
    def config(self) -> Config:
        """The configuration; what can't be used in it is said on stderr once.

        Raises:
            click.BadParameter: the file that ``--config`` names is not there.
        """
        if self.config_path and not os.path.exists(self.config_path):
            raise click.BadParameter(
                _("{path} does not exist.", path=self.config_path), param_hint="--config"
            )
        config, problems = load_config(self.config_path or config_path(os.environ), os.environ)
        if problems:
            from kizami_cli.settings_table import told

        messages = [told(problem) for problem in problems]
        for message in [*messages, mode_problem(config.search_mode)]:
            if message:
                say(_("Configuration: {problem}", problem=message))
        return config

    def translate(self, message: Message) -> str:
        """Return a message in the chosen language, for commands of packages that don't import this one."""
        return _(message)

    @contextmanager
    def database(self, *, read_only: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the database for a block.

        Raises:
            NotFoundError: ``read_only``, and nothing has been saved yet.
            StorageError: it can't be used.
        """
        path = self.config.database_path
        try:
            connection = open_database(path, read_only=read_only)
        except FileNotFoundError:
            raise NotFoundError(
                _(
                    "There is no database at {path} yet. Run `kizami setup`: from then on each turn is saved "
                    "when its answer ends.",
                    path=path,
                )
            ) from None
        try:
            yield connection
        except sqlite3.Error as error:
            raise storage_error(error, path) from error
        finally:
            connection.close()

    @contextmanager
    def database_of_dry_run(self) -> Iterator[sqlite3.Connection]:
        """Open the database for reading, or an empty one where nothing has been saved yet.

        Raises:
            StorageError: it can't be used.
        """
        if os.path.exists(self.config.database_path):
            with self.database() as connection:
                yield connection
            return
        with (
            TemporaryDirectory() as folder,
            closing(open_database(os.path.join(folder, "empty.db"))) as connection,
        ):
            yield connection

    @contextmanager
    def vectors(self, text: str, now: float, *, include_agents: bool = False) -> Iterator[Vectors | None]:
        """Open the vectors' side of a query for a block, None in core mode; a problem is said on stderr."""
        path = self.config_path or config_path(os.environ)
        found = open_vectors(
            path, self.config, os.environ, text, now=now, is_hook=False, include_agents=include_agents
        )
        if found is None:
            yield None
            return
        try:
            yield found
        finally:
            found.close()
        if found.problem:
            say(_("Without vectors: {problem}", problem=found.problem))

    def project_path(self) -> str:
        """Return the project that was named, else the one around the current directory.

        Raises:
            ConfigError: the current directory was deleted.
        """
        try:
            return resolve_project(os.path.abspath(self.project or "."))
        except FileNotFoundError:
            raise ConfigError(
                Message("The current directory does not exist any more. Change to another one.")
            ) from None

    def project_filter(self, *, is_default_all: bool = False) -> str | None:
        """Return the project to keep to, None for all projects."""
        if self.all_projects or (is_default_all and not self.project):
            return None
        return self.project_path()


def agents_option(function: Function) -> Function:
    """Add ``--include-agents`` to a command that looks at memories."""
    return click.option(
        "--include-agents", is_flag=True, help="Look at the sessions of sub-agents too.", expose_value=True
    )(function)


def common_options(function: Function) -> Function:
    """Add ``--project``, ``--all-projects``, ``--config`` and ``--lang`` to a command or to the group."""
    for option in (
        click.option(
            "--lang",
            type=click.Choice(LANGUAGES),
            help="Speak Japanese or English; by default what KIZAMI_LANG or the locale says.",
            expose_value=False,
        ),
        click.option(
            "--config",
            "config_path",
            metavar="PATH",
            type=click.Path(dir_okay=False),
            help="Use this configuration file.",
            expose_value=False,
            callback=_remember,
        ),
        click.option(
            "--all-projects",
            is_flag=True,
            help="Look at the memories of all projects.",
            expose_value=False,
            callback=_remember,
        ),
        click.option(
            "--project",
            metavar="PATH",
            help="Look at the project around this directory instead of the current one.",
            shell_complete=complete_project,
            expose_value=False,
            callback=_remember,
        ),
    ):
        function = option(function)
    return function


def _remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    invocation = context.ensure_object(Invocation)
    if value:
        setattr(invocation, str(parameter.name), value)
    if invocation.project and invocation.all_projects:
        raise click.UsageError(_("--project and --all-projects exclude each other."), context)
