"""The law of incremental saving: whenever and wherever a growing transcript is saved, the rows become those
of the whole saved once, and little of it is read twice."""

import os
import random
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.config import parse_config
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from kizami_core.storage.transcripts import stored_reading
from kizami_core.transcript import turns
from kizami_core.transcript.names import is_compaction_helper
from transcripts import Transcript, rows

_NOW = 1_780_000_000.0
_CONFIG = parse_config({"chunking": {"maxTokensPerChunk": 64}}, {})[0]

_TEXTS = st.sampled_from(["はい", "接続プールを直して", "see src/db/pool.ts " * 20, "段落。\n\n" * 30, "two"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["ask", "ask without time", "answer", "part", "sidechain"]), _TEXTS),
        st.tuples(st.sampled_from(["enqueue", "popAll", "queued", "meta"]), _TEXTS),
        st.tuples(st.sampled_from(["dequeue", "remove", "compaction"]), st.none()),
        st.tuples(st.just("call"), st.integers(0, 3)),
        st.tuples(st.just("result"), st.integers(0, 3)),
        st.tuples(st.just("again"), st.integers(0, 30)),
        st.tuples(st.just("raw"), st.sampled_from(["", "{", "null", '{"a":1}{"b":2}', '{\n "type": "x"\n}'])),
    ),
    min_size=8,
    max_size=30,
)


def _add(transcript, kind, value):
    if kind in ("ask", "meta", "sidechain"):
        transcript.ask(value, isMeta=kind == "meta", isSidechain=kind == "sidechain")
    elif kind == "ask without time":
        transcript.ask(value, timestamp=None, cwd=None)
    elif kind == "answer":
        transcript.answer(value)
    elif kind == "part":
        transcript.answer(value, message_id="shared-by-several-records")
    elif kind == "call":
        transcript.call(f"c{value}", "Bash", command=f"make {value}")
    elif kind == "result":
        transcript.result(f"c{value}", f"line {value}\n" * 30)
    elif kind == "queued":
        attachment = {"type": "queued_command", "prompt": value, "commandMode": "prompt"}
        transcript.record("attachment", attachment=attachment)
    elif kind == "compaction":
        transcript.record("system", compactMetadata={"preservedMessages": {"uuids": ["x"]}})
    elif kind == "raw":
        transcript.raw(value)
    elif kind == "again":
        transcript.raw(transcript.lines[value % len(transcript.lines)] if transcript.lines else "")
    else:
        transcript.record("queue-operation", uuid=None, operation=kind, content=value)


def _content(steps):
    transcript = Transcript()
    for kind, value in steps:
        _add(transcript, kind, value)
    return "".join(f"{line}\n" for line in transcript.lines).encode()


def _grow(folder, name, readings):
    """Save a file each time it grew; return the rows and what each save read."""
    path = folder / name
    path.parent.mkdir(parents=True)
    connection = open_database(str(folder / "memory.db"))
    bytes_read = []
    for number, content in enumerate(readings):
        path.write_bytes(content)
        os.utime(path, (_NOW, _NOW + number / 10))
        bytes_read.append(save_transcript(connection, str(path), config=_CONFIG, now=_NOW).bytes_read)
    found = rows(connection)
    found["reading"] = stored_reading(connection, str(path)).point
    assert check(connection) == IntegrityReport((), ())
    connection.close()
    shutil.rmtree(folder)
    return found, bytes_read


@settings(max_examples=60, deadline=None)
@given(steps=_STEPS, cuts=st.lists(st.floats(0, 1), max_size=5), full=st.sampled_from([600, 2_000_000]))
def test_saving_each_time_a_transcript_grew_equals_saving_it_once(tmp_path_factory, steps, cuts, full):
    folder = tmp_path_factory.mktemp("law")
    whole = _content(steps)
    ends = [number + 1 for number, byte in enumerate(whole) if byte == ord("\n")]
    readings = [whole[:cut] for cut in sorted([*ends, *(int(cut * len(whole)) for cut in cuts)])]
    before, turns._FULL_TURN_BYTES = turns._FULL_TURN_BYTES, full
    try:
        once, _ = _grow(folder / "once", "session-1.jsonl", [whole])
        growing, _ = _grow(folder / "growing", "session-1.jsonl", [*readings, whole])
    finally:
        turns._FULL_TURN_BYTES = before
    assert growing == once


@pytest.mark.shared
def test_the_law_holds_on_every_measured_transcript(shared, tmp_path):
    everything = sorted((shared / "data/transcripts").rglob("*.jsonl"))
    paths = [path for path in everything if not is_compaction_helper(str(path))]
    assert len(paths) > 100
    choose = random.Random(20261130)
    read = there = 0
    for number, path in enumerate(paths):
        whole = path.read_bytes()
        cuts = sorted(choose.randrange(len(whole) + 1) for _ in range(3))
        name = os.path.join(*path.parts[-3:])
        once, _ = _grow(tmp_path / f"{number} once", name, [whole])
        growing, bytes_read = _grow(
            tmp_path / f"{number} growing", name, [*(whole[:cut] for cut in cuts), whole]
        )
        assert growing == once, path
        read, there = read + sum(bytes_read), there + len(whole)
    # Four saves of each; most of these transcripts are a few turns.
    assert read < 2 * there
