"""The language that the terminal shows: English as the sources have it, or Japanese from the catalogue.

Translations are a gettext catalogue, ``locale/ja/LC_MESSAGES/messages.po``, for the sentences of all packages
and for those of click, which asks gettext's default domain. ``tools/messages.py`` brings it up to date.
Hooks never come here: what they write is read by Claude, or is a log.
"""

from __future__ import annotations

import gettext
import os
import sys

from kizami_core.messages import Excerpt, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENGLISH = "en"
JAPANESE = "ja"
LANGUAGES = (JAPANESE, ENGLISH)
LOCALE_FOLDER = os.path.join(os.path.dirname(__file__), "locale")

_DOMAIN = "messages"  # gettext's default, which click uses
_OPTION = "--lang"
_JAPANESE_PRIMARY_ID = 0x11  # the lower ten bits of Windows' language identifiers
_PRIMARY_ID_BITS = 0x3FF

_catalogue = gettext.NullTranslations()
_language = ENGLISH


def _(template: str, /, **fields: object) -> str:
    """Return a sentence in the chosen language, its ``{named}`` fields filled in.

    A ``Message`` of another package brings its own template and fields; fields that are messages, or errors
    that carry one, are translated too. Without fields braces stand for themselves.
    """
    if isinstance(template, Excerpt):
        return template.of(_(template.whole))
    if isinstance(template, Message):
        fields = template.fields
        template = template.template
    if not template:
        return ""  # gettext would answer with the catalogue's header
    text = _catalogue.gettext(template)
    if not fields:
        return text
    return text.format(**{name: _translated(value) for name, value in fields.items()})


def _translated(value: object) -> object:
    if isinstance(value, Message):
        return _(value)
    return error_text(value) if isinstance(value, Exception) else value


def error_text(error: Exception) -> str:
    """Return what an error says, in the chosen language where it carries a message of the catalogue."""
    said = error.args[0] if error.args else None
    return _(said) if isinstance(said, Message) else str(error)


def current_language() -> str:
    """Return the language in use, one of ``LANGUAGES``."""
    return _language


def use_language(language: str) -> None:
    """Let all sentences, click's too, come in this language from now on."""
    global _catalogue, _language  # noqa: PLW0603 - as gettext's own: one language a process
    _language = language
    gettext.bindtextdomain(_DOMAIN, LOCALE_FOLDER)
    gettext.textdomain(_DOMAIN)
    # What gettext looks at first when click asks it.
    os.environ["LANGUAGE"] = language
    _catalogue = gettext.translation(_DOMAIN, LOCALE_FOLDER, [language], fallback=True)


def chosen_language(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the language to use: ``--lang``, else KIZAMI_LANG, else the locale's, else the system's.

    The arguments are looked at before they are parsed, because their errors are told in that language.
    """
    for named in (_named_by_option(arguments), environ.get("KIZAMI_LANG", "")):
        if _code(named) in LANGUAGES:
            return _code(named)
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    if locale and _code(locale) in ("c", "posix"):
        return ENGLISH  # LANGUAGE counts for nothing there, as with GNU gettext
    preferred = environ.get("LANGUAGE") or locale or _system_language()
    return _first_known(preferred.split(":"))


def _named_by_option(arguments: Sequence[str]) -> str:
    named = ""
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == _OPTION:
            named = "".join(arguments[position + 1 : position + 2])
        elif argument.startswith(f"{_OPTION}="):
            named = argument.removeprefix(f"{_OPTION}=")
    return named


def _first_known(names: Sequence[str]) -> str:
    return next((code for code in map(_code, names) if code in LANGUAGES), ENGLISH)


def _code(name: str) -> str:
    """Return the language of a locale's name: "ja" for "ja_JP.UTF-8" and "ja-JP"."""
    return name.replace("-", "_").partition(".")[0].partition("_")[0].lower()


def _system_language() -> str:
    """Return what the system's settings say where no variable does ("" where only variables can)."""
    if sys.platform == "win32":
        import ctypes

        identifier = ctypes.windll.kernel32.GetUserDefaultUILanguage()
        return JAPANESE if identifier & _PRIMARY_ID_BITS == _JAPANESE_PRIMARY_ID else ENGLISH
    if sys.platform == "darwin":
        return apple_language(os.path.expanduser("~/Library/Preferences/.GlobalPreferences.plist"))
    return ""


def apple_language(preferences: str) -> str:
    """Return the first language in a macOS preferences file, "" where there is none."""
    import plistlib

    try:
        with open(preferences, "rb") as file:
            return str(plistlib.load(file)["AppleLanguages"][0])
    except (OSError, plistlib.InvalidFileException, KeyError, IndexError, ValueError):
        return ""
