"""Passwords on command lines, where a program's own option says so: ``curl -u user:x``, ``mysql -px``."""

from __future__ import annotations

import re

from kizami_core.privacy.literal_values import stands_for_another

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.spans import Span

_WORD = r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s\"'|&;<>()]+))"
_USER = (
    r"\s(?:-u|--user|--proxy-user)[ =]?"
    r"(?:\"[^\s:\"]{1,128}:([^\"\n]+)\"|'[^\s:']{1,128}:([^'\n]+)'|[^\s:\"'$]{1,128}:([^\s\"'|;]+))"
)
_OPTIONS = {
    "curl": _USER,
    "wget": _USER,
    "mysql": rf"\s-p{_WORD}",
    "mariadb": rf"\s-p{_WORD}",
    "sshpass": rf"\s-p\s?{_WORD}",
    "docker login": rf"\s-p\s{_WORD}",
    "redis-cli": rf"\s-a\s{_WORD}",
    "openssl": rf"\s-pass(?:in|out)?\s+pass:{_WORD}",
}
_PORTS = r"[\d.]+:\d+"


def find_command_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of passwords given as options; ``lowered`` is ``fold(text)``."""
    if not any((" -u" in text, " -p" in text, " -a " in text, " --user" in text, " --proxy-user" in text)):
        return
    for command, option in _OPTIONS.items():
        start = lowered.find(command)
        while start >= 0:
            end = _command_end(text, start)
            for match in re.compile(option).finditer(text, start, end):
                secret = match[match.lastindex or 0]
                if not stands_for_another(secret) and re.fullmatch(_PORTS, secret) is None:
                    yield match.span(match.lastindex or 0)
            start = lowered.find(command, end)


def _command_end(text: str, start: int) -> int:
    """Return where the command's line ends; a backslash before the line break continues it."""
    end = text.find("\n", start)
    while end > 0 and text[end - 1] == "\\":
        end = text.find("\n", end + 1)
    return end if end >= 0 else len(text)
