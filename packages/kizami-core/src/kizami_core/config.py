"""Configuration: the keys of ``config.json``, their defaults and their checks.

Loading never raises and never loses a prompt: what can't be used is replaced by its default and reported as a
problem, which the hooks write to the error log and `kizami stats` and `kizami setup` show. One table maps the
documented camelCase keys to Python names (spec: "設定").
"""

from __future__ import annotations

import os

from kizami_core.json_text import parse
from kizami_core.paths import default_database_path, expand_user
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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


class ConfigProblem(Record):
    """One thing in the file that can't be used, and what was done instead."""

    key: str
    message: str


class _Invalid(Exception):  # noqa: N818 - a signal between the checks and the loader, never seen outside
    """Carries what a value should have been."""


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Invalid("true or false")
    return value


def _number(low: float, high: float) -> Callable[[object], float]:
    def check(value: object) -> float:
        # bool is an int in Python; "0.2" (a string) was silently accepted by the TypeScript Kizami.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise _Invalid(f"a number from {low:g} to {high:g}")
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
            raise _Invalid(f"a whole number from {low} to {high}")
        return int(value)

    return check


def _penalty(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
        raise _Invalid("a number from 0 to 1")
    return min(1.0, max(0.0, float(value)))


def _scope(value: object) -> ProjectScope:
    if value is True or value is False:
        return value
    if value == "tiered":
        return "tiered"
    raise _Invalid('true, false or "tiered"')


def _fusion(value: object) -> Fusion:
    if value == "rrf" or value == "score":  # noqa: PLR1714 - so that the type is narrowed
        return value
    raise _Invalid('"rrf" or "score"')


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Invalid("a text")
    return value


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
}
# Sections that belong to other packages; their owners check them.
_OTHER_SECTIONS = frozenset({"embedding"})


def load_config(path: str, env: Mapping[str, str]) -> tuple[Config, list[ConfigProblem]]:
    """Read the configuration file. A file that is not there is an empty one.

    Returns:
        The settings, and every problem met (empty when there is none).
    """
    if not os.path.lexists(path):
        return parse_config({}, env)
    try:
        with open(path, "rb") as file:
            # Not "utf-8-sig", whose codec is a module of its own.
            data = parse(file.read().decode("utf-8").removeprefix("\ufeff"))
    except (OSError, ValueError) as error:
        problem = ConfigProblem(
            path, f"can't be read ({error}); the defaults are used. Repair or delete the file."
        )
        return parse_config({}, env)[0], [problem]
    return parse_config(data, env)


def parse_config(data: object, env: Mapping[str, str]) -> tuple[Config, list[ConfigProblem]]:
    """Check a parsed configuration; see ``load_config``."""
    values: dict[str, object] = {}
    problems: list[ConfigProblem] = []
    sections: dict[str, object] = {}
    if isinstance(data, dict):
        sections = data
    else:
        problems.append(ConfigProblem("(file)", "is not a JSON object; the defaults are used."))
    known_sections = {section for section, _ in FIELDS}
    for section, keys in sections.items():
        if section in _OTHER_SECTIONS:
            continue
        if section not in known_sections or not isinstance(keys, dict):
            reason = (
                "is not an object" if section in known_sections else "is no section of Kizami's configuration"
            )
            problems.append(ConfigProblem(section, f"{reason}; it is ignored."))
            continue
        for key, value in keys.items():
            field = FIELDS.get((section, key))
            if field is None:
                problems.append(ConfigProblem(f"{section}.{key}", "is no setting of Kizami; it is ignored."))
                continue
            try:
                values[field[0]] = field[1](value)
            except _Invalid as wanted:
                problems.append(ConfigProblem(f"{section}.{key}", f"must be {wanted}; the default is used."))
    chosen = values.get("database_path")
    values["database_path"] = (
        expand_user(chosen, env) if isinstance(chosen, str) else default_database_path(env)
    )
    return Config(**values), problems  # type: ignore[arg-type]  # each value passed the check of its field
