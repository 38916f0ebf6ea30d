"""Names in a text: of code, paths and numbers, in Japanese every Latin word; what a text can be told by."""

from __future__ import annotations

_WIDE_SCRIPTS = bytes(range(0xE3, 0xEE))  # lead bytes of kana, kanji and hangul in UTF-8
_AROUND_NAMES = b"./:-+ "  # inside a name they belong to it, around it they don't
_IDENTIFYING = b"0123456789_./:@#"
_WORDS_ONLY = bytes(
    code if chr(code).isascii() and (chr(code).isalnum() or code in b"_@#$" + _AROUND_NAMES) else 0x20
    for code in range(256)
)


def names(text: str) -> set[bytes]:
    """Return the names of more than one character in a normalized text, in Japanese Latin phrases; folded."""
    encoded = text.encode("utf-8", "surrogatepass")
    has_wide_script = len(encoded.translate(None, _WIDE_SCRIPTS)) < len(encoded)
    found: set[bytes] = set()
    for number, part in enumerate(encoded.split(b"`")):
        is_code = number % 2 == 1
        # What is no word became a space, so the words of a phrase are one space apart.
        separator = b"  " if has_wide_script and not is_code else None
        for word in part.translate(_WORDS_ONLY).split(separator):
            name = word.strip(_AROUND_NAMES)
            if len(name) > 1 and (
                is_code
                or has_wide_script
                or name[1:] != name[1:].lower()
                or len(name.translate(None, _IDENTIFYING)) < len(name)
            ):
                found.add(name.lower())
    return found


def identifying_words(text: str) -> set[bytes]:
    """Return the words of a normalized text that tell it from one worded alike: of its names, and numbers."""
    of_names = {word.strip(_AROUND_NAMES) for name in names(text) for word in name.split()}
    return of_names | {word for word in latin_words(text) if word.isdigit()}


def latin_words(text: str) -> set[bytes]:
    """Return the Latin words, names and numbers of a normalized text, folded."""
    words = text.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).lower().split()
    return {word.strip(_AROUND_NAMES) for word in words}
