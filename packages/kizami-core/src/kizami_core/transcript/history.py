"""The history on disk: every transcript that Claude Code still keeps."""

from __future__ import annotations

import os

from kizami_core.records import Record
from kizami_core.transcript.names import agent_transcripts, is_compaction_helper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX = ".jsonl"


class TranscriptFile(Record):
    """A transcript: ``size`` in bytes, ``mtime`` in seconds since the epoch."""

    path: str
    size: int
    mtime: float


def find_transcripts(claude_dir: str) -> list[TranscriptFile]:
    """Return the transcripts under Claude Code's own directory, sub-agents' too, the last changed one first.

    They lie at ``projects/<folder>/<session>.jsonl`` and, for sub-agents, below the folder
    ``projects/<folder>/<session>/subagents``, which can outlive its session's transcript.
    """
    found: list[TranscriptFile] = []
    for path in _paths(os.path.join(claude_dir, "projects")):
        try:
            status = os.stat(path)
        except OSError:  # deleted just now, or a link that leads nowhere
            continue
        if status.st_size and not is_compaction_helper(path):
            found.append(TranscriptFile(path, status.st_size, status.st_mtime))
    return sorted(found, key=lambda file: (-file.mtime, file.path))


def _paths(projects: str) -> Iterator[str]:
    for folder in _names(projects):
        project = os.path.join(projects, folder)
        names = _names(project)
        for session in {name.removesuffix(_SUFFIX) for name in names}:
            yield from agent_transcripts(os.path.join(project, session + _SUFFIX))
        yield from (os.path.join(project, name) for name in names if name.endswith(_SUFFIX))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
