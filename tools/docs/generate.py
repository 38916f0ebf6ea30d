"""Bring what the pages in docs/ show of the program up to date: `uv run python tools/docs/generate.py`.

A page says what belongs between two marks,

    <!-- generated: search -->
    <!-- /generated -->

which is the name of a block that a scene types (``scenes.py`` and its neighbours), or of a table of
``reference.py``. With --check nothing is written: what the program prints otherwise now is listed, and the
exit code is 1 if there is anything.

Blocks whose names begin with "model" need an embedding model (`--model FOLDER`, with its files as they lie on
the Hugging Face hub); without one they stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from reference import tables
from wording import LANGUAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
_BLOCK = re.compile(
    r"(?P<opening><!-- generated: (?P<name>[^>]+) -->\n)(?P<body>.*?)(?P<closing><!-- /generated -->)",
    re.DOTALL,
)
# What differs between machines, and from one run to the next.
_UNSTEADY = re.compile(r"\d[\d.,]* (?:[KMG]?B\b|m?s\b|ミリ秒|秒)|\b3\.\d+\.\d+(?=\D)")


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check only compare them."""
    model = arguments[arguments.index("--model") + 1] if "--model" in arguments else ""
    blocks = generated(os.path.abspath(model) if model else "")
    is_check = "--check" in arguments
    stale = []
    for path in sorted(DOCS.glob("*/*.md")):
        text = path.read_text(encoding="utf-8")
        name, found = path.relative_to(DOCS).as_posix(), blocks[path.parent.name]
        if is_check:
            stale += [f"{name}: {block}" for block in stale_blocks(text, found)]
        else:
            path.write_text(filled(text, found), encoding="utf-8")
    print("\n".join(stale), end="\n" if stale else "")
    return 1 if stale else 0


def generated(model: str) -> dict[str, dict[str, str]]:
    """Return for each language what belongs between the marks, by name; ``model`` may be ""."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    env = os.environ | {
        "KIZAMI_DOCS_NOW": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE / "clock"), *inherited])),
        "TZ": "UTC",
    }
    started = {
        language: subprocess.Popen(
            [sys.executable, HERE / "recordings.py", language, model], env=env, stdout=subprocess.PIPE
        )
        for language in LANGUAGES
    }
    found = {}
    for language, process in started.items():
        printed, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"recordings.py {language} failed.")
        shown = json.loads(printed)
        fences = {name: f"```console\n{text}\n```" for name, text in shown.items()}
        found[language] = {**fences, **tables(language)}
    return found


def filled(text: str, blocks: Mapping[str, str]) -> str:
    """Return a page with all that stands between marks made anew; what is still right stays byte for byte."""

    def renewed(match: re.Match[str]) -> str:
        if is_left_out(match["name"], blocks):
            return match[0]
        body = f"{blocks[match['name']]}\n"
        return match["opening"] + (match["body"] if is_same(match["body"], body) else body) + match["closing"]

    return _BLOCK.sub(renewed, text)


def stale_blocks(text: str, blocks: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of what stands between marks and is something else now."""
    for match in _BLOCK.finditer(text):
        if not is_left_out(match["name"], blocks) and not is_same(
            match["body"], blocks.get(match["name"], "")
        ):
            yield match["name"]


def is_left_out(name: str, blocks: Mapping[str, str]) -> bool:
    """Tell whether a block needs the model that there is none of."""
    return name.startswith("model ") and name not in blocks


def is_same(one: str, other: str) -> bool:
    """Tell whether two blocks differ at most in sizes, durations, versions, and in where lines break."""
    return _steady(one) == _steady(other)


def _steady(text: str) -> str:
    return " ".join(_UNSTEADY.sub("…", text).split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
