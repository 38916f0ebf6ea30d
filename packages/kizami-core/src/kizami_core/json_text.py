"""JSON without the ``json`` package: parsing by CPython's own scanner, writing by its own encoder.

``import json`` compiles regular expressions and costs about 8 ms; the C scanner inside it is a built-in
module that costs none. Other Pythons fall back to ``json``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_WHITESPACE = " \t\n\r"


def _make_scanner() -> Callable[[str, int], tuple[object, int]]:
    try:
        from _json import make_scanner
    except ImportError:  # pragma: no cover - only where CPython's accelerator is missing
        from json import JSONDecoder

        return JSONDecoder().scan_once  # type: ignore[attr-defined,no-any-return]  # not in typeshed

    class Options:
        """What the C scanner reads from a decoder: lenient about control characters in strings."""

        strict = False
        object_hook = None
        object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = {
            "-Infinity": float("-inf"),
            "Infinity": float("inf"),
            "NaN": float("nan"),
        }.__getitem__

    scanner: Callable[[str, int], tuple[object, int]] = make_scanner(Options)  # type: ignore[arg-type]  # any object with these attributes
    return scanner


_scan = _make_scanner()


def parse_prefix(text: str, start: int = 0) -> tuple[object, int]:
    """Parse the JSON value at ``start`` (white space before it is skipped).

    Returns:
        The value and the index just after it.

    Raises:
        ValueError: no complete JSON value begins there, or it is nested too deeply.
    """
    length = len(text)
    while start < length and text[start] in _WHITESPACE:
        start += 1
    try:
        return _scan(text, start)
    except StopIteration as error:
        raise ValueError(f"no JSON value at character {error.value}") from None
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    except SystemError:
        # Python 3.11 and 3.12 look for `json.decoder.JSONDecodeError` only where `json` was imported before.
        raise ValueError(f"malformed JSON after character {start}") from None


def parse(text: str) -> object:
    """Parse a whole JSON text.

    Raises:
        ValueError: it is not one JSON value.
    """
    value, end = parse_prefix(text)
    if text[end:].strip(_WHITESPACE):
        raise ValueError(f"more text after the JSON value at character {end}")
    return value


def quote(text: str) -> str:
    """Return ``text`` as a JSON string; non-ASCII characters stay as they are."""
    try:
        from _json import encode_basestring
    except ImportError:  # pragma: no cover - as above
        from json import dumps

        return dumps(text, ensure_ascii=False)
    quoted: str = encode_basestring(text)
    return quoted


def dump(value: object) -> str:
    """Return a value as JSON: texts, numbers, None, lists, tuples, dictionaries; the rest as text."""
    try:
        from _json import encode_basestring, make_encoder
    except ImportError:  # pragma: no cover - as above
        from json import dumps

        return dumps(value, ensure_ascii=False, separators=(",", ":"))
    # markers, default, encoder, indent, separators, sort_keys, skipkeys, allow_nan: as json.encoder calls it.
    encode = make_encoder(None, str, encode_basestring, None, ":", ",", False, False, True)  # noqa: FBT003
    return "".join(encode(value, 0))


def string_lists(lists: Mapping[str, Sequence[str]]) -> str:
    """Return a JSON object whose values are lists of strings."""
    return (
        "{" + ",".join(f"{quote(key)}:[{','.join(map(quote, items))}]" for key, items in lists.items()) + "}"
    )
