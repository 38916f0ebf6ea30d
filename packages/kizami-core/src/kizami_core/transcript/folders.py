"""The working directories of a transcript, found without parsing it."""

from __future__ import annotations

from kizami_core.json_text import parse_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Within a text of the conversation its quotes would be escaped.
_KEY = b'"cwd"'
_MAX_VALUE_BYTES = 32_768  # the longest path that a system has, escaped


def working_folders(path: str) -> Iterator[str]:
    """Yield each working directory that the records name, once, as they come; only what is needed is read.

    An object of that key inside a record counts too. A file that can't be read names none.
    """
    seen = {""}
    pair = _KEY  # the key and its value as they stood last
    try:
        with open(path, "rb") as file:
            for line in file:
                at = line.find(_KEY)
                while at >= 0:
                    if pair is _KEY or not line.startswith(pair, at):
                        folder, end = _value(line, at + len(_KEY))
                        pair = line[at:end] if folder else _KEY
                        if folder not in seen:
                            seen.add(folder)
                            yield folder
                    at = line.find(_KEY, at + len(pair))
    except OSError:
        return


def _value(line: bytes, start: int) -> tuple[str, int]:
    """Return the text behind a key ("" where there stands none) and where its bytes end."""
    rest = line[start : start + _MAX_VALUE_BYTES].decode("utf-8", "surrogateescape")
    behind = rest.lstrip()
    if not behind.startswith(":"):
        return "", start
    try:
        value, end = parse_prefix(behind, 1)
    except ValueError:
        return "", start
    if not isinstance(value, str):
        return "", start
    end += len(rest) - len(behind)
    return (
        value.encode("utf-8", "replace").decode(),
        start + len(rest[:end].encode("utf-8", "surrogateescape")),
    )
