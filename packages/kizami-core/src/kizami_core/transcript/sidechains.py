"""Sidechains: what sub-agents wrote into their parent's transcript (Claude Code 1.0 and 2.0).

Their records stand between those of the session, those of several sub-agents mixed when they worked at once.
Which ones belong together is told by ``agentId``, in older versions by the chain of parents.
"""

from __future__ import annotations

from kizami_core.records import Record
from kizami_core.transcript.lines import ReadTally, read_objects, unreadable

_TYPES = frozenset({"user", "assistant", "attachment"})


class Sidechain(Record):
    """One sub-agent in a transcript: its id, the bytes that its records lie between, and their uuids."""

    agent_id: str
    start: int
    end: int
    uuids: frozenset[str]


def find_sidechains(path: str) -> list[Sidechain]:
    """Return the sub-agents in a transcript in the order in which they began. All of the file is read.

    Raises:
        TranscriptError: the file can't be read.
    """
    agents: dict[str, str] = {}  # the id of the sub-agent by the uuid of the record
    uuids: dict[str, set[str]] = {}
    places: dict[str, tuple[int, int]] = {}
    try:
        with open(path, "rb") as stream:
            for record, begin, end in read_objects(stream, ReadTally(), wanted=_TYPES):
                uuid = record.get("uuid")
                if record.get("isSidechain") is not True or not isinstance(uuid, str) or uuid in agents:
                    continue
                agent_id, parent = record.get("agentId"), record.get("parentUuid")
                if not isinstance(agent_id, str) or not agent_id:
                    agent_id = agents.get(parent, uuid) if isinstance(parent, str) else uuid
                agents[uuid] = agent_id
                uuids.setdefault(agent_id, set()).add(uuid)
                places[agent_id] = places.get(agent_id, (begin, end))[0], end
    except OSError as error:
        raise unreadable(path, error) from error
    return [Sidechain(agent_id, *place, frozenset(uuids[agent_id])) for agent_id, place in places.items()]
