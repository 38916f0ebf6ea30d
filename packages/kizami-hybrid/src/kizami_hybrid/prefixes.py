"""What a model wants to be told before a text: whether it is a question or a passage."""

from __future__ import annotations

import json
import os

from kizami_core.records import Record

PROMPTS = "config_sentence_transformers.json"


class Prefixes(Record):
    """What stands before a text of each kind."""

    query: str
    document: str


# Of models whose conversions lack sentence-transformers' file; from their model cards.
_KNOWN = (
    ("ruri-v3", Prefixes("検索クエリ: ", "検索文書: ")),
    ("e5", Prefixes("query: ", "passage: ")),
)


def prefixes_of(model: str, model_dir: str) -> Prefixes:
    """Return a model's prefixes: known by its name, else as its own file says, else none."""
    for part, prefixes in _KNOWN:
        if part in model.lower():
            return prefixes
    try:
        with open(os.path.join(model_dir, PROMPTS), encoding="utf-8") as file:
            prompts = json.load(file).get("prompts", {})
        document = prompts.get("document", prompts.get("passage", ""))
        return Prefixes(str(prompts.get("query", "")), str(document))
    except (OSError, ValueError, AttributeError):
        return Prefixes("", "")
