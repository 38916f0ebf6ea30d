"""What a transcript's path says: whose it is, and which session's."""

from __future__ import annotations

import os

_AGENT_PREFIX = "agent-"
_AGENT_FOLDER = "subagents"
# Deeper than this under the folder of sub-agents lies nothing of theirs: workflows/wf_…/agent-….jsonl.
_DEPTH = 3


def session_id_of(path: str) -> str:
    """Return the session id of a transcript: its file's name without the extension.

    The ids in the records can be those of the sessions that it was resumed or forked from.
    """
    return os.path.splitext(_components(path)[-1])[0]


def is_agent_transcript(path: str) -> bool:
    """Whether a transcript is that of a sub-agent, whose prompts are the model's."""
    *folders, name = _components(path)
    return name.startswith(_AGENT_PREFIX) or _AGENT_FOLDER in folders[-_DEPTH:]


def is_compaction_helper(path: str) -> bool:
    """Whether a transcript only tells how the client summed up another one."""
    return _components(path)[-1].startswith(f"{_AGENT_PREFIX}acompact-")


def parent_of(path: str) -> str:
    """Return the session that a sub-agent's transcript lies under, "" where the path does not tell."""
    folders = _components(path)[:-1]
    below = folders[-_DEPTH:]
    if _AGENT_FOLDER not in below:
        return ""
    at = len(folders) - len(below) + below.index(_AGENT_FOLDER)
    return folders[at - 1] if at else ""


def agent_transcripts(path: str) -> list[str]:
    """Return the transcripts of a session's sub-agents that lie in its own folder."""
    found = []
    for folder, _, names in os.walk(os.path.join(os.path.splitext(path)[0], _AGENT_FOLDER)):
        found += [
            os.path.join(folder, name)
            for name in names
            if name.startswith(_AGENT_PREFIX) and name.endswith(".jsonl")
        ]
    return sorted(found)


def _components(path: str) -> list[str]:
    """Split a path of this system or of Windows (hooks and exports name either)."""
    return path.replace("\\", "/").split("/")
