"""The tables of the configuration reference, made from the code that reads the configuration."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from wording import EMBEDDING, HEADINGS, README, VARIABLES, WANTED_JA

from kizami_cli.recommended import SETTINGS
from kizami_core.config import FIELDS, parse_config
from kizami_hybrid.settings import parse_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parents[2]
_HOME = {"HOME": "/home/dev"}
# Variables of the system that every program reads, and those that Kizami only passes on to its own processes.
_PASSED_ON = {
    "HOME", "USERPROFILE", "PATH", "HF_HUB_OFFLINE", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM", "CLAUDE_PROJECT_DIR",
}  # fmt: skip
_VARIABLE = re.compile(
    r"(?:KIZAMI|XDG|CLAUDE|HF|OMP|OPENBLAS|MALLOC|TOKENIZERS|LC)(?:_[A-Z]+)+|LANG|LANGUAGE|HOME|PATH|USERPROFILE"
)
# No text, number, truth value or list is this, so every check refuses it and says what it wants.
_REFUSED = object()


def tables(language: str) -> dict[str, str]:
    """Return the generated tables of a language by name."""
    return {
        "settings": _table(HEADINGS["settings"][language], _settings(language)),
        "embedding": _table(HEADINGS["settings"][language], _embedding(language)),
        "variables": _table(
            HEADINGS["variables"][language],
            (
                (", ".join(f"`{name}`" for name in names.split(", ")), meaning[language])
                for names, meaning in VARIABLES.items()
            ),
        ),
    }


def variables_read() -> set[str]:
    """Return the environment variables that the packages name, but for those of the system."""
    found = set()
    for path in ROOT.glob("packages/*/src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and _VARIABLE.fullmatch(node.value)
            ):
                found.add(node.value)
    return found - _PASSED_ON


def _settings(language: str) -> Iterable[Sequence[str]]:
    defaults, _ = parse_config({}, _HOME)
    meanings = _readme_meanings(language)
    for (section, key), (name, check) in FIELDS.items():
        written = SETTINGS.get(section, {})
        default = _shown(getattr(defaults, name))
        yield (
            f"`{section}.{key}`",
            _wanted(check, language),
            f"`{default}`",
            f"`{_shown(written[key])}`" if key in written else "",
            meanings[f"{section}.{key}"],
        )


def _embedding(language: str) -> Iterable[Sequence[str]]:
    defaults, _ = parse_settings({}, _HOME)
    values = {
        "model": defaults.model,
        "quantized": defaults.is_quantized,
        "dimensions": defaults.dimensions,
        "cacheDir": defaults.cache_dir,
    }
    for key, value in values.items():
        _, (problem,) = parse_settings({key: {}}, _HOME)
        wanted = problem.message.removeprefix("must be ").removesuffix("; the default is used.")
        yield (
            f"`embedding.{key}`",
            _in_language(wanted, language),
            f"`{_shown(value)}`",
            "",
            EMBEDDING[key][language],
        )


def _wanted(check: object, language: str) -> str:
    """Return what a check accepts, in the words with which it refuses something else."""
    try:
        check(_REFUSED)
    except Exception as refusal:  # noqa: BLE001 - the module's own signal, which is private to it
        return _in_language(str(refusal), language)
    raise ValueError(f"{check} accepts anything")


def _in_language(wanted: str, language: str) -> str:
    wanted = re.sub(r"\d\S*\d", lambda number: f"{float(number[0]):,.10g}", wanted)
    if language == "en":
        return re.sub(r'true|false|\[?"[^"]+"\]?', lambda match: f"`{match[0]}`", wanted)
    for pattern, text in WANTED_JA.items():
        if re.fullmatch(pattern, wanted):
            return re.sub(pattern, text, wanted)
    raise KeyError(f"tools/docs/wording.py has no Japanese for {wanted!r}")


def _readme_meanings(language: str) -> dict[str, str]:
    text = (ROOT / README[language]).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+\.\w+)` \|[^|]*\|[^|]*\| (.*?) \|$", text, flags=re.MULTILINE)
    return dict(rows)


def _shown(value: object) -> str:
    if isinstance(value, str) and value.startswith(_HOME["HOME"]):
        return value.replace(_HOME["HOME"], "~")
    is_whole = isinstance(value, float) and value.is_integer()
    return json.dumps(list(value) if isinstance(value, tuple) else int(value) if is_whole else value)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)
