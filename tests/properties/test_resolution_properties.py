"""The law of resolutions: they are a function of the conversation, wherever saves cut its transcript."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.config import parse_config
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from transcripts import Transcript, rows

_NOW = 1_780_000_000.0
_CONFIG = parse_config({}, {})[0]
_COMMANDS = ("make", "npm test")

# A step is a prompt (None) or a run of a command: which one, whether it fails, and whether its result comes
# only after the next step.
_STEPS = st.lists(
    st.one_of(st.none(), st.tuples(st.integers(0, 1), st.booleans(), st.booleans())),
    min_size=1,
    max_size=12,
)


def _transcript(steps):
    transcript = Transcript().ask("begin")
    late = []
    for number, step in enumerate(steps):
        results, late = late, []
        if step is None:
            transcript.ask(f"prompt {number}")
        else:
            command, has_failed, is_late = step
            transcript.call(f"c{number}", "Bash", command=_COMMANDS[command])
            result = (f"c{number}", f"error {number}" if has_failed else "ok", has_failed)
            late, results = ([result], results) if is_late else ([], [result, *results])
        for call_id, output, is_error in results:
            transcript.result(call_id, output, is_error=is_error)
    return transcript


def _expected(steps):
    """Work out from the steps: of each turn and command the first error, and the turn of the next success."""
    runs = [
        (steps[:number].count(None), number, *step) for number, step in enumerate(steps) if step is not None
    ]
    found = {}
    for place, (turn, number, command, has_failed, _) in enumerate(runs):
        if has_failed and (turn, command) not in found:
            later = [run[0] for run in runs[place + 1 :] if run[2] == command and not run[3]]
            found[turn, command] = (turn, _COMMANDS[command], f"error {number}", later[0] if later else None)
    return sorted(found.values())


def _saved(folder, readings):
    folder.mkdir()
    path = str(folder / "session-1.jsonl")
    connection = open_database(str(folder / "memory.db"))
    for number, content in enumerate(readings):
        with open(path, "wb") as file:
            file.write(content)
        os.utime(path, (_NOW + number, _NOW + number))
        save_transcript(connection, path, config=_CONFIG, now=_NOW)
    found = rows(connection)
    connection.close()
    return found


@settings(max_examples=40, deadline=None)
@given(steps=_STEPS, cuts=st.lists(st.floats(0, 1), max_size=4))
def test_resolutions_do_not_depend_on_where_saves_cut_the_transcript(tmp_path_factory, steps, cuts):
    folder = tmp_path_factory.mktemp("law")
    steps = [*steps, (0, False, False)]
    transcript = _transcript(steps)
    whole = "".join(f"{line}\n" for line in transcript.lines).encode()
    once = _saved(folder / "once", [whole])
    growing = sorted((whole[: int(cut * len(whole))] for cut in cuts), key=len)
    assert _saved(folder / "growing", [*growing, whole]) == once

    numbers = {uuid: number for number, uuid in enumerate(row[0] for row in _in_order(once["turns"]))}
    numbers[None] = None
    assert sorted(
        (numbers[failed], command, error, numbers[resolved])
        for _, command, error, failed, resolved in once["resolutions"]
    ) == _expected(steps)


def _in_order(turns):
    return sorted(turns, key=lambda turn: int(turn[0].rpartition("-")[2]))
