"""Filters: what a search wants of a memory besides its words.

Whether a chunk passes, ``Filters.admits`` decides from the chunk alone, so any retriever can use it. What SQL
can tell beforehand, ``Filters.condition`` says; it lets through all that pass and some that don't.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from kizami_core.records import Record
from kizami_core.retrieval.search_syntax import comparable, holds_phrase, holds_word
from kizami_core.timestamps import epoch_seconds, format_utc
from kizami_core.transcript.rendering import ASSISTANT_MARK, MARKS, TOOL_MARK, USER_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from kizami_core.records import Chunk

    Speaker = Literal["user", "assistant"]

_MARKS_OF = {"user": (USER_MARK,), "assistant": (ASSISTANT_MARK, TOOL_MARK)}
# Marks are no words of anybody; the name of a tool is worth finding.
_WHOLE_MARK = re.compile(r"^\[(?:User|Assistant|Tool: ([^\]\n]+))\]", re.MULTILINE)
# What a name in the metadata's JSON looks like in any spelling of JSON.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")


class Filters(Record):
    """What a memory must be; empty fields want nothing.

    Attributes:
        since: UTC ``YYYY-MM-DD HH:MM:SS``, the first moment wanted.
        until: the same, the first moment that is no longer wanted.
        role: whose words are looked at: phrases, exclusions and ``any_of`` concern these alone. Tools are
            the assistant's; what stands under no mark is anybody's.
        tools: names of tools, or patterns such as ``mcp__*``, one of which was used; case doesn't matter.
        files: the last parts of paths, or patterns such as ``src/*.py``, one of which is mentioned; case
            doesn't matter.
        phrases: all of them must occur, see ``search_syntax.comparable``.
        excluded_phrases: none may occur.
        excluded_words: none may occur as a word of its own.
        any_of: folded terms of which one must occur.
    """

    since: str = ""
    until: str = ""
    role: Speaker | None = None
    any_of: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    excluded_words: tuple[str, ...] = ()

    def admits(self, chunk: Chunk) -> bool:
        """Tell whether a chunk passes."""
        return (
            self._is_in_time(chunk)
            and (not self.tools or any(map(self._is_wanted_tool, chunk.metadata.tool_names)))
            and (not self.files or any(map(self._is_wanted_file, chunk.metadata.file_paths)))
            and self._fits(chunk)
        )

    def condition(self) -> tuple[str, dict[str, str]]:
        """Return an SQL condition over ``chunks c`` that every chunk to admit fulfils, and its parameters."""
        conditions = ["1"]
        parameters: dict[str, str] = {}
        if self.since:
            conditions.append("datetime(c.created_at) >= :since")
            parameters["since"] = self.since
        if self.until:
            conditions.append("datetime(c.created_at) < :until")
            parameters["until"] = self.until
        for kind, patterns in (("tool", self.tools), ("file", self.files)):
            names = {f"{kind}{number}": _plain_part(pattern) for number, pattern in enumerate(patterns)}
            if names and all(names.values()):
                parameters.update(names)
                likes = " OR ".join(f"c.metadata LIKE '%' || :{name} || '%'" for name in names)
                conditions.append(f"({likes})")
        return " AND ".join(conditions), parameters

    def steps(self) -> Iterator[tuple[str, Filters]]:
        """Yield the name of each field that wants something, with the filters up to and with it."""
        so_far = Filters()
        for name, value in self.__dict__.items():
            if value:
                so_far = so_far.replace(**{name: value})
                yield name, so_far

    def text_of(self, content: str) -> str:
        """Return the part of a content that is looked at: the sections of ``role``."""
        return content if self.role is None else said_by(self.role, content)

    def _is_in_time(self, chunk: Chunk) -> bool:
        if not self.since and not self.until:
            return True
        seconds = epoch_seconds(chunk.created_at)
        if seconds is None:
            return False
        moment = format_utc(seconds)
        return self.since <= moment and (not self.until or moment < self.until)

    def _is_wanted_tool(self, name: str) -> bool:
        return any(fnmatchcase(name.lower(), wanted.lower()) for wanted in self.tools)

    def _is_wanted_file(self, path: str) -> bool:
        place = "/" + path.replace("\\", "/").lower()
        for wanted in self.files:
            end = "/" + wanted.replace("\\", "/").lower().removeprefix("./").lstrip("/")
            # A name such as `[id].tsx` is a name before it is a pattern.
            if place.endswith(end) or fnmatchcase(place, f"*{end}"):
                return True
        return False

    def _fits(self, chunk: Chunk) -> bool:
        if not (self.role or self.phrases or self.excluded_phrases or self.excluded_words):
            return True
        text = comparable(_WHOLE_MARK.sub(r"\1", self.text_of(chunk.content)))
        return (
            bool(text)
            and all(holds_phrase(text, phrase) for phrase in self.phrases)
            and not any(holds_phrase(text, phrase) for phrase in self.excluded_phrases)
            and not any(holds_word(text, word) for word in self.excluded_words)
            and (not self.any_of or any(term in text for term in self.any_of))
        )


def said_by(role: Speaker, content: str) -> str:
    """Return the sections of a content that a role wrote, with their marks; what has no mark is anybody's."""
    kept: list[str] = []
    is_kept = True
    for line in content.split("\n"):
        if line.startswith(MARKS):
            is_kept = line.startswith(_MARKS_OF[role])
        if is_kept:
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _plain_part(pattern: str) -> str:
    """Return the longest part of a pattern that stands in a name as it is, "" where there is none."""
    outside_brackets = re.sub(r"\[.*\]", "*", pattern)
    return max(_PLAIN.findall(outside_brackets), key=len, default="")
