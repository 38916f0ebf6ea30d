"""What a chunk mentions: files, tools and error messages, read from its rendered text."""

from __future__ import annotations

import re
from functools import lru_cache

from kizami_core.records import Metadata
from kizami_core.transcript.rendering import TOOL_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILE_PATHS = 20
MAX_PATH_CHARS = 300
MAX_TOOL_NAMES = 20
MAX_ERROR_MESSAGES = 10
MAX_ERROR_CHARS = 200
_MAX_KNOWN_PIECES = 20_000

# Tools whose salient input begins with a path, which may hold any character.
_PATH_TOOLS = frozenset({"Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "NotebookRead"})
_TOOL_LINE = re.compile(rf"^{re.escape(TOOL_MARK)}([^\]\n]+)\] ?(.*)$", re.MULTILINE)

# ASCII only: Japanese is written without spaces, and what stands beside a path is not part of it.
_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:[\\/][\w.@~+\\/-]+|[\w./@~+-]+", re.ASCII)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[!-~]+")
_QUOTED = re.compile(r"`([^`\s]+)`")
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})$")
# In a name without a folder an ending means nothing (`console.log`, `example.com`) unless files have it.
_FILE_EXTENSIONS = frozenset(
    "astro bash bat c cc cfg cjs clj cmd conf cpp cs css csv cts cxx dart db diff dll erb erl ex exe exs "
    "fish gif go gradle gz h hh hpp hs htm html ico ini ipynb java jl jpeg jpg js json jsonc jsonl jsx kt "
    "kts less lock log lua md mdx mjs ml mts patch pdf php pl png properties proto ps1 py pyi rb rs rst "
    "sass scala scss sh sql sqlite svelte svg swift tar tf tfvars toml ts tsv tsx txt vb vue wasm webp "
    "xml yaml yml zip zsh".split()
)
_FILE_NAMES = frozenset(
    ["Dockerfile", "Gemfile", "Makefile", "Procfile", "Rakefile", "Justfile", ".env", ".gitignore"]
)
_PRODUCTS = frozenset(
    "alpine.js backbone.js chart.js d3.js day.js discord.js ember.js express.js next.js node.js nuxt.js "
    "p5.js react.js solid.js three.js vue.js".split()
)
_DOMAIN = re.compile(
    r"(?:[\w-]+\.)+(?:ai|app|co|com|dev|edu|gov|info|io|jp|me|net|org|sh|tech|uk|us|xyz)", re.ASCII
)

_ERROR_LINE = re.compile(
    r"""
    ^(?:\S+[ ])?(?:error|fatal|panic|failure)(?:\[\w+\])?[ ]?[:：]   # error[E0308]: …, npm error: …
    | (?<!["'`\w.])(?:[\w.]+\.)?(?:[A-Z]\w*)?(?:Error|Exception)[ ]?[:：]   # TypeError: …, → Error: …
    | \b(?:ENOENT|EACCES|EADDRINUSE|ECONNREFUSED|ETIMEDOUT|EPERM)\b
    | ^Traceback[ ]\(most
    | ^(?:FAILED|FAIL|ERR!)\b
    | エラー[:：] | 例外[:：] | 失敗しました
    """,
    re.VERBOSE | re.MULTILINE,
)
# One of these stands in every line that the expression fits: finding them takes a fraction of its time.
_ERROR_SIGNS = (
    *("error", "fatal", "panic", "failure", "Error", "Exception", "ENOENT", "EACCES", "EADDRINUSE"),
    *(
        "ECONNREFUSED",
        "ETIMEDOUT",
        "EPERM",
        "Traceback (most",
        "FAIL",
        "ERR!",
        "エラー",
        "例外",
        "失敗しました",
    ),
)
# Source code that is shown or written: a numbered line, a handler.
_CODE_LINE = re.compile(r"\s*(?:\d+(?:→|\t)|(?:except|raise|throw|catch)\b)")


def extract_metadata(text: str) -> Metadata:
    """Return what a rendered text mentions: paths of tool inputs before those in the text, else in order.

    Each list is without repeats and bounded in number and length (``MAX_…``).
    """
    tools = [(name, rest) for name, rest in _TOOL_LINE.findall(text)]
    paths = [rest.partition(" → ")[0].strip() for name, rest in tools if name in _PATH_TOOLS]
    paths += _paths_in(text)
    return Metadata(
        file_paths=_distinct((path for path in paths if 0 < len(path) <= MAX_PATH_CHARS), MAX_FILE_PATHS),
        tool_names=_distinct((name for name, _ in tools), MAX_TOOL_NAMES),
        error_messages=_distinct(_errors_in(text), MAX_ERROR_MESSAGES),
    )


def _distinct(items: Iterator[str], limit: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))[:limit]


def _paths_in(text: str) -> Iterator[str]:
    # No path reaches across white space, and words of code recur.
    for piece in dict.fromkeys(text.split()):
        if "." in piece or "/" in piece or "\\" in piece or "file" in piece:
            yield from _paths_in_piece(piece) if len(piece) <= MAX_PATH_CHARS else _unquoted_paths(piece)
    if "`" in text and not text.isascii():
        for quoted in _QUOTED.findall(_without_urls(text)):
            if not quoted.isascii() and _has_file_extension(quoted):
                yield quoted


@lru_cache(maxsize=_MAX_KNOWN_PIECES)
def _paths_in_piece(piece: str) -> tuple[str, ...]:
    return tuple(_unquoted_paths(piece))


def _without_urls(text: str) -> str:
    return _URL.sub(" ", text) if "://" in text else text


def _unquoted_paths(piece: str) -> Iterator[str]:
    for match in _TOKEN.finditer(_without_urls(piece)):
        if piece.startswith("(", match.end()):
            continue  # a call
        token = match[0].rstrip("./-").removeprefix("@")  # `@src/app.ts` mentions a file in a prompt
        if _is_path(token):
            yield token


def _is_path(token: str) -> bool:
    folder, _, name = token.replace("\\", "/").rpartition("/")
    if name in _FILE_NAMES or name.startswith(".env."):
        return True
    if not folder:
        return _has_file_extension(name) and "@" not in name and token.lower() not in _PRODUCTS
    is_anchored = token.startswith(("/", ".", "~")) or token[1:2] == ":"
    first = folder.partition("/")[0]
    extension = name.rpartition(".")[2]
    if extension in ("com", "org", "net") or _EXTENSION.search(name) is None:
        return False
    return is_anchored or _DOMAIN.fullmatch(first) is None


def _has_file_extension(name: str) -> bool:
    stem, _, extension = name.rpartition(".")
    return stem != "" and extension.lower() in _FILE_EXTENSIONS


def _errors_in(text: str) -> Iterator[str]:
    last = -1
    signs = [sign for sign in _ERROR_SIGNS if sign in text]
    for start in sorted(start for sign in signs for start in _occurrences(text, sign)):
        if start < last:
            continue
        begin = text.rfind("\n", 0, start) + 1
        last = text.find("\n", start)
        last = len(text) if last < 0 else last
        if _ERROR_LINE.search(text, begin, last) is None:
            continue
        line = text[begin:last]
        if " → Error" in line:
            line = line[line.index(" → Error") + 3 :]
        if _CODE_LINE.match(line) is None:
            yield line.strip()[:MAX_ERROR_CHARS]


def _occurrences(text: str, sign: str) -> Iterator[int]:
    start = text.find(sign)
    while start >= 0:
        yield start
        start = text.find(sign, start + len(sign))
