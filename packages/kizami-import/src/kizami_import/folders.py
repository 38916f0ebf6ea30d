"""Which folder a project of another memory is, as far as that is certain.

claude-mem knows a project by a name: the last part of a path. A session is certain where its own transcript,
or Kizami, knows its folder; a name where just one known folder is called so.
"""

from __future__ import annotations

import os
import re

from kizami_core.errors import ConfigError
from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_core.paths import expand_user
from kizami_core.storage.project_aliases import project_of
from kizami_core.storage.project_rows import list_projects
from kizami_core.storage.projects import resolve_project
from kizami_core.storage.sessions import stored_session
from kizami_core.transcript.history import find_transcripts
from kizami_core.transcript.names import is_agent_transcript, session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

PLACEHOLDER = "claude-mem:"
_HEAD_BYTES = 262_144  # the first records of a transcript may carry none, and a pasted image
_PATH = re.compile(r"/|[A-Za-z]:[\\/]")
# Names that claude-mem gives where it does not know the folder.
_NO_NAMES = frozenset({"", "unknown", "unknown-project"})


class Folders:
    """The folders that are known on this machine.

    Args:
        connection: Kizami's database.
        claude_dir: Claude Code's own directory.
        named: what a person said, folders by name (``read_names``).
    """

    def __init__(
        self, connection: sqlite3.Connection, claude_dir: str, named: Mapping[str, str] | None = None
    ) -> None:
        self._connection = connection
        self._named = named or {}
        self._by_session: dict[str, str] = {}
        self._by_name: dict[str, set[str]] = {}
        self._certain: dict[str, tuple[str, str]] = {}
        for row in list_projects(connection):
            if _PATH.match(row.project_path):
                self._add(row.project_path, row.project_path)
        known: dict[str, str] = {}
        for file in find_transcripts(claude_dir):
            cwd = "" if is_agent_transcript(file.path) else _first_cwd(file.path)
            if not cwd:
                continue
            if cwd not in known:
                known[cwd] = self._today(cwd)
                self._add(cwd, known[cwd])
                self._add(known[cwd], known[cwd])
            self._by_session[session_id_of(file.path)] = known[cwd]

    def of_session(self, session_id: str) -> str:
        """Return the project of a session of Claude Code, "" where it is not known."""
        if session_id in self._by_session:
            return self._by_session[session_id]
        stored = stored_session(self._connection, session_id)
        return stored.project_path if stored and _PATH.match(stored.project_path) else ""

    def of_name(self, name: str) -> str:
        """Return the project that a name stands for, "" where that is not certain.

        The name of a worktree (``repository/worktree``) stands for its repository, as in Kizami.
        """
        parent = name.partition("/")[0]
        for known in (name, parent):
            if known in self._named:
                return self._named[known]
        if _PATH.match(name):
            return self._today(name)
        for known in (name, parent):
            candidates = self._by_name.get(known, set()) if known not in _NO_NAMES else set()
            if len(candidates) == 1:
                return next(iter(candidates))
        return ""

    def target(self, session_id: str, name: str) -> tuple[str, str]:
        """Return the project of a session's rows under a name, and the one that stood in for it, or "".

        ``session_id`` is "" where the rows have another project than their session.
        """
        placeholder = PLACEHOLDER + (name or "unknown")
        certain = self.of_session(session_id) if session_id and name not in self._named else ""
        if not certain and name not in self._certain:
            self._certain[name] = self.of_name(name), self._today(placeholder)
        certain, moved_to = (certain, placeholder) if certain else self._certain[name]
        # Whoever moved it by `kizami project rename` knows better.
        return (certain or placeholder, placeholder) if moved_to == placeholder else (moved_to, "")

    def _today(self, path: str) -> str:
        return project_of(self._connection, path, started_at="")

    def _add(self, path: str, project: str) -> None:
        name = re.split(r"[\\/]", path.rstrip("\\/"))[-1]
        self._by_name.setdefault(name, set()).add(project)


def read_names(pairs: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """Read ``NAME=PATH`` as a person writes it; the path is that of the project around it.

    Raises:
        ConfigError: one has another form, or there is no such folder.
    """
    named = {}
    for pair in pairs:
        name, sign, path = pair.rpartition("=")
        folder = expand_user(path, env)
        if not sign or not path:
            raise ConfigError(
                Message(
                    "{pair!r} names no folder. Write --map NAME=PATH, such as my-app=~/src/my-app.", pair=pair
                )
            )
        if not os.path.isdir(folder):
            raise ConfigError(
                Message(
                    "There is no folder {folder}. Write --map NAME=PATH with one that is there.",
                    folder=folder,
                )
            )
        named[name] = resolve_project(folder)
    return named


def _first_cwd(path: str) -> str:
    """Return the working directory that the first records of a transcript name."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    for line in head.split(b"\n"):
        if b'"cwd"' not in line:
            continue
        try:
            record = parse(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        cwd = record.get("cwd") if isinstance(record, dict) else None
        if isinstance(cwd, str) and cwd:
            return cwd
    return ""
