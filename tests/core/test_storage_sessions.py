"""Finding and listing sessions and chunks."""

import pytest

from kizami_core.errors import NotFoundError
from kizami_core.records import Metadata
from kizami_core.storage.chunks import find_chunk, parse_metadata
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.sessions import find_session, list_sessions, refresh_sessions

_ROWS = [
    ("aaaa-1", "/p", "2026-01-01 00:00:00"),
    ("aaaa-2", "/p", "2026-01-03 00:00:00"),
    ("bbbb_1", "/q", "2026-01-02T00:00:00Z"),
]


@pytest.fixture
def connection(tmp_path):
    connection = open_database(str(tmp_path / "memory.db"))
    with transaction(connection):
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, created_at, chunk_index, content, role) "
            "VALUES (?, ?, ?, 0, '[User]\nx', 'human')",
            _ROWS,
        )
        refresh_sessions(connection, [row[0] for row in _ROWS])
    yield connection
    connection.close()


def _ids(sessions):
    return [session.session_id for session in sessions]


def test_sessions_are_listed_the_last_one_first(connection):
    assert _ids(list_sessions(connection)) == ["aaaa-2", "bbbb_1", "aaaa-1"]
    assert _ids(list_sessions(connection, limit=1)) == ["aaaa-2"]
    assert _ids(list_sessions(connection, project_path="/p")) == ["aaaa-2", "aaaa-1"]
    assert _ids(list_sessions(connection, project_path="/")) == []


@pytest.mark.parametrize(
    ("prefix", "session_id"),
    [("aaaa-1", "aaaa-1"), ("b", "bbbb_1"), ("bbbb_", "bbbb_1"), ("aaaa-2", "aaaa-2")],
)
def test_a_session_is_found_by_its_id_or_a_unique_prefix(connection, prefix, session_id):
    assert find_session(connection, prefix).session_id == session_id


def test_a_whole_id_is_found_although_it_begins_another(connection):
    with transaction(connection):
        connection.execute("INSERT INTO sessions(session_id, project_path) VALUES ('aaaa', '/p')")
    assert find_session(connection, "aaaa").session_id == "aaaa"


def test_an_ambiguous_prefix_names_the_candidates(connection):
    with pytest.raises(
        NotFoundError, match=r"'aaaa' begins the ids of 2 sessions: aaaa-2, aaaa-1\. Write more"
    ):
        find_session(connection, "aaaa")


def test_of_many_candidates_some_are_named(connection):
    with transaction(connection):
        connection.executemany(
            "INSERT INTO sessions(session_id, project_path) VALUES (?, '/p')", [(f"c{n}",) for n in range(7)]
        )
    with pytest.raises(NotFoundError, match=r"7 sessions: c0, c1, c2, c3, c4 and 2 more"):
        find_session(connection, "c")


@pytest.mark.parametrize("prefix", ["", "aaaa-3", "AAAA", "%", "_", "bbbb%", "bbbbx"])
def test_what_begins_no_id_is_not_found(connection, prefix):
    with pytest.raises(NotFoundError, match="kizami list --all-projects"):
        find_session(connection, prefix)


@pytest.mark.parametrize("text", ["1", "#1", " 1 ", "01"])
def test_a_chunk_is_found_by_its_number(connection, text):
    assert find_chunk(connection, text).session_id == "aaaa-1"


@pytest.mark.parametrize(
    "text", ["", "0", "4", "-1", "1x", "１", "9" * 30, "9999999999999999999", "#", "aaaa-1"]
)
def test_a_number_that_is_no_chunk_is_not_found(connection, text):
    with pytest.raises(NotFoundError, match="kizami search"):
        find_chunk(connection, text)


@pytest.mark.parametrize("text", [None, "", "{", "[]", "3", '{"filePaths": "a", "toolNames": null}'])
def test_metadata_of_another_shape_counts_as_absent(text):
    assert parse_metadata(text) == Metadata()


def test_metadata_of_the_typescript_kizami_is_read():
    text = '{"filePaths":["src/a.ts", 3],"toolNames":["Bash"],"errorMessages":["失敗"]}'
    assert parse_metadata(text) == Metadata(("src/a.ts",), ("Bash",), ("失敗",))
