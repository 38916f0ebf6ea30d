"""The archive: what stands in it, what an import does with it, and what damaged files lead to."""

import gzip
import json
import os
import stat

import pytest

from kizami_core.archive.files import archive_files, file_lines, write_file
from kizami_core.archive.lines import read_lines
from kizami_core.archive.reading import ImportReport, import_archive
from kizami_core.archive.writing import export_archive
from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, delete_session, edit_chunk
from kizami_core.errors import ArchiveError, NotFoundError
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.maintenance.retention import run_maintenance
from kizami_core.records import Metadata
from kizami_core.retrieval import word_index
from kizami_core.searching import search
from kizami_core.storage.chunks import NewChunk, session_chunks
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.maintenance_log import last_entries
from kizami_core.storage.marks import set_mark
from kizami_core.storage.project_aliases import add_alias, all_aliases
from kizami_core.storage.resolutions import resolved_failures
from kizami_core.storage.sessions import list_sessions, name_parent, refresh_session, stored_session
from kizami_core.storage.turns import NewTurn, store_turn
from kizami_core.timestamps import epoch_seconds, format_utc
from kizami_core.transcript.outcomes import Outcome

_NOW = epoch_seconds("2026-06-01 12:00:00")
_DAY = 86_400
_DAWN = "2026-05-01 00:00:00"
_HEADER = {"kizami": "archive", "version": 1}
_SESSION = {
    "type": "session",
    "session_id": "s",
    "project_path": "/p",
    "parent_session_id": None,
    "started_at": _DAWN,
}
_PART = {
    "part": 0,
    "content": "[User]\nフォームの検証",
    "role": "human",
    "metadata": {"filePaths": ["src/form.ts"], "toolNames": [], "errorMessages": []},
    "created_at": _DAWN,
    "token_count": 1,
    "edited_at": None,
    "marks": [],
}
_TURN = {
    "type": "turn",
    "uuid": "t1",
    "session_id": "s",
    "started_at": _DAWN,
    "tie": 0,
    "reading": "open",
    "text_length": 10,
    "part_count": 1,
    "awaited_answer": None,
    "awaited_after": None,
    "is_deleted": False,
    "deleted_parts": [],
    "parts": [_PART],
}


@pytest.fixture
def databases(tmp_path):
    connections = [open_database(str(tmp_path / f"{name}.db")) for name in ("here", "there")]
    yield connections
    for connection in connections:
        assert check(connection) == IntegrityReport((), ())
        connection.close()


@pytest.fixture
def here(databases):
    return databases[0]


@pytest.fixture
def there(databases):
    return databases[1]


def _save(connection, *texts, session="s", started_at=_DAWN, uuid="t", project="/p", outcomes=()):
    """Store a turn for each text; a text of several lines makes a chunk of each line."""
    with transaction(connection):
        for number, text in enumerate(texts, start=1):
            chunks = [
                NewChunk(f"[User]\n{line}", "human", Metadata(("src/form.ts",)), 1)
                for line in text.split("\n")
            ]
            turn = NewTurn(f"{uuid}{number}", started_at, len(text), chunks, None, outcomes)
            change = store_turn(connection, session, project, turn)
            if change:
                refresh_session(connection, change.session_id)
        word_index.refresh(connection)


def _lines(*objects):
    return [json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in objects]


def _whole(*objects):
    return _lines(_HEADER, *objects, {"type": "end", "lines": len(objects)})


def _take(connection, lines, *, dry_run=False, now=_NOW):
    return import_archive(connection, read_lines(lines, "file.jsonl"), now=now, dry_run=dry_run)


def _bring(source, target, **options):
    return _take(target, [line.encode() for line in export_archive(source)], **options)


def _contents(connection, session="s"):
    return [chunk.content.removeprefix("[User]\n") for chunk in session_chunks(connection, session)]


def test_an_archive_says_what_is_stored(here):
    _save(here, "フォームの検証")
    written = [json.loads(line) for line in export_archive(here)]
    assert written == [
        _HEADER,
        _SESSION,
        {**_TURN, "text_length": 7},
        {"type": "end", "lines": 2},
    ]


def test_what_was_imported_is_found_and_listed(here, there):
    _save(here, "フォームの検証は zod でする\n次の話")
    name_parent(here, "s", "parent")
    assert _bring(here, there) == ImportReport(1, 1, 0, 0, 2, 0)
    assert list_sessions(there, include_agents=True) == list_sessions(here, include_agents=True)
    assert stored_session(there, "s").parent_session_id == "parent"
    config = parse_config({}, {"HOME": "/nowhere"})[0]
    found = {"scope": True, "limit": 5, "config": config, "now": _NOW, "include_agents": True}
    (hit,) = search(there, "zod 検証", project_path="/p", **found)
    assert hit.chunk.content == "[User]\nフォームの検証は zod でする"
    assert last_entries(there, 1)[0].detail == "turns added: 1, changed: 0, chunks added: 2"
    assert _bring(here, there) == ImportReport(1, 0, 0, 1, 0, 0)
    assert len(last_entries(there, 9)) == 1


def test_a_dry_run_counts_and_touches_nothing(here, there):
    _save(here, "a\nb", "c")
    add_alias(here, "/old", "/new", now=_NOW)
    assert _bring(here, there, dry_run=True) == ImportReport(1, 2, 0, 0, 3, 0)
    assert list(export_archive(there)) == list(export_archive(there, project_path=None))
    assert list_sessions(there) == []
    assert all_aliases(there) == []


def test_what_a_person_deleted_goes_everywhere_and_stays_away(here, there):
    _save(here, "a\nsecret\nc", "d")
    backup = [line.encode() for line in export_archive(here)]
    _bring(here, there)
    delete_chunks(here, ["2"], now=_NOW)
    assert _bring(here, there) == ImportReport(1, 0, 1, 1, 0, 1)
    assert _contents(there) == ["a", "c", "d"]
    delete_session(there, "s", now=_NOW)
    _bring(there, here)
    assert list_sessions(here) == []
    for connection in (here, there):
        assert _take(connection, backup).chunks_added == 0
        assert list_sessions(connection) == []
        assert "secret" not in "".join(export_archive(connection))
    _save(there, "a\nsecret\nc and more")
    assert list_sessions(there) == []


def test_the_later_of_two_edits_counts_and_beats_a_longer_reading(here, there):
    _save(here, "a\nb")
    _bring(here, there)
    edit_chunk(here, "1", "here", now=_NOW + 10)
    edit_chunk(there, "1", "there", now=_NOW)
    edit_chunk(there, "2", "second", now=_NOW)
    edit_chunk(there, "2", "second again", now=_NOW - 100)
    _bring(here, there)
    _bring(there, here)
    assert _contents(here) == _contents(there) == ["here", "second again"]
    _save(here, "a\nb and much more")
    assert _contents(here) == ["here", "second again"]


def test_a_longer_reading_beats_a_shorter_one_and_goes_on_growing(here, there):
    _save(here, "a\nb")
    _bring(here, there)
    _save(there, "a\nb, more\nc")
    _bring(here, there)
    assert _contents(there) == ["a", "b, more", "c"]
    assert _bring(there, here) == ImportReport(1, 0, 1, 0, 1, 0)
    _save(here, "a\nb, more\nc\nd")
    assert _contents(here) == ["a", "b, more", "c", "d"]


def test_turns_of_one_session_come_into_the_order_of_their_times(here, there):
    _save(here, "first", uuid="x", started_at="2026-05-01 00:00:00")
    _save(here, "third", uuid="z", started_at="2026-05-01 00:00:09")
    _save(there, "second", "second too", uuid="y", started_at="2026-05-01 00:00:05")
    _bring(there, here)
    assert _contents(here) == ["first", "second", "second too", "third"]
    assert [chunk.chunk_index for chunk in session_chunks(here, "s")] == [0, 1, 2, 3]
    _bring(here, there)
    assert list(export_archive(here)) == list(export_archive(there))


def test_chunks_of_the_typescript_kizami_give_way_to_the_turns_that_say_the_same(here, there):
    with transaction(here):
        for index, moment in enumerate(
            ("2026-04-30T00:00:00Z", "2026-05-01T00:00:00Z", "2026-05-01T00:00:01Z")
        ):
            here.execute(
                "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
                " VALUES ('s', '/p', ?, ?, 'mixed', ?)",
                (index, f"old {index}", moment),
            )
        refresh_session(here, "s")
        word_index.refresh(here)
        set_mark(here, [3], "pinned")
    backup = [line.encode() for line in export_archive(here)]
    _save(there, "new")
    report = _take(there, backup)
    assert (report.chunks_added, report.chunks_removed) == (3, 1)
    assert _contents(there) == ["old 0", "old 2", "new"]
    _bring(there, here)
    assert list(export_archive(here)) == list(export_archive(there))
    edit_chunk(here, "1", "corrected", now=_NOW)
    delete_chunks(
        there, [str(there.execute("SELECT id FROM chunks WHERE content = 'old 2'").fetchone()[0])], now=_NOW
    )
    _bring(here, there)
    _bring(there, here)
    assert _contents(here) == _contents(there) == ["corrected", "new"]


def test_moved_folders_move_the_sessions_of_both_sides(here, there):
    _save(here, "a", session="one", uuid="a", project="/old/app")
    _save(there, "b", session="two", uuid="b", project="/old/app/sub")
    _save(there, "c", session="later", uuid="c", project="/old/app", started_at="2026-07-01 00:00:00")
    add_alias(here, "/old/app", "/new/app", now=_NOW)
    _bring(here, there)
    _bring(there, here)
    _bring(here, there)
    for connection in (here, there):
        paths = {session.session_id: session.project_path for session in list_sessions(connection)}
        assert paths == {"one": "/new/app", "two": "/new/app/sub", "later": "/old/app"}
        assert all_aliases(connection) == [("/old/app", "/new/app", "2026-06-01 12:00:00")]
    add_alias(there, "/new/app", "/newest", now=_NOW + 5)
    _bring(there, here)
    assert [(old, new) for old, new, _ in all_aliases(here)] == [
        ("/new/app", "/newest"),
        ("/old/app", "/newest"),
    ]
    assert stored_session(here, "one").project_path == "/newest"


def test_a_session_under_two_paths_ends_under_one_and_the_same(here, there):
    _save(here, "a", project="/Users/me/app")
    _save(there, "a", "b", project="/home/me/app")
    _bring(here, there)
    _bring(there, here)
    assert {stored_session(connection, "s").project_path for connection in (here, there)} == {"/home/me/app"}
    assert list(export_archive(here)) == list(export_archive(there))


def test_a_turn_known_from_two_sessions_ends_in_one(here, there):
    fixed = Outcome("npm test", "Error: x", is_resolved=True, has_succeeded=True)
    _save(here, "a\nb", session="copy", outcomes=[fixed])
    _save(there, "a\nb", session="original", outcomes=[fixed])
    _save(there, "other", session="copy", uuid="other")
    _bring(here, there)
    _bring(there, here)
    for connection in (here, there):
        assert _contents(connection, "original") == ["a", "b"]
        assert _contents(connection, "copy") == ["other"]
        assert [found.session_id for found in resolved_failures(connection, project_path=None)] == [
            "original"
        ]
    assert list(export_archive(here)) == list(export_archive(there))


def test_sub_agents_stay_apart(here, there):
    _save(here, "agent work about zod", session="agent-1")
    with transaction(here):
        here.execute("UPDATE chunks SET is_agent = 1")
        name_parent(here, "agent-1", "s")
    _bring(here, there)
    assert there.execute("SELECT is_agent FROM chunks").fetchall() == [(1,)]
    assert list_sessions(there) == []


def test_what_fixed_an_error_comes_along_and_goes_with_its_turn(here, there):
    failed = Outcome("npm test", "Error: x", is_resolved=False, has_succeeded=False)
    fixed = Outcome("npm test", None, is_resolved=False, has_succeeded=True)
    _save(here, "try", uuid="a", outcomes=[failed])
    _save(here, "fixed", uuid="b", outcomes=[fixed], started_at="2026-05-01 00:01:00")
    _bring(here, there)
    (found,) = resolved_failures(there, project_path=None)
    assert (found.command, found.error, found.session_id) == ("npm test", "Error: x", "s")
    assert list(export_archive(there)) == list(export_archive(here))
    backup = [line.encode() for line in export_archive(here)]
    delete_chunks(here, ["2"], now=_NOW)
    _bring(here, there)
    assert resolved_failures(there, project_path=None) == []
    _take(there, backup)
    assert resolved_failures(there, project_path=None) == []


def test_one_project_or_the_latest_turns_can_be_exported(here, there):
    _save(here, "a", session="one", uuid="a")
    _save(here, "b", session="two", uuid="b", project="/q", started_at="2026-05-20 00:00:00")
    add_alias(here, "/old", "/new", now=_NOW)
    only = "".join(export_archive(here, project_path="/q"))
    assert ('"one"' in only, '"two"' in only, "alias" in only) == (False, True, False)
    late = "".join(export_archive(here, since="2026-05-10 00:00:00"))
    assert ('"one"' in late, '"two"' in late, "alias" in late) == (False, True, True)
    _take(there, [line.encode() for line in late.splitlines(keepends=True)])
    assert [session.session_id for session in list_sessions(there)] == ["two"]


def test_secrets_are_masked_on_the_way_out_and_on_the_way_in(here, there):
    with transaction(here):
        here.execute(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, metadata)"
            " VALUES ('s', '/p', 0, 'password = hunter2-secret', 'human', 'no json')"
        )
        refresh_session(here, "s")
        word_index.refresh(here)
    assert "hunter2" not in "".join(export_archive(here))
    part = {
        **_PART,
        "content": "password = hunter2-secret",
        "metadata": {"errorMessages": ["token = hunter2-x"]},
    }
    _take(there, _whole(_SESSION, {**_TURN, "parts": [part]}))
    assert "hunter2" not in str(there.execute("SELECT content, metadata FROM chunks").fetchall())
    _bring(here, there)
    _bring(there, here)
    assert list(export_archive(here)) == list(export_archive(there))


def test_a_moment_is_exported_whatever_is_written_meanwhile(here, tmp_path):
    _save(here, "a", session="one", uuid="a")
    reader = open_database(str(tmp_path / "here.db"), read_only=True)
    lines = export_archive(reader)
    first = [next(lines), next(lines)]
    _save(here, "b", session="two", uuid="b")
    assert len([*first, *lines]) == 4
    reader.close()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "file.jsonl was cut off after line 0. Get a whole copy"),
        (_lines(_HEADER, _SESSION), "file.jsonl was cut off after line 2. Get a whole copy"),
        (
            _lines({"sessions": []}),
            "line 1 does not begin an archive of Kizami. `kizami export --format jsonl`",
        ),
        (_lines({**_HEADER, "version": 2}), "line 1: a newer Kizami wrote this archive. Upgrade"),
        ([b"\x00\xff"], "line 1 can't be used: it is no JSON. Get a whole copy"),
        (_lines([1]), "line 1 can't be used: it is no object"),
        (_lines(_HEADER, {"type": "end", "lines": 1}), "line 2: lines are missing before the end"),
        (_lines(_HEADER, {"type": "mystery"}), "line 2 can't be used: \"type\" is 'mystery'"),
        (
            _lines(_HEADER, {**_SESSION, "session_id": 1}),
            'line 2 can\'t be used: "session_id" is missing or no text',
        ),
        (_lines(_HEADER, {**_TURN, "tie": True}), '"tie" is missing or no whole number'),
        (_lines(_HEADER, {**_TURN, "text_length": 2**70}), '"text_length" is missing or no whole number'),
        (_lines(_HEADER, {**_TURN, "reading": "closed"}), '"reading" is none of dropped, open, settled'),
        (_lines(_HEADER, {**_TURN, "parts": {}}), '"parts" is missing or no list'),
        (
            _lines(_HEADER, {**_TURN, "parts": [{**_PART, "metadata": 1}]}),
            '"metadata" is missing or no object',
        ),
        ([b'{"kizami":"archive","version":1}\n', b"[" * 100_000], "line 2 can't be used: it is no JSON"),
    ],
)
def test_what_can_not_be_used_is_named_with_its_line_and_a_remedy(here, lines, message):
    with pytest.raises(ArchiveError) as error:
        _take(here, lines)
    assert message in str(error.value)
    assert list_sessions(here) == []


def test_what_came_before_a_damaged_line_is_kept_and_a_whole_copy_completes_it(here):
    turns = [{**_TURN, "uuid": f"t{number}", "tie": number} for number in range(700)]
    whole = _whole(_SESSION, *turns)
    with pytest.raises(ArchiveError, match="line 652 can't be used"):
        _take(here, [*whole[:651], b"{", *whole[652:]])
    assert stored_session(here, "s").chunk_count == 649
    report = _take(here, whole)
    assert (report.turns_added, report.turns_unchanged) == (51, 649)
    with pytest.raises(ArchiveError, match="cut off after line 100"):
        _take(here, whole[:100])


def test_half_a_surrogate_pair_and_lines_of_other_order_are_taken(here):
    line = json.dumps({**_TURN, "parts": [{**_PART, "content": "a\ud800b"}]})
    _take(here, [*_lines(_HEADER, _SESSION), line.encode() + b"\n", *_lines({"type": "end", "lines": 2})])
    assert _contents(here) == ["a?b"]


def test_files_are_compressed_by_their_ending_and_the_same_text_gives_the_same_bytes(here, tmp_path):
    _save(here, "a")
    for name in ("one.jsonl.gz", "two.jsonl.gz", "plain.jsonl"):
        write_file(str(tmp_path / name), export_archive(here))
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert (
        gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()) == (tmp_path / "plain.jsonl").read_bytes()
    )
    assert (tmp_path / "plain.jsonl").stat().st_mode & 0o777 == 0o600
    assert list(file_lines(str(tmp_path / "one.jsonl.gz"))) == list(file_lines(str(tmp_path / "plain.jsonl")))
    assert archive_files(str(tmp_path / "plain.jsonl")) == [str(tmp_path / "plain.jsonl")]
    names = [path.rpartition("/")[2] for path in archive_files(str(tmp_path))]
    assert names == ["one.jsonl.gz", "plain.jsonl", "two.jsonl.gz"]


def test_a_file_that_fails_half_way_is_not_left_behind(tmp_path):
    def pieces():
        yield "a"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_file(str(tmp_path / "new.jsonl"), pieces())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-12], lambda data: data[:40] + b"\xff" * 30 + data[70:]]
)
def test_damaged_compressed_data_are_named(here, there, tmp_path, damage):
    path = tmp_path / "archive.jsonl.gz"
    _save(here, *(f"turn {number} {number * 7919}" for number in range(50)))
    write_file(str(path), export_archive(here))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ArchiveError, match="Get a whole copy of the file and import it again"):
        _take(there, file_lines(str(path)))


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(NotFoundError, match="Check the path"):
        archive_files(str(tmp_path / "gone.jsonl"))
    with pytest.raises(NotFoundError, match="There is no archive"):
        archive_files(str(tmp_path))


def test_imported_memories_live_as_long_as_new_ones(here, there):
    config, _ = parse_config({"maintenance": {"maxChunkAgeDays": 30}}, {"HOME": "/nowhere"})
    _save(here, "old", started_at=format_utc(_NOW - 400 * _DAY))
    _bring(here, there)
    assert run_maintenance(there, config=config, now=_NOW + 2).too_old.chunks == 0
    assert run_maintenance(there, config=config, now=_NOW + 6 * _DAY).too_old.chunks == 0
    for week in range(2, 6):
        report = run_maintenance(there, config=config, now=_NOW + 7 * week * _DAY)
    assert report.too_old.chunks == 1


def test_writing_to_a_link_keeps_the_link(tmp_path):
    (tmp_path / "real.jsonl").write_text("before", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert write_file(str(tmp_path / "link.jsonl"), ["new\n"]) == 4
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_text(encoding="utf-8") == "new\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipe_or_device_is_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert write_file(str(pipe), ["one\n", "two\n"]) == 0
        assert os.read(reader, 100) == b"one\ntwo\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    assert os.listdir(tmp_path) == ["pipe"]
