"""Configuration: the keys of ``config.json``, their defaults and their checks.

Loading never raises and never loses a prompt: what can't be used is replaced by its default and reported as a
problem, which the hooks write to the error log and `kizami stats` and `kizami setup` show. One table maps the
documented camelCase keys to Python names (spec: "設定").
"""

from __future__ import annotations

import os

from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_core.paths import (
    DATABASE_VARIABLE,
    PATH_VARIABLES,
    default_database_path,
    expand_user,
    home_dir,
    named_path,
)
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Literal

    ProjectScope = bool | Literal["tiered"]
    Fusion = Literal["rrf", "score"]


class Config(Record):
    """Every setting, checked. Field names are the keys of ``FIELDS``; units are in the names."""

    database_path: str
    search_mode: str = "core"
    time_decay_half_life_days: float = 30.0
    default_limit: int = 5
    project_scope: ProjectScope = True
    cross_project_penalty: float = 0.3
    fusion: Fusion = "score"
    max_tokens_per_chunk: int = 512
    truncate_tool_output_lines: int = 20
    truncate_tool_output_tail_lines: int = 5
    auto_recall: bool = True
    recall_limit: int = 3
    min_relevance_score: float = 0.0
    maintenance_enabled: bool = True
    interval_hours: float = 24.0
    max_chunk_age_days: float = 90.0
    max_db_size_mb: float = 100.0
    archive_max_mb: float = 200.0
    exclude_projects: tuple[str, ...] = ()


class Setting(Record):
    """One setting as `kizami config` knows it.

    ``key`` is ``section.key``, ``default`` the JSON value it has where it is not set; ``read`` returns what a
    value counts as, or raises ``UnfitValue``. ``variable`` names the environment's path that wins over it.
    """

    key: str
    default: object
    read: Callable[[object], object]
    variable: str = ""


class ConfigProblem(Record):
    """One thing in the file or in a variable that can't be used, and what was done instead.

    ``message`` goes on behind the key. ``is_unknown`` tells that nothing has this name.
    """

    key: str
    message: str
    is_unknown: bool = False


class UnfitValue(Exception):  # noqa: N818 - a signal from the checks, never seen by a person
    """Carries what a value should have been: ``wanted``."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnfitValue(Message("true or false"))
    return value


def _number(low: float, high: float) -> Callable[[object], float]:
    def check(value: object) -> float:
        # bool is an int in Python; "0.2" (a string) was silently accepted by the TypeScript Kizami.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise UnfitValue(Message("a number from {low} to {high}", low=f"{low:g}", high=f"{high:g}"))
        return float(value)

    return check


def _integer(low: int, high: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or value != value // 1
            or not low <= value <= high
        ):
            raise UnfitValue(Message("a whole number from {low} to {high}", low=low, high=high))
        return int(value)

    return check


def _penalty(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
        raise UnfitValue(Message("a number from {low} to {high}", low=0, high=1))
    return min(1.0, max(0.0, float(value)))


def _scope(value: object) -> ProjectScope:
    if value is True or value is False:
        return value
    if value == "tiered":
        return "tiered"
    raise UnfitValue(Message('true, false or "tiered"'))


def _fusion(value: object) -> Fusion:
    if value == "rrf" or value == "score":  # noqa: PLR1714 - so that the type is narrowed
        return value
    raise UnfitValue(Message('"rrf" or "score"'))


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UnfitValue(Message("a text"))
    return value


def _patterns(value: object) -> tuple[str, ...]:
    wanted = UnfitValue(Message('a list of folders or patterns such as ["~/clients/**"]'))
    if not isinstance(value, list):
        raise wanted
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise wanted
    return tuple(value)


# A century: beyond it a date leaves what SQLite's date functions can tell apart.
_MAX_DAYS = 36_500

FIELDS: Mapping[tuple[str, str], tuple[str, Callable[[object], object]]] = {
    ("database", "path"): ("database_path", _text),
    ("search", "mode"): ("search_mode", _text),
    ("search", "timeDecayHalfLifeDays"): ("time_decay_half_life_days", _number(0.01, _MAX_DAYS)),
    ("search", "defaultLimit"): ("default_limit", _integer(1, 1000)),
    ("search", "projectScope"): ("project_scope", _scope),
    ("search", "crossProjectPenalty"): ("cross_project_penalty", _penalty),
    ("search", "fusion"): ("fusion", _fusion),
    ("chunking", "maxTokensPerChunk"): ("max_tokens_per_chunk", _integer(32, 8192)),
    ("chunking", "truncateToolOutputLines"): ("truncate_tool_output_lines", _integer(0, 100_000)),
    ("chunking", "truncateToolOutputTailLines"): ("truncate_tool_output_tail_lines", _integer(0, 100_000)),
    ("hooks", "autoRecall"): ("auto_recall", _boolean),
    ("hooks", "recallLimit"): ("recall_limit", _integer(0, 20)),
    ("hooks", "minRelevanceScore"): ("min_relevance_score", _number(0, 1)),
    ("maintenance", "enabled"): ("maintenance_enabled", _boolean),
    ("maintenance", "intervalHours"): ("interval_hours", _number(0, 24 * _MAX_DAYS)),
    ("maintenance", "maxChunkAgeDays"): ("max_chunk_age_days", _number(0.01, _MAX_DAYS)),
    ("maintenance", "maxDbSizeMB"): ("max_db_size_mb", _number(1, 1_000_000)),
    ("maintenance", "archiveMaxMB"): ("archive_max_mb", _number(0, 1_000_000)),
    ("privacy", "excludeProjects"): ("exclude_projects", _patterns),
}
# Sections that belong to other packages; their owners check them.
_OTHER_SECTIONS = frozenset({"embedding"})


def known_settings(env: Mapping[str, str]) -> list[Setting]:
    """Return core's settings in the order of ``FIELDS``."""
    defaults = Config(default_database_path(env))
    settings = []
    for (section, key), (name, check) in FIELDS.items():
        default = getattr(defaults, name)
        settings.append(
            Setting(f"{section}.{key}", list(default) if isinstance(default, tuple) else default, check)
        )
    place, *others = settings
    return [
        place.replace(read=lambda value: expand_user(_text(value), env), variable=DATABASE_VARIABLE),
        *others,
    ]


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known setting or section that an unknown name is most like, "" where none is like it."""
    from difflib import get_close_matches  # far too slow for a hook

    keys = list(known)
    last = name.rpartition(".")[2].lower()
    for key in keys:
        if key.rpartition(".")[2].lower() == last:
            return key  # in another section, or without any
    sections = {key.partition(".")[0] for key in keys}
    spelled = {item.lower(): item for item in (*keys, *sorted(sections))}
    near = get_close_matches(name.lower(), spelled, n=1)
    return spelled[near[0]] if near else ""


def load_config(path: str, env: Mapping[str, str]) -> tuple[Config, list[ConfigProblem]]:
    """Read the configuration file. A file that is not there is an empty one.

    Returns:
        The settings, and every problem met (empty when there is none).
    """
    try:
        with open(path, "rb") as file:
            # Not "utf-8-sig", whose codec is a module of its own.
            data = parse(file.read().decode("utf-8").removeprefix("\ufeff"))
    except (OSError, ValueError) as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)) and not os.path.lexists(path):
            return parse_config({}, env)
        reason = error.strerror if isinstance(error, OSError) else error
        message = Message(
            "can't be read ({error}); the defaults are used. Repair or delete the file.", error=reason
        )
    else:
        if isinstance(data, dict):
            return parse_config(data, env)
        message = Message("is not a JSON object; the defaults are used. Repair or delete the file.")
    config, problems = parse_config({}, env)
    return config, [ConfigProblem(path, message), *problems]


def parse_config(
    sections: Mapping[str, object], env: Mapping[str, str]
) -> tuple[Config, list[ConfigProblem]]:
    """Check the object that a configuration file holds; see ``load_config``."""
    values: dict[str, object] = {}
    problems: list[ConfigProblem] = []
    known_sections = {section for section, _ in FIELDS}
    for section, keys in sections.items():
        if section in _OTHER_SECTIONS:
            continue
        if section not in known_sections or not isinstance(keys, dict):
            is_known = section in known_sections
            message = (
                Message("is not an object; it is ignored.")
                if is_known
                else Message("is no section of Kizami's configuration; it is ignored.")
            )
            problems.append(ConfigProblem(section, message, not is_known))
            continue
        for key, value in keys.items():
            field = FIELDS.get((section, key))
            if field is None:
                message = Message("is no setting of Kizami; it is ignored.")
                problems.append(ConfigProblem(f"{section}.{key}", message, is_unknown=True))
                continue
            try:
                values[field[0]] = field[1](value)
            except UnfitValue as unfit:
                message = Message("must be {wanted}; the default is used.", wanted=unfit.wanted)
                problems.append(ConfigProblem(f"{section}.{key}", message))
    problems += [
        ConfigProblem(variable, Message("must be an absolute path; it is ignored."))
        for variable in PATH_VARIABLES
        if env.get(variable) and not named_path(env, variable)
    ]
    chosen = values.get("database_path")
    values["database_path"] = named_path(env, DATABASE_VARIABLE) or (
        expand_user(chosen, env) if isinstance(chosen, str) else default_database_path(env)
    )
    patterns = values.get("exclude_projects")
    if isinstance(patterns, tuple):
        values["exclude_projects"] = tuple(_at_home(pattern, env) for pattern in patterns)
    return Config(**values), problems  # type: ignore[arg-type]  # each value passed the check of its field


def _at_home(pattern: str, env: Mapping[str, str]) -> str:
    """Expand a leading ``~``; a pattern need not be a path, so nothing else is done to it."""
    is_in_home = pattern == "~" or pattern.startswith(("~/", "~\\"))
    return home_dir(env) + pattern[1:] if is_in_home else pattern
