"""Every setting of this installation: what it counts as now, and where that comes from.

Core has its own (``config.known_settings``); other packages bring theirs by entry points of the group
``kizami.settings``, each a function from the environment to a list of ``Setting``.
"""

from __future__ import annotations

import os

from kizami_core.config import ConfigProblem, UnfitValue, known_settings, load_config, nearest_name
from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_core.paths import PATH_VARIABLES, named_path
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from kizami_core.config import Setting

    Origin = Literal["default", "file", "environment"]

_GROUP = "kizami.settings"


class SettingInUse(Record):
    """A setting with the value that it counts as, and where that comes from."""

    setting: Setting
    value: object
    origin: Origin


def installed_settings(env: Mapping[str, str]) -> list[Setting]:
    """Return core's settings, then those of the other packages that are installed, by their names."""
    from importlib.metadata import entry_points

    settings = known_settings(env)
    for entry_point in sorted(entry_points(group=_GROUP), key=lambda entry_point: entry_point.name):
        settings += entry_point.load()(env)
    return settings


def settings_in_use(
    path: str, env: Mapping[str, str], settings: Sequence[Setting]
) -> tuple[list[SettingInUse], list[ConfigProblem]]:
    """Return what each setting counts as, and what can't be used in the file or the environment."""
    problems = load_config(path, env)[1]
    known = {problem.key for problem in problems}
    found = _values(path)
    in_use = []
    for setting in settings:
        value = setting.default
        origin: Origin = "default"
        if setting.key in found:
            try:
                value, origin = setting.read(found[setting.key]), "file"
            except UnfitValue as unfit:
                if setting.key not in known:
                    message = Message("must be {wanted}; the default is used.", wanted=unfit.wanted)
                    problems.append(ConfigProblem(setting.key, message))
        if place := named_path(env, setting.variable):
            value, origin = place, "environment"
        in_use.append(SettingInUse(setting, list(value) if isinstance(value, tuple) else value, origin))
    return in_use, problems


def told(problem: ConfigProblem) -> Message:
    """Return what is wrong, with a sentence that names what may have been meant by an unknown key."""
    said = Message("{key} {problem}", key=problem.key, problem=problem.message)
    near = suggestion(problem.key) if problem.is_unknown else ""
    return Message("{problem} Did you mean {name}?", problem=said, name=near) if near else said


def remedy(problem: ConfigProblem, path: str) -> Message:
    """Return what to do about a problem of the configuration file at ``path``, or of the environment."""
    if problem.key in PATH_VARIABLES:
        return Message("Set {variable} to an absolute path, or unset it.", variable=problem.key)
    return Message("Correct it in {path}", path=path)


def suggestion(key: str) -> str:
    """Return the setting that an unknown key is most like, "" where none is like it."""
    return nearest_name(key, [setting.key for setting in installed_settings(os.environ)])


def _values(path: str) -> dict[str, object]:
    """Return the values in a configuration file by their keys, none of a file that can't be used."""
    try:
        with open(path, "rb") as file:
            data = parse(file.read().decode("utf-8-sig"))
    except (OSError, ValueError):
        return {}
    sections = data.items() if isinstance(data, dict) else ()
    return {
        f"{section}.{key}": value
        for section, keys in sections
        if isinstance(keys, dict)
        for key, value in keys.items()
    }
