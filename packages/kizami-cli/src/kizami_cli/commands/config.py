"""`kizami config`: the settings, where each comes from, and one of them changed."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing

import click

from kizami_cli.backends import MODES, mode_problem
from kizami_cli.completion import complete_setting
from kizami_cli.config_edit import remove_setting, write_setting
from kizami_cli.console import say, show, show_field, show_json, show_table
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.kept_out import kept_out_projects
from kizami_cli.language import _
from kizami_cli.settings_table import installed_settings, settings_in_use, suggestion, told
from kizami_core.config import UnfitValue, load_config
from kizami_core.errors import StorageError
from kizami_core.json_text import parse
from kizami_core.paths import CONFIG_VARIABLE, DATA_VARIABLE, config_path, data_dir, named_path
from kizami_core.storage.connection import open_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_cli.kept_out import KeptOut
    from kizami_cli.settings_table import SettingInUse
    from kizami_core.config import Config, Setting


@click.group("config")
@common_options
def command() -> None:
    """Show the settings and change them. A KEY is a name such as hooks.recallLimit.

    \b
    Paths in the environment win over the file; each must be absolute:
      KIZAMI_CONFIG    the configuration file (--config wins over it)
      KIZAMI_DATA_DIR  the folder of everything that Kizami keeps
      KIZAMI_DATABASE  the database alone
    """  # noqa: D301 - click's mark for text that is not to be wrapped


@command.command("get")
@common_options
@click.argument("key", shell_complete=complete_setting)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: key, value, origin, default.")
@click.pass_obj
def get_command(invocation: Invocation, key: str, *, as_json: bool) -> None:
    """Print what KEY counts as. That it is the default, because it is not set, is said on stderr."""
    path = _path(invocation)
    (found,), problems = settings_in_use(path, os.environ, [_known(key)])
    concerned = {path, "(file)", key, key.partition(".")[0], found.setting.variable}
    problems = [problem for problem in problems if problem.key in concerned]
    if as_json:
        show_json(_as_json(found))
        return
    show(_shown(found.value))
    for problem in problems:
        say(_("Configuration: {problem}", problem=told(problem)))
    if found.origin == "default" and not problems:
        say(_("This is the default: {path} does not set {key}.", path=path, key=key))
    elif found.origin == "environment":
        say(_("{variable} says so.", variable=found.setting.variable))


@command.command("set")
@common_options
@click.argument("key", shell_complete=complete_setting)
@click.argument("value")
@click.pass_obj
def set_command(invocation: Invocation, key: str, value: str) -> None:
    """Set KEY to VALUE: JSON (true, 0.2, ["~/clients/**"]), or else text.

    Everything else in the file stays as it is, and what it was before is kept beside it.
    """
    setting = _known(key)
    parsed = _parsed(value)
    try:
        setting.read(parsed)
        if key == "search.mode" and parsed not in MODES:  # of which core doesn't know
            raise UnfitValue(_(" or ").join(f'"{mode}"' for mode in MODES))
    except UnfitValue as unfit:
        raise click.BadParameter(
            _("{key} must be {wanted}. Nothing was changed.", key=key, wanted=unfit.wanted),
            param_hint="VALUE",
        ) from unfit
    path = _path(invocation)
    section, _dot, name = key.partition(".")
    backup = write_setting(path, section, name, parsed, time.time())
    show(_("{key} is {value} in {path}", key=key, value=json.dumps(parsed, ensure_ascii=False), path=path))
    _tell_backup(backup)
    if named_path(os.environ, setting.variable):
        say(_("{variable} is set and wins over it.", variable=setting.variable))
    if key == "search.mode" and (problem := mode_problem(str(parsed))):
        say(_(problem))


@command.command("unset")
@common_options
@click.argument("key", shell_complete=complete_setting)
@click.pass_obj
def unset_command(invocation: Invocation, key: str) -> None:
    """Take KEY out of the file, so that its default applies."""
    setting = _known(key)
    path = _path(invocation)
    section, _dot, name = key.partition(".")
    backup = remove_setting(path, section, name, time.time())
    if backup is None:
        say(_("{path} does not set {key}; nothing was changed.", path=path, key=key))
        return
    show(_("{key} is at its default, {value}", key=key, value=_shown(setting.default)))
    _tell_backup(backup)


@command.command("list")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: settings, paths and problems.")
@click.pass_obj
def list_command(invocation: Invocation, *, as_json: bool) -> None:
    """Show every setting and where it comes from. Below them: where everything is, and what is kept out."""
    path = _path(invocation)
    settings = installed_settings(os.environ)
    in_use, problems = settings_in_use(path, os.environ, settings)
    config = load_config(path, os.environ)[0]
    kept_out = _kept_out(config)
    if as_json:
        show_json(
            {
                "settings": [_as_json(item) for item in in_use],
                "paths": {"config": path, "data": data_dir(os.environ), "database": config.database_path},
                "kept_out": [{"project": item.project_path, "by": item.reason} for item in kept_out],
                "problems": [{"key": problem.key, "message": told(problem)} for problem in problems],
            }
        )
        return
    show_table(
        ("setting", "value", "from"),
        ((item.setting.key, _shown(item.value), _origin(item)) for item in in_use),
        whole=("setting", "from"),
    )
    show()
    variable = "" if invocation.config_path else CONFIG_VARIABLE
    show_field("Configuration", _with_variable(path, variable))
    show_field("Data", _with_variable(data_dir(os.environ), DATA_VARIABLE))
    show_field("Database", config.database_path)
    for item in kept_out:
        by = _("{project}, by {reason}", project=item.project_path, reason=item.reason)
        show_field("Kept out" if item is kept_out[0] else "", by)
    for problem in problems:
        say(_("Configuration: {problem}", problem=told(problem)))


@command.command("path")
@common_options
@click.pass_obj
def path_command(invocation: Invocation) -> None:
    """Print the path of the configuration file; it need not exist."""
    show(_path(invocation))


def _kept_out(config: Config) -> list[KeptOut]:
    """Return the excluded projects that have memories from before."""
    try:
        with closing(open_database(config.database_path, read_only=True)) as connection:
            return kept_out_projects(connection, (), config)
    except (FileNotFoundError, StorageError):
        return []


def _path(invocation: Invocation) -> str:
    return os.path.abspath(invocation.config_path) if invocation.config_path else config_path(os.environ)


def _known(key: str) -> Setting:
    for setting in installed_settings(os.environ):
        if setting.key == key:
            return setting
    near = suggestion(key)
    if near:
        raise click.UsageError(_("There is no setting {key!r}. Did you mean {near}?", key=key, near=near))
    raise click.UsageError(_("There is no setting {key!r}. `kizami config list` shows them.", key=key))


def _parsed(text: str) -> object:
    try:
        return parse(text)
    except ValueError:
        return text


def _shown(value: object) -> str:
    """Return a text as it is, anything else as JSON; a whole number has no point."""
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if is_whole else value, ensure_ascii=False)  # type: ignore[call-overload]


def _origin(item: SettingInUse) -> str:
    if item.origin == "environment":
        return item.setting.variable
    return _("file") if item.origin == "file" else _("default")


def _with_variable(path: str, variable: str) -> str:
    if variable and named_path(os.environ, variable):
        return _("{path} ({variable})", path=path, variable=variable)
    return path


def _as_json(item: SettingInUse) -> dict[str, object]:
    return {
        "key": item.setting.key,
        "value": item.value,
        "origin": item.origin,
        "default": item.setting.default,
    }


def _tell_backup(backup: str) -> None:
    if backup:
        show(_("What the file was before: {backup}", backup=backup))
