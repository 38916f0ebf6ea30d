"""Writes transcripts as Claude Code does, for the tests of saving."""

import json
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class Transcript:
    """Builds the lines of one session, a minute apart; ``write`` puts them into a file."""

    def __init__(self, session_id="session-1", *, cwd="/home/dev/my-app", begin=BEGIN):
        self.session_id = session_id
        self.cwd = cwd
        self.lines = []
        self._time = begin

    def ask(self, text, *, uuid="", **fields):
        """Add a person's prompt."""
        return self._add("user", {"role": "user", "content": text}, uuid=uuid, **fields)

    def answer(self, *blocks, message_id=None):
        """Add one record of the model's: texts (str) and blocks (dict)."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {"role": "assistant", "content": content, **({"id": message_id} if message_id else {})}
        return self._add("assistant", message)

    def call(self, call_id, name, **arguments):
        """Add a tool call."""
        return self.answer({"type": "tool_use", "id": call_id, "name": name, "input": arguments})

    def result(self, call_id, output, *, is_error=False):
        """Add the result of a tool call, in the client's form: an object beside the block."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": is_error}
        side = f"Error: {output}" if is_error else {"stdout": output, "stderr": "", "interrupted": False}
        return self._add("user", {"role": "user", "content": [block]}, toolUseResult=side)

    def raw(self, line):
        """Add a line as it is."""
        self.lines.append(line)
        return self

    def write(self, folder, *, lines=None, name=None):
        """Write the first ``lines`` lines (all by default); return the path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or f"{self.session_id}.jsonl")
        path.write_text("".join(f"{line}\n" for line in self.lines[:lines]), encoding="utf-8")
        return str(path)

    def record(self, kind, *, message=None, **fields):
        """Add a record of any type and shape."""
        return self._add(kind, message, **fields)

    def _add(self, kind, message, *, uuid="", **fields):
        self._time += timedelta(minutes=1)
        record = {
            "type": kind,
            "uuid": f"{self.session_id}-{len(self.lines)}" if uuid == "" else uuid,
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "timestamp": self._time.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "message": message,
            **fields,
        }
        record = {key: value for key, value in record.items() if value is not None}
        self.lines.append(json.dumps(record, ensure_ascii=False))
        return self


def rows(connection):
    """Return everything that saving decides, without the row ids, in a comparable form."""
    chunks = connection.execute(
        """
        SELECT c.session_id, c.project_path, c.chunk_index, c.content, c.role, c.metadata, c.created_at,
               c.token_count, t.uuid
        FROM chunks c LEFT JOIN turns t ON t.id = c.turn_id ORDER BY c.session_id, c.chunk_index
        """
    ).fetchall()
    turns = connection.execute(
        "SELECT uuid, session_id, started_at, text_length, is_locked FROM turns ORDER BY session_id, uuid"
    ).fetchall()
    sessions = connection.execute("SELECT * FROM sessions ORDER BY session_id").fetchall()
    resolutions = connection.execute(
        """
        SELECT r.session_id, r.command, r.error, f.uuid, t.uuid FROM resolutions r
        JOIN turns f ON f.id = r.failed_turn LEFT JOIN turns t ON t.id = r.resolved_turn
        ORDER BY f.uuid, r.command
        """
    ).fetchall()
    return {"chunks": chunks, "turns": turns, "sessions": sessions, "resolutions": resolutions}
