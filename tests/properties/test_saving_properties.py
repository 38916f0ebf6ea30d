"""The law of saving: whatever readings of a growing transcript are saved, in whatever order and how often,
the rows are those of saving its longest reading once."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.config import parse_config
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import save_transcript
from kizami_core.storage.connection import open_database
from transcripts import Transcript, rows

_NOW = 1_780_000_000.0
_CONFIG = parse_config({"chunking": {"maxTokensPerChunk": 64}}, {})[0]
_SMALL_FILE = 60_000  # bytes, of the measured transcripts: enough of them for a fast test

_TEXTS = st.sampled_from(
    [
        "はい",
        "接続プールを直して",
        "<private>secret plan</private>",
        "see src/db/pool.ts " * 30,
        "段落。\n\n" * 40,
        "👨‍👩‍👧" * 30,
        "```py\n" + "x = 1\n" * 60 + "```",
        "[Assistant] is what it says",
    ]
)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), _TEXTS),
        st.tuples(st.just("answer"), _TEXTS),
        st.tuples(st.just("part"), _TEXTS),
        st.tuples(st.just("call"), st.integers(0, 3)),
        st.tuples(st.just("result"), st.integers(0, 7)),
        st.tuples(st.just("again"), st.integers(0, 30)),
        st.tuples(
            st.just("raw"),
            st.sampled_from(["", "{", '{"type":"x"}', "null", '{"a":1}{"b":2}']),
        ),
    ),
    min_size=1,
    max_size=14,
)


def _transcript(steps):
    transcript = Transcript()
    for kind, value in steps:
        if kind == "ask":
            transcript.ask(value)
        elif kind == "answer":
            transcript.answer(value)
        elif kind == "part":
            transcript.answer(value, message_id="shared-by-several-records")
        elif kind == "call":
            transcript.call(f"c{value}", "Bash", command=f"make {value % 2}")
        elif kind == "result":
            transcript.result(f"c{value % 4}", f"line {value}\n" * 60, is_error=value > 3)
        elif kind == "raw":
            transcript.raw(value)
        elif transcript.lines:
            transcript.raw(transcript.lines[value % len(transcript.lines)])
    return "".join(f"{line}\n" for line in transcript.lines).encode()


def _saved(folder, readings):
    """Save these contents of one file, one after the other, into a new database; return the rows."""
    folder.mkdir()
    path = str(folder / "session-1.jsonl")
    connection = open_database(str(folder / "memory.db"))
    for content in readings:
        with open(path, "wb") as file:
            file.write(content)
        os.utime(path, (_NOW, _NOW))
        save_transcript(connection, path, config=_CONFIG, now=_NOW)
    found = rows(connection)
    assert check(connection) == IntegrityReport((), ())
    connection.close()
    return found


@settings(max_examples=20, deadline=None)
@given(steps=_STEPS, cuts=st.lists(st.floats(0, 1), max_size=4), order=st.randoms(use_true_random=False))
def test_any_readings_and_the_whole_equal_the_whole(tmp_path_factory, steps, cuts, order):
    folder = tmp_path_factory.mktemp("law")
    whole = _transcript(steps)
    readings = [whole[: int(cut * len(whole))] for cut in cuts]
    once = _saved(folder / "once", [whole])
    assert _saved(folder / "growing", [*sorted(readings, key=len), whole]) == once
    shuffled = [*readings, whole]
    order.shuffle(shuffled)
    assert _saved(folder / "shuffled", shuffled) == once


@settings(max_examples=25, deadline=None)
@given(steps=_STEPS, more=_STEPS, cut=st.floats(0, 1))
def test_a_fork_adds_only_what_is_new(tmp_path_factory, steps, more, cut):
    """The copy has the records of the parent (same uuids) up to some point, and goes on."""
    folder = tmp_path_factory.mktemp("fork")
    parent = _transcript(steps)
    kept = parent[: parent.rfind(b"\n", 0, int(cut * len(parent)) + 1) + 1]
    new = b"".join(
        _transcript(more).replace(b'"uuid": "session-1-', b'"uuid": "new-').splitlines(keepends=True)
    )
    connection = open_database(str(folder / "memory.db"))
    for name, content in (("parent", parent), ("fork", kept + new), ("parent", parent), ("fork", kept + new)):
        path = folder / f"{name}.jsonl"
        path.write_bytes(content)
        os.utime(path, (_NOW, _NOW))
        report = save_transcript(connection, str(path), config=_CONFIG, now=_NOW)
    assert report.turns_written == 0
    uuids = [row[0] for row in connection.execute("SELECT uuid FROM turns WHERE session_id = 'fork'")]
    assert all(uuid.startswith(("new-", "fork:")) for uuid in uuids)
    assert check(connection) == IntegrityReport((), ())
    connection.close()


@pytest.mark.shared
def test_the_law_holds_on_measured_transcripts(shared, tmp_path):
    paths = [
        path
        for path in sorted((shared / "data/transcripts").rglob("*.jsonl"))
        if path.stat().st_size < _SMALL_FILE
    ]
    assert len(paths) > 20
    choose = random.Random(20260304)
    for number, path in enumerate(choose.sample(paths, 20)):
        whole = path.read_bytes()
        cuts = sorted(choose.randrange(len(whole) + 1) for _ in range(3))
        once = _saved(tmp_path / f"{number} once", [whole])
        assert _saved(tmp_path / f"{number} growing", [*(whole[:cut] for cut in cuts), whole]) == once, path


@pytest.mark.shared
def test_two_readings_of_one_real_session_count_once(shared, tmp_path):
    """The same session at two points of time, as the client left it."""
    folder = shared / "data/transcripts/entireio+cli_at_entire"
    earlier, later = (
        (folder / name / "0/full.jsonl").read_bytes() for name in ("42/527c9c20c8", "dd/9f29bc2a1a")
    )
    once = _saved(tmp_path / "once", [later])
    assert _saved(tmp_path / "both", [earlier, later]) == once
