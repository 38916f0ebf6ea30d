"""Saving what was added: how much is read, rewritten files, answers that the transcript lacks."""

import json
import os

import pytest

from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, edit_chunk
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import LastAnswer, save_transcript
from kizami_core.storage.chunks import session_chunks
from kizami_core.storage.connection import open_database
from kizami_core.transcript import turns
from transcripts import Transcript, rows

_NOW = 1_780_000_000.0
_CONFIG = parse_config({}, {})[0]


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    yield connection
    assert check(connection) == IntegrityReport((), ())
    connection.close()


def _save(connection, path, **options):
    return save_transcript(connection, path, config=_CONFIG, now=_NOW, **options)


def _rows_once(tmp_path, path):
    """Return the rows of saving a transcript once, into a database of its own."""
    connection = open_database(str(tmp_path / "once.db"))
    _save(connection, path)
    found = rows(connection)
    connection.close()
    return found


def _contents(connection, session_id="session-1"):
    return [chunk.content for chunk in session_chunks(connection, session_id)]


def _append(path, transcript, since):
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in transcript.lines[since:])


def test_a_new_turn_on_50_mb_reads_only_the_tail(connection, tmp_path):
    transcript = Transcript()
    filler = json.dumps({"type": "progress", "data": "x" * 1_000_000})
    for number in range(50):
        transcript.ask(f"question {number}").answer(f"answer {number}").raw(filler)
    transcript.ask("the last question").answer("the last answer")
    path = transcript.write(tmp_path)
    first = _save(connection, path)
    assert first.bytes_read == os.path.getsize(path) > 50_000_000
    before = len(transcript.lines)
    transcript.ask("a new question").answer("a new answer")
    _append(path, transcript, before)
    report = _save(connection, path)
    tail = sum(len(line) + 1 for line in transcript.lines[before - 2 :])
    assert (report.turns_written, report.bytes_read) == (1, tail)
    assert tail < 1000
    assert _save(connection, path).bytes_read == 0
    assert rows(connection) == _rows_once(tmp_path, path)


def test_a_session_that_works_for_hours_on_one_prompt_is_not_read_again_each_time(connection, tmp_path):
    """Each answer ends with a Stop although no person writes: notifications of background work go on."""
    transcript = Transcript().ask("work through the list")
    path = transcript.write(tmp_path)
    read = []
    for number in range(30):
        before = len(transcript.lines)
        transcript.call(f"c{number}", "Bash", command=f"make {number}")
        transcript.result(f"c{number}", "出力の行です。\n" * 15_000)
        transcript.ask("<task-notification>\n<status>completed</status>\n</task-notification>")
        transcript.answer(f"part {number} is done")
        _append(path, transcript, before)
        read.append(_save(connection, path, last_answer=LastAnswer(f"part {number} is done")).bytes_read)
    assert os.path.getsize(path) > 18_000_000
    assert max(read) < 2 * turns._FULL_TURN_BYTES + 700_000
    assert rows(connection) == _rows_once(tmp_path, path)
    contents = _contents(connection)
    assert [text.startswith("[User]\nwork through the list") for text in contents].count(True) == 1
    assert sum(f"part {number} is done" in text for text in contents for number in (0, 15, 29)) == 3


def test_the_records_of_one_response_stay_in_one_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "_FULL_TURN_BYTES", 300)
    transcript = Transcript().ask("go").answer("one " * 100, message_id="m1").answer("two", message_id="m1")
    transcript.answer("three", message_id="m2").answer("four", message_id="m2")
    found = list(turns.TranscriptReader(transcript.write(tmp_path)))
    assert [(turn.prompt, len(turn.parts)) for turn in found] == [("go", 2), ("", 2)]
    assert found[1].uuid == "session-1-3"


@pytest.mark.parametrize("keeps_the_beginning", [False, True])
def test_a_file_that_was_written_anew_is_read_from_its_beginning(connection, tmp_path, keeps_the_beginning):
    transcript = Transcript()
    for number in range(60):
        transcript.ask(f"question {number}").answer(f"answer {number} " * 20)
    path = transcript.write(tmp_path)
    _save(connection, path)
    other = Transcript()
    other.lines = transcript.lines[:40] if keeps_the_beginning else []
    for number in range(120):
        other.ask(f"another question {number}", uuid=f"new-{number}").answer(f"another answer {number} " * 20)
    assert os.path.getsize(other.write(tmp_path)) > os.path.getsize(transcript.write(tmp_path / "before"))
    other.write(tmp_path)
    assert _save(connection, path).bytes_read == os.path.getsize(path)
    contents = _contents(connection)
    assert [sum(word in text for text in contents) for word in ("another question", "question")] == [120, 180]


def test_a_file_that_was_cut_off_loses_nothing_and_may_grow_again(connection, tmp_path):
    transcript = Transcript()
    for number in range(5):
        transcript.ask(f"question {number}").answer(f"answer {number}")
    path = transcript.write(tmp_path)
    _save(connection, path)
    before = rows(connection)
    transcript.write(tmp_path, lines=5)
    assert _save(connection, path).bytes_read == os.path.getsize(path)
    assert rows(connection) == before
    transcript.ask("question 5").write(tmp_path)
    _save(connection, path)
    assert rows(connection) == _rows_once(tmp_path, path)


def test_another_file_of_the_same_name_is_not_taken_for_the_one_that_was_read(connection, tmp_path):
    """The hook names the session where the path does not."""
    path = Transcript().ask("one").write(tmp_path, name="transcript.txt")
    _save(connection, path, session_id="a")
    Transcript().ask("one").ask("two", uuid="t").write(tmp_path, name="transcript.txt")
    assert _save(connection, path, session_id="b").bytes_read == os.path.getsize(path)


def test_what_a_person_changed_stays_whatever_is_saved_afterwards(connection, tmp_path):
    transcript = Transcript().ask("one").answer("1").ask("two").answer("2").ask("three").answer("3")
    path = transcript.write(tmp_path)
    _save(connection, path)
    delete_chunks(connection, ["1", "3"], now=_NOW)
    edit_chunk(connection, "2", "what a person wrote", now=_NOW)
    before = len(transcript.lines)
    transcript.answer("3 goes on").ask("four").answer("4")
    _append(path, transcript, before)
    _save(connection, path)
    _save(connection, path, from_start=True)
    copy = transcript.write(tmp_path / "copy", name="copy.jsonl")
    _save(connection, copy)
    assert _contents(connection) == ["what a person wrote", "[User]\nfour\n\n[Assistant]\n4"]
    assert _contents(connection, "copy") == []


def test_a_chunk_of_the_typescript_kizami_that_a_person_deleted_does_not_come_back(connection, tmp_path):
    connection.executemany(
        "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at) "
        "VALUES ('session-1', '/home/dev/my-app', ?, ?, 'mixed', ?)",
        [(0, "old one", "2026-03-04 05:07:07"), (1, "old two", "2026-03-04T05:09:07.000Z")],
    )
    transcript = Transcript().ask("one").answer("1").ask("two").answer("2")
    path = transcript.write(tmp_path)
    delete_chunks(connection, ["1"], now=_NOW)
    assert _save(connection, path).turns_unchanged == 2
    assert _contents(connection) == ["old two"]
    transcript.ask("three").write(tmp_path)
    _save(connection, path)
    _save(connection, path, from_start=True)
    assert _contents(connection) == ["old two", "[User]\nthree"]


class TestAnswersThatTheTranscriptLacks:
    """The hook Stop comes before the record of the answer is written."""

    def _lagging(self):
        return Transcript().ask("状態管理は？").call("c1", "Bash", command="ls").result("c1", "src")

    def _stop(self, connection, path, message, **options):
        return _save(connection, path, last_answer=LastAnswer(message, **options))

    def _last(self, connection):
        return _contents(connection)[-1].split("\n\n")

    def test_the_answer_is_there_at_once_and_the_record_takes_its_place(self, connection, tmp_path):
        transcript = self._lagging()
        path = transcript.write(tmp_path)
        self._stop(connection, path, "useState を採用します。")
        assert self._last(connection)[-1] == "[Assistant]\nuseState を採用します。"
        before = len(transcript.lines)
        transcript.answer("useState を採用します。")
        _append(path, transcript, before)
        _save(connection, path)
        assert rows(connection) == _rows_once(tmp_path, path)
        assert connection.execute("SELECT count(awaited_answer) FROM turns").fetchone() == (0,)

    @pytest.mark.parametrize(
        "record", ["短い。", "useState を採用します。\n\n検証が複雑な画面は別です。" * 3]
    )
    def test_the_record_may_say_it_otherwise(self, connection, tmp_path, record):
        transcript = self._lagging()
        path = transcript.write(tmp_path)
        self._stop(connection, path, "useState を採用します。")
        before = len(transcript.lines)
        transcript.answer(record)
        _append(path, transcript, before)
        _save(connection, path)
        assert rows(connection) == _rows_once(tmp_path, path)

    def test_a_save_that_still_does_not_find_the_record_keeps_the_answer(self, connection, tmp_path):
        transcript = Transcript().ask("状態管理は？")
        path = transcript.write(tmp_path)
        self._stop(connection, path, "useState を採用します。")
        _save(connection, path)
        _save(connection, path, from_start=True)
        assert self._last(connection)[-1] == "[Assistant]\nuseState を採用します。"
        # The records come one by one: the text before a call is not the answer.
        before = len(transcript.lines)
        transcript.answer("確認します。").call("c1", "Bash", command="ls").result("c1", "src")
        _append(path, transcript, before)
        _save(connection, path)
        assert self._last(connection)[-1] == "[Assistant]\nuseState を採用します。"
        assert "[Tool: Bash] ls → src" in self._last(connection)
        before = len(transcript.lines)
        transcript.answer("useState を採用します。")
        _append(path, transcript, before)
        _save(connection, path)
        assert rows(connection) == _rows_once(tmp_path, path)

    def test_a_client_that_is_killed_before_it_writes_the_record_loses_no_answer(self, connection, tmp_path):
        transcript = self._lagging()
        path = transcript.write(tmp_path)
        self._stop(connection, path, "useState を採用します。")
        before = len(transcript.lines)
        transcript.ask("次の質問").answer("次の答え")
        _append(path, transcript, before)
        _save(connection, path)
        _save(connection, path, from_start=True)
        contents = _contents(connection)
        assert contents[0].endswith("[Assistant]\nuseState を採用します。")
        assert contents[1] == "[User]\n次の質問\n\n[Assistant]\n次の答え"

    def test_an_older_reading_of_another_process_does_not_take_the_answer_away(self, connection, tmp_path):
        path = self._lagging().write(tmp_path)
        other = open_database(str(tmp_path / "memory.db"))
        told = []

        def stop_meanwhile(statement):
            if "BEGIN" in statement and not told:
                told.append(statement)
                self._stop(other, path, "useState を採用します。")

        connection.set_trace_callback(stop_meanwhile)
        _save(connection, path)
        connection.set_trace_callback(None)
        other.close()
        assert told
        assert self._last(connection)[-1] == "[Assistant]\nuseState を採用します。"

    @pytest.mark.parametrize(
        "answers",
        [
            ["useState を採用します。"],
            ["useState を", "採用します。"],
            ["考え。", "useState を 採用します。"],
        ],
    )
    def test_an_answer_that_the_transcript_holds_is_not_said_twice(self, connection, tmp_path, answers):
        transcript = self._lagging()
        for answer in answers:
            transcript.answer(answer)
        path = transcript.write(tmp_path)
        self._stop(connection, path, "useState を採用します。\n")
        assert rows(connection) == _rows_once(tmp_path, path)

    def test_secrets_in_it_are_not_stored(self, connection, tmp_path):
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        self._stop(connection, self._lagging().write(tmp_path), f"The token is {token}.")
        stored = connection.execute("SELECT awaited_answer FROM turns").fetchone()[0]
        assert stored.startswith("The token is ")
        assert token not in stored + _contents(connection)[-1]

    def test_an_answer_whose_prompt_is_not_written_yet_is_not_given_to_the_turn_before(
        self, connection, tmp_path
    ):
        transcript = Transcript().ask("one", promptId="p1").answer("1")
        path = transcript.write(tmp_path)
        self._stop(connection, path, "2", prompt_id="p2")
        assert rows(connection) == _rows_once(tmp_path, path)
        before = len(transcript.lines)
        transcript.ask("two", promptId="p2")
        _append(path, transcript, before)
        self._stop(connection, path, "2", prompt_id="p2")
        assert _contents(connection)[-1] == "[User]\ntwo\n\n[Assistant]\n2"

    def test_before_any_turn_is_written_there_is_nothing_to_add_it_to(self, connection, tmp_path):
        path = Transcript().write(tmp_path)
        self._stop(connection, path, "an answer")
        assert _contents(connection) == []
