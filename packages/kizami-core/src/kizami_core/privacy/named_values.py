"""Values beside a secret name: ``"password": "x"``, ``export DB_PASS=x``, ``--token x``.

The name, the separator and the quotes stay readable; only the value is masked, a quoted one whole.
"""

from __future__ import annotations

import re

from kizami_core.privacy.literal_values import is_mixed, is_quoted_secret, is_unquoted_secret
from kizami_core.privacy.secret_names import secret_names
from kizami_core.privacy.spans import line_before, quoted_span, run_span, whole_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kizami_core.privacy.literal_values import Setting
    from kizami_core.privacy.secret_names import SecretName
    from kizami_core.privacy.spans import Span

_GAP = r"[ \t\u3000]{0,40}"
# What stands between a name and its value.
_LINK = (
    # What closes the name: quotes (escaped ones too), brackets, Markdown's bold.
    r"(?P<closers>(?:\\{0,4}[\"'`\]]|\*\*|[?!](?=:)){0,4})(?:"
    # A type before the separator, as in TypeScript, Python and Rust.
    rf"(?P<typed>\??{_GAP}:{_GAP}[A-Za-z_&][\w.\[\]<>|, ?&']{{0,60}}?[ \t]*=(?![=>])[ \t]*"
    r"(?=[rbfuRBFU]{0,2}[\"'`]))"
    rf"|(?P<separator>{_GAP}(?:=>|[:?+]=|(?:\|\||\?\?)?=(?![=>~])|:(?![:=])|：|＝)(?:\*\*)?{_GAP})"
    # The name is itself the value of "name", as in Kubernetes: its value follows under "value".
    r"|(?P<value>,?\s{0,40}\\?[\"']?(?<=[\s\"'])value\\?[\"']?[ \t]{0,9}[:=][ \t]{0,9})"
    r"|(?P<element>>)"
    r"|(?P<listed>,[ \t]{0,9}(?=[\"']))"
    r"|(?P<call>\([ \t]{0,9}(?=[\"']))"
    r"|(?P<said>[ \t]{1,40}(?:is:?|was|to)[ \t]{1,9}|[ \t]{0,40}\|[ \t]{1,40})"
    r"|(?P<space>[ \t]{1,40}|\s{1,9}))"
)
# All of the rest of a line, for values that hold what ends a run: KEY=a&b;c
_WHOLE_LINE = r"[^\s\"'`\[{(<%\\,;#][^\s\"'`]{0,4096}(?<![,;(\[{])(?=[ \t]*(?:[ \t]#[^\n]*)?(?:\r?\n|\Z))"
_LINE_START = (
    r"[ \t]*(?:\d+(?:→|\t|:)[ \t]*)?(?:[-+>*#][ \t]+|[-+])?"
    r"(?:(?:export|set|setx|local|declare(?: -\w+)?)[ \t]+|\$env:|[\"'])?\*{0,2}"
)
_VARIABLE_START = r"[ \t]*(?:ENV|ARG|setx|set[ \t]+-[a-zA-Z]+)[ \t]+"
_SETTER_START = r"(?:\bset\w{0,20}|\.(?:put|add|append|header|set\w{0,20}))\([ \t]{0,9}[\"']\Z"
_NETRC_START = r"login\s+\S+\s+\Z"
# ok ? "pass" : "fail"
_TERNARY = r"\?\s{0,4}[\"'`]\Z"
_DECLARATION = r"(?:^|[^\w])(?:const|let|var|val|final|static|auto|mut|string|String)[ \t]+\Z"
_PROSE = r"[^(){}\[\]<>=;\"'`\\/]*"
# A quoted text that begins so after "name:" is what follows the closing quote of "token: " + token.
_AFTER_QUOTE = " \t\n+,;)]}:.|&=?>\\"
# f"{token:>8}", and how an expression goes on after its first name.
_FORMAT = r"[<>^=+\- #0-9.,_]*[a-zA-Z%]?"
_EXPRESSION = r"[ \t]*(?:[=!<>]=|[ \t](?:\+|\?|&&|\|\||if|or|and|is|not|in|else)[ \t])"
_IDENTIFIER = r"[A-Za-z_$]+\d?"
_QUANTITY = r"\d{1,4}[-_]?(?:bit|byte|char|hour|day|min|sec|ms|s|m|h|d|kb|mb|x|k)\w*.*"
_SHORTEST_SAID_PASSWORD = 6
_SHORTEST_SAID_TOKEN = 12


def find_named_values(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of values beside secret names; ``lowered`` is ``fold(text)``."""
    behind = 0  # a value may itself look like names and values
    for name in secret_names(text, lowered):
        link = re.compile(_LINK).match(text, name.end) if name.end > behind else None
        span = _value(text, name, link) if link else None
        if span is not None:
            behind = span[1]
            yield span


def _value(text: str, name: SecretName, link: re.Match[str]) -> Span | None:
    match link.lastgroup:
        case "element":
            return _element(text, name, link)
        case "listed" | "call":
            return _argument(text, name, link)
        case "said":
            return _said(text, name, link)
        case "space":
            return _spaced(text, name, link)
        case _:
            return _assigned(text, name, link)


def _assigned(text: str, name: SecretName, link: re.Match[str]) -> Span | None:
    """Read name: value, name = "value" and their likes."""
    quoted = quoted_span(text, link.end())
    if quoted is not None:
        is_name_quoted = any(quote in link["closers"] for quote in "\"'`")
        if re.search(_TERNARY, text[max(0, name.start - 9) : name.start]):
            return None
        is_outside = not is_name_quoted and text[quoted[0] : quoted[0] + 1] in _AFTER_QUOTE
        return None if is_outside else _if_quoted_secret(text, quoted, name)
    if text[name.start - 1 : name.start] == ":" and "=" not in link[0]:
        return None  # part of a longer identifier: arn:aws:secretsmanager:…:secret:name
    line = line_before(text, name.start)
    is_line_start = line is not None and re.fullmatch(_LINE_START, line) is not None
    whole = re.compile(_WHOLE_LINE).match(text, link.end()) if is_line_start and not link["value"] else None
    if whole is not None:
        return _if_secret(text, whole.span(), name, _line_setting(text, name, link))
    span = run_span(text, link.end())
    if span is None or (
        re.compile(_EXPRESSION).match(text, span[1]) and not _is_variable(text, name, link, span)
    ):
        return None
    following = text[span[1] : span[1] + 2]
    if following[:1] == "}" and re.fullmatch(_FORMAT, text[slice(*span)]):
        return None
    if _is_tight(link):
        return _if_secret(text, span, name, _tight_setting(text, name, span))
    if following[:1] in {",", ";", ")"} and re.fullmatch(_IDENTIFIER, text[slice(*span)]):
        return None
    ends_line = following.strip(" .")[:1] in {"", "\n", "\r"}
    is_prose = name.kind == "password" and line is not None and re.fullmatch(_PROSE, line) is not None
    return _if_secret(text, span, name, "line" if ends_line and (is_prose or is_line_start) else "inline")


def _is_variable(text: str, name: SecretName, link: re.Match[str], span: Span) -> bool:
    """Tell a variable of the environment within a sentence (``API_KEY=k3y-9 is set``) from an expression."""
    value = text[slice(*span)]
    is_capital = text[name.start : name.end].isupper()
    return is_capital and _is_tight(link) and (is_mixed(value) or "-" in value.strip("-"))


def _line_setting(text: str, name: SecretName, link: re.Match[str]) -> Setting:
    """Tell KEY=value at the margin or in capitals from an indented key=value, which can be an argument."""
    word = text[name.start : name.end]
    is_indented = text[name.start - 1 : name.start] in {" ", "\t"} and not word.isupper()
    return "assigned" if _is_tight(link) and word.count(".") != 1 and not is_indented else "line"


def _tight_setting(text: str, name: SecretName, span: Span) -> Setting:
    """Tell parameters of URLs and connection strings and variables of a shell from keyword arguments."""
    before = text[max(0, name.start - 20) : name.start]
    following = text[span[1] : span[1] + 2]
    is_argument = (
        following[:1] in {",", ")"}
        or (following[:1] == ";" and not following[1:].isalnum())
        or before.rstrip(" ").endswith(("(", ","))
        or "." in text[name.start : name.end]
        or re.search(_DECLARATION, before) is not None
    )
    is_parameter = before.endswith(("?", "&", ";"))
    return "assigned" if (is_parameter or not is_argument) and span[1] - span[0] > 1 else "inline"


def _argument(text: str, name: SecretName, link: re.Match[str]) -> Span | None:
    """Read ["--token", "value"], set("password", "value") and setPassword("value")."""
    quoted = quoted_span(text, link.end())
    word = text[name.start : name.end].lower()
    before = text[max(0, name.start - 40) : name.start]
    if link["call"]:
        is_set = word.startswith(("set", "with")) or ".set" in word
    else:
        is_set = word.startswith("-") or re.search(_SETTER_START, before, re.IGNORECASE) is not None
    is_split = not link["call"] and not link["closers"]
    if quoted is None or not is_set or is_split or text.startswith("-", quoted[0]):
        return None
    return _if_quoted_secret(text, quoted, name)


def _said(text: str, name: SecretName, link: re.Match[str]) -> Span | None:
    """Read "the password is …" or a table's cell: only what is no word, number or quantity."""
    span = quoted_span(text, link.end()) or run_span(text, link.end())
    if span is None:
        return None
    value = text[slice(*span)]
    shortest = _SHORTEST_SAID_PASSWORD if name.kind == "password" else _SHORTEST_SAID_TOKEN
    if len(value) < shortest or not is_mixed(value) or re.search(rf"\s|^{_QUANTITY}$", value, re.IGNORECASE):
        return None
    return _if_secret(text, span, name, "inline")


def _spaced(text: str, name: SecretName, link: re.Match[str]) -> Span | None:
    """Read ``--password value``, ``ENV API_KEY value``, lines of .netrc, and ``password "value"``."""
    is_option = text.startswith("-", name.start) and "\n" not in link[0]
    quoted = quoted_span(text, link.end())
    if link["closers"] or not (is_option or _is_netrc(text, name) or _is_variable_start(text, name)):
        return _said(text, name, link) if quoted and name.kind == "password" and not name.is_weak else None
    if quoted is not None:
        return _if_quoted_secret(text, quoted, name)
    span = run_span(text, link.end())
    if span is None or (is_option and re.compile(r"-|[\w-]+=").match(text, span[0])):
        return None
    return _if_secret(text, span, name, "assigned")


def _is_variable_start(text: str, name: SecretName) -> bool:
    line = line_before(text, name.start)
    return line is not None and re.fullmatch(_VARIABLE_START, line) is not None


def _is_netrc(text: str, name: SecretName) -> bool:
    return re.search(_NETRC_START, text[max(0, name.start - 200) : name.start]) is not None


def _element(text: str, name: SecretName, link: re.Match[str]) -> Span | None:
    """Read <password>value</password>."""
    if link["closers"] or text[name.start - 1 : name.start] not in {"<", ":"}:
        return None
    content = re.compile(r"[^\s<>{}][^<>{}\n]{0,1024}(?=</)").match(text, link.end())
    return _if_quoted_secret(text, content.span(), name) if content else None


def _if_quoted_secret(text: str, span: Span, name: SecretName) -> Span | None:
    return span if is_quoted_secret(text[slice(*span)], name.kind) else None


def _if_secret(text: str, span: Span, name: SecretName, setting: Setting) -> Span | None:
    value = text[slice(*span)]
    # A word without a digit proves little beside a weak name, an attribute or a variable of a program.
    is_word = not any(character.isdigit() for character in value)
    if is_word and setting != "assigned" and _is_weak(text, name, span):
        return None
    is_secret = is_unquoted_secret(value, text[span[1] : span[1] + 1], name.kind, setting)
    return whole_run(text, span) if is_secret else None


def _is_weak(text: str, name: SecretName, span: Span) -> bool:
    link = text[name.end : span[0]]
    is_variable = "=" in link and (name.kind != "password" or "+" in link)
    # self.token; but spring.datasource.password is a key of a configuration.
    is_attribute = text.count(".", name.start, name.end) == 1 or (
        "." in text[name.start : name.end] and "= " in link
    )
    return name.is_weak or is_variable or is_attribute


def _is_tight(link: re.Match[str]) -> bool:
    return link["separator"] in {"=", "＝"}
