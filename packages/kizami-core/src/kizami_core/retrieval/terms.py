"""Terms: the one analyzer that both the word index and every query go through.

A text is cut into runs of one script. What becomes of a run follows the measurements noted in ARCHITECTURE.md
("Terms"): kanji as overlapping bigrams, the kanji before an inflection together with its first kana, katakana
as the word and its bigrams, Latin words lightly stemmed with the parts of identifiers beside the whole,
hangul and the scripts without spaces as bigrams, hiragana not at all.
"""

from __future__ import annotations

from kizami_core.retrieval.normalize import normalize
from kizami_core.retrieval.stop_words import ENGLISH_STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Script classes of a character.
_KANJI, _HIRAGANA, _KATAKANA, _WORD, _BIGRAM_SCRIPT, _LETTER, _OTHER = "khtwgl "

_BIGRAM_SCRIPTS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # hangul jamo
    (0x1780, 0x17FF),  # Khmer
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # hangul
)
_PARTICLES = "をがはにでとのもへやか"  # what follows a noun; any other kana after a kanji is inflection
_MAX_WORD = (
    40  # characters; longer runs are hashes and encoded data, of which the beginning identifies enough
)
# A word's terms never change, and words of code recur: what was worked out is kept, up to this many words.
_MAX_KNOWN_WORDS = 20_000
_known_words: dict[str, list[str]] = {}
# No term reaches across white space, so the same holds for pieces between it. Paths and URLs recur, what is
# longer hardly does.
_MAX_KNOWN_PIECE = 160  # characters
_MAX_KATAKANA_WORD = 12  # characters; the bigrams of longer ones are enough


class _ScriptTable(dict[int, str]):
    """Maps code points to script classes, remembering what was looked up (for ``str.translate``)."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _script(code)
        return found


def _script(code: int) -> str:
    if code < 0x80:
        return _WORD if chr(code).isalnum() or code == 0x5F else _OTHER
    if 0x3041 <= code <= 0x309F:
        return _HIRAGANA
    if (0x30A1 <= code <= 0x30FF and code != 0x30FB) or 0x31F0 <= code <= 0x31FF:
        return _KATAKANA
    if (
        0x3400 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
        or code in (0x3005, 0x3007)
    ):
        return _KANJI
    if any(low <= code <= high for low, high in _BIGRAM_SCRIPTS):
        return _BIGRAM_SCRIPT
    character = chr(code)
    if character.isalpha() or character.isdigit():
        return _WORD if code < 0x250 else _LETTER
    return _OTHER


_scripts = _ScriptTable()
# What stands between the words of a text in ASCII, and those signs as spaces.
_ASCII_SIGNS = "".join(chr(code) for code in range(0x80) if _script(code) == _OTHER)
_ascii_gaps = dict.fromkeys(map(ord, _ASCII_SIGNS), " ")


def runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (script class, start, end) for each run of one script in a normalized text."""
    classes = text.translate(_scripts)
    start, end, length = 0, 0, len(classes)
    while start < length:
        script = classes[start]
        end = start + 1
        while end < length and classes[end] == script:
            end += 1
        if script != _OTHER:
            yield script, start, end
        start = end


def is_hiragana(text: str) -> bool:
    """Tell whether a text is hiragana alone, which is grammar more often than words."""
    return all("\u3041" <= character <= "\u309f" for character in text)


def _word_parts(word: str) -> list[str]:
    """Split an identifier at underscores, case changes and between letters and digits (lower-cased)."""
    parts: list[str] = []
    begin = 0
    for at in range(1, len(word)):
        before, here = word[at - 1], word[at]
        if here == "_" or before == "_":
            cut = True
        elif here.isupper():
            cut = before.islower() or (at + 1 < len(word) and word[at + 1].islower() and before.isupper())
        else:
            cut = here.isdigit() != before.isdigit()
        if cut:
            parts.append(word[begin:at])
            begin = at
    parts.append(word[begin:])
    return [part.lower() for part in parts if part != "_"]


def stem(word: str) -> str:
    """Take English inflection off a lower-case word: cache, caches, cached, caching → cach.

    The result is always a prefix of the word, so a stem can also be looked for in running text.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for suffix in ("ies", "ing", "ed"):
        if word.endswith(suffix) and len(word) - len(suffix) > 2:
            word = word[: -len(suffix)]
            doubled = word[-1] == word[-2] and word[-1] not in "aeiouls"
            return word[:-1] if doubled and len(word) > 3 else word.rstrip("e")
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 3 and word[-1] in "ey":
        return word[:-1]
    return word


def _latin_terms(text: str, start: int, end: int) -> list[str]:
    word = text[start:end]
    tail = text[end : end + 2]
    if len(word) == 1 and word.isalpha() and (tail[:1] == "#" or tail == "++"):  # C#, F#, C++
        return [word.lower() + (tail if tail == "++" else "#")]
    return _known_terms(word)


def _known_terms(word: str) -> list[str]:
    found = _known_words.get(word)
    if found is None:
        if len(_known_words) >= _MAX_KNOWN_WORDS:
            _known_words.clear()
        found = _known_words[word] = _word_terms(word.strip("_"))
    return found


def _word_terms(word: str) -> list[str]:
    lower = word.lower()
    if len(lower) < 2:
        return []
    if lower.isdigit():
        # Not part of a version number: that is one term as a whole, see _version_end.
        return [lower] if len(lower) <= _MAX_WORD else []
    is_one = lower.isalpha() and word[1:] == lower[1:]  # as most words are
    parts = [lower] if is_one else _word_parts(word)
    if len(parts) == 1:
        return [] if lower in ENGLISH_STOP_WORDS else [stem(lower)[:_MAX_WORD]]
    found = [lower[:_MAX_WORD]]
    if len(word) <= _MAX_WORD:
        found += [stem(part) for part in parts if len(part) > 1 and part not in ENGLISH_STOP_WORDS]
    return found


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _katakana_terms(run: str) -> list[str]:
    run = run.lstrip("ー")
    if len(run) > 3:  # サーバー and サーバ are one word, キー and キ are not
        run = run.rstrip("ー")
    if len(run) < 2:
        return []
    if len(run) == 2:
        return [run]
    whole = [run] if len(run) <= _MAX_KATAKANA_WORD else []
    return whole + _bigrams(run)


def words(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (surface, terms) for each run of a text that has terms, in order.

    ``text`` is any text; surfaces are in the normalized form of ``normalize``.
    """
    return _normalized_words(normalize(text))


def _normalized_words(text: str) -> Iterator[tuple[str, list[str]]]:
    version_end = -1
    for script, start, end in runs(text):
        surface = text[start:end]
        if script == _WORD:
            if start < version_end:
                continue
            if surface.isdigit() or (surface[:1] in "vV" and surface[1:].isdigit()):
                version_end = _version_end(text, end)
                if version_end > end:
                    surface = text[start:version_end]
                    yield surface, [surface.lower().lstrip("v")]
                    continue
            found = _latin_terms(text, start, end)
        elif script == _KANJI:
            found = _bigrams(surface)
            following = text[end : end + 1]
            if following.translate(_scripts) == _HIRAGANA and following not in _PARTICLES:
                found = [*found, text[end - 1 : end + 1]]
        elif script == _KATAKANA:
            found = _katakana_terms(surface)
        elif script == _BIGRAM_SCRIPT:
            found = _bigrams(surface)
        elif script == _LETTER:
            found = [surface.lower()[:_MAX_WORD]]
        else:
            found = []
        if found:
            yield surface, found


def _version_end(text: str, end: int) -> int:
    """Return the end of a version number whose first digits end at ``end``: 3 in 3.11.7 → end of 7."""
    while text[end : end + 1] == "." and text[end + 1 : end + 2].isdigit():
        end += 1
        while text[end : end + 1].isdigit():
            end += 1
    return end


def index_terms(text: str) -> list[str]:
    """Return every term of a text once, in order of first appearance."""
    pieces = dict.fromkeys(normalize(text).split())
    return list(dict.fromkeys([term for piece in pieces for term in _pieces[piece]]))


def _piece_terms(piece: str) -> list[str]:
    """Return the terms of a piece of a normalized text without white space, in order."""
    if piece.isascii() and "#" not in piece and "+" not in piece:
        word = piece.strip(_ASCII_SIGNS)
        if word.isidentifier():
            return _known_terms(word)
        if not _may_hold_version(piece):
            return [term for word in piece.translate(_ascii_gaps).split() for term in _known_terms(word)]
    return [term for _, found in _normalized_words(piece) for term in found]


def _may_hold_version(piece: str) -> bool:
    at = piece.find(".", 1)
    while at > 0:
        if piece[at - 1].isdigit() and piece[at + 1 : at + 2].isdigit():
            return True
        at = piece.find(".", at + 1)
    return False


class _Pieces(dict[str, tuple[str, ...]]):
    """The terms of pieces of text; of those met lately they are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[str, tuple[str, ...]] = {}

    def __missing__(self, piece: str) -> tuple[str, ...]:
        terms = self._before.get(piece)
        if terms is None:
            terms = tuple(dict.fromkeys(_piece_terms(piece)))
        if len(piece) <= _MAX_KNOWN_PIECE:
            if len(self) >= _MAX_KNOWN_WORDS:
                self._before = dict(self)
                self.clear()
            self[piece] = terms
        return terms


_pieces = _Pieces()
