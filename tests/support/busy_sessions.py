"""Many clients at work at once: sessions that grow, some of them shared and some forked, and questions."""

import json
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace

from kizami_core.config import parse_config
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from transcripts import Transcript, rows

_CONFIG = parse_config({}, {})[0]
# Never too old to be kept.
_BEGIN = datetime(2099, 1, 1, tzinfo=UTC)
_SHARED_EVENTS = ("Stop", "PreCompact", "SessionEnd")


class Session:
    """One growing transcript. ``turns`` are (uuid, name, answer): what was asked about, and the decision."""

    def __init__(self, folder, name, begin):
        self.transcript = Transcript(name, begin=begin)
        self.path = folder / f"{name}.jsonl"
        self.turns = []
        self._written = 0

    def ask(self, number):
        """Add a turn."""
        name = f"limit_{self.path.stem}_{number}".replace("-", "_")
        answer = f"{name} は {number * 7 + 5} に設定し、config/{name}.toml に書きます。"
        self.transcript.ask(f"{name} はいくつにする?").answer(answer + "理由は負荷試験の結果です。" * 20)
        self.turns.append((json.loads(self.transcript.lines[-2])["uuid"], name, answer))

    def append(self, *, but_last=False):
        """Write what is not written yet, as the client does: at the end of the file."""
        end = len(self.transcript.lines) - but_last
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in self.transcript.lines[self._written : end]))
        self._written = end

    def is_lagging(self):
        return self._written < len(self.transcript.lines)

    def hook(self, event):
        """Return the input of a hook; Stop tells the last answer."""
        fields = {
            "hook_event_name": event,
            "session_id": self.path.stem,
            "transcript_path": str(self.path),
            "cwd": self.transcript.cwd,
        }
        last_answer = json.loads(self.transcript.lines[-1])["message"]["content"][0]["text"]
        return fields | ({"last_assistant_message": last_answer} if event == "Stop" else {})


class BusySessions:
    """The sessions of several savers.

    In each round every session gets one more turn, and so does one that several savers share. In every other
    round the transcripts get the answer only while the hooks are running, as it happens with a real client.
    """

    def __init__(self, folder, savers):
        folder.mkdir()
        self._folder = folder
        self._own = [Session(folder, f"own-{number}", _after(minutes=number)) for number in range(savers)]
        self._shared = Session(folder, "shared", _after(minutes=savers))
        self._forks = []
        self._rounds = 0
        self._asking = count()
        # uuid → (name, answer) of the turns that a hook was told of.
        self.told = {}

    def grow(self):
        """Begin a round; return the input of each saver's hook."""
        self._rounds += 1
        for session in [*self._own, self._shared]:
            session.ask(self._rounds)
            session.append(but_last=self._rounds % 2 == 0)
        return [self._input(number) for number in range(len(self._own))]

    def finish_writing(self):
        """Write the answers that lag."""
        for session in [*self._own, self._shared]:
            session.append()

    def end(self):
        """Return the input of SessionEnd for every session."""
        return [self._tell(session, "SessionEnd") for session in self._all()]

    def questions(self, number):
        """Return prompts that ask for the last decisions stored, each of a session of its own, and those.

        A session that was shown a memory is not shown it again.
        """
        return [
            (
                {
                    "hook_event_name": "UserPromptSubmit",
                    "session_id": f"asks {next(self._asking)}",
                    "cwd": self._shared.transcript.cwd,
                    "prompt": f"{name} はいくつに設定した?",
                },
                answer,
            )
            for name, answer in list(self.told.values())[-number:]
        ]

    def lost(self, connection):
        """Return the uuids of turns that a hook was told of and that are not stored once, with the answer."""
        texts = dict(
            connection.execute(
                """
                SELECT t.uuid, group_concat(c.content, '')
                FROM turns t JOIN chunks c ON c.turn_id = t.id GROUP BY t.id
                """
            )
        )
        return [
            uuid
            for uuid, (_, answer) in self.told.items()
            if texts.get(uuid, "").count("[User]") != 1 or texts[uuid].count(answer) != 1
        ]

    def rows_of_one_saver(self, path):
        """Return the rows that one process ends with that saves every session once, one after the other."""
        with closing(open_database(str(path))) as connection:
            for session in self._all():
                save_transcript(connection, str(session.path), config=_CONFIG, now=_BEGIN.timestamp())
            return rows(connection)

    def _input(self, number):
        own = self._own[number]
        kind = (number + self._rounds) % 4
        if kind == 3:
            return self._tell(self._shared, _SHARED_EVENTS[number // 4 % 3])
        if kind == 2 and self._rounds % 3 == 0:
            return self._tell(self._fork(own), "SessionEnd")
        return self._tell(own, "Stop")

    def _tell(self, session, event):
        is_whole = event == "Stop" or not session.is_lagging()
        for uuid, *turn in session.turns if is_whole else session.turns[:-1]:
            self.told[uuid] = turn
        return session.hook(event)

    def _fork(self, origin):
        """Copy a session as the client does, the same records under another id, and go on in it."""
        name = f"{origin.path.stem}-fork-{self._rounds}"
        fork = Session(self._folder, name, _after(days=1, minutes=len(self._forks)))
        fork.transcript.record("queue-operation", uuid=None, operation="enqueue", content="/branch")
        fork.transcript.record("queue-operation", uuid=None, operation="dequeue")
        fork.transcript.lines += [
            line.replace(f'"sessionId": "{origin.path.stem}"', f'"sessionId": "{name}"')
            for line in origin.transcript.lines
        ]
        fork.turns = list(origin.turns)
        fork.ask(0)
        fork.append()
        self._forks.append(fork)
        return fork

    def _all(self):
        return [*self._own, self._shared, *self._forks]


def run_hooks(commands, env, *, meanwhile=lambda: None):
    """Start hooks, as (name, input), at the same moment; return the output, errors, code and seconds of each.

    ``meanwhile`` is called while they start.
    """
    gate = threading.Barrier(len(commands) + 1)
    results = [None] * len(commands)

    def run(place, hook, fields):
        gate.wait()
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "kizami_cli", hook, "--stdin"],
            input=json.dumps(fields).encode(),
            env=env,
            capture_output=True,
            check=False,
        )
        seconds = time.perf_counter() - begun
        results[place] = SimpleNamespace(
            out=done.stdout.decode(), err=done.stderr.decode(), code=done.returncode, seconds=seconds
        )

    threads = [threading.Thread(target=run, args=(place, *command)) for place, command in enumerate(commands)]
    for thread in threads:
        thread.start()
    gate.wait()
    meanwhile()
    for thread in threads:
        thread.join()
    return results


def _after(**time_span):
    return _BEGIN + timedelta(**time_span)
