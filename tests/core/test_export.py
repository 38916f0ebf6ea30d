"""Exports, of sound and of damaged databases."""

import json
import os
import sqlite3

import pytest

from kizami_core.config import parse_config
from kizami_core.errors import DatabaseCorruptError, StorageError
from kizami_core.export import export_json, export_markdown
from kizami_core.maintenance.integrity import IntegrityReport, check, is_readable
from kizami_core.recording import save_transcript
from kizami_core.retrieval import word_index
from kizami_core.storage.connection import open_damaged_database, open_database, transaction
from kizami_core.storage.sessions import refresh_session
from transcripts import Transcript

_PASSWORD = "password = hunter2-secret"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "memory.db")


@pytest.fixture
def connection(path):
    connection = open_database(path)
    yield connection
    connection.close()


def _save(connection, folder, transcript):
    save_transcript(connection, transcript.write(folder), config=parse_config({}, {})[0], now=1_780_000_000.0)


@pytest.fixture
def saved(connection, tmp_path):
    later = Transcript("later", cwd="/home/dev/other").ask("# 見出しのような質問").answer("はい。")
    call = (
        Transcript("early").ask("how?\nin detail").call("c", "Edit", file_path="src/a.py").result("c", "done")
    )
    _save(connection, tmp_path, call.answer("Like **this**:\n\n```py\nx = 1\n```"))
    _save(connection, tmp_path, later)
    with transaction(connection):
        connection.execute("UPDATE chunks SET created_at = '2026-03-05 00:00:00' WHERE session_id = 'later'")
        refresh_session(connection, "later")
    return connection


def test_json_holds_every_session_with_its_chunks(saved):
    document = json.loads("".join(export_json(saved)))
    assert document == {
        "sessions": [
            {
                "session_id": "early",
                "project_path": "/home/dev/my-app",
                "started_at": "2026-03-04 05:07:07",
                "ended_at": "2026-03-04 05:07:07",
                "chunk_count": 1,
                "first_message": "how?\nin detail",
                "last_message": "how?\nin detail",
                "parent_session_id": None,
                "chunks": [
                    {
                        "id": 1,
                        "session_id": "early",
                        "project_path": "/home/dev/my-app",
                        "chunk_index": 0,
                        "content": "[User]\nhow?\nin detail\n\n[Tool: Edit] src/a.py\n\n[Assistant]\n"
                        "Like **this**:\n\n```py\nx = 1\n```",
                        "role": "mixed",
                        "metadata": {
                            "file_paths": ["src/a.py"],
                            "tool_names": ["Edit"],
                            "error_messages": [],
                        },
                        "created_at": "2026-03-04 05:07:07",
                        "token_count": document["sessions"][0]["chunks"][0]["token_count"],
                    }
                ],
            },
            {
                "session_id": "later",
                "project_path": "/home/dev/other",
                "started_at": "2026-03-05 00:00:00",
                "ended_at": "2026-03-05 00:00:00",
                "chunk_count": 1,
                "first_message": "# 見出しのような質問",
                "last_message": "# 見出しのような質問",
                "parent_session_id": None,
                "chunks": [
                    {
                        "id": 2,
                        "session_id": "later",
                        "project_path": "/home/dev/other",
                        "chunk_index": 0,
                        "content": "[User]\n# 見出しのような質問\n\n[Assistant]\nはい。",
                        "role": "mixed",
                        "metadata": {"file_paths": [], "tool_names": [], "error_messages": []},
                        "created_at": "2026-03-05 00:00:00",
                        "token_count": document["sessions"][1]["chunks"][0]["token_count"],
                    }
                ],
            },
        ],
        "unreadable_ids": [],
    }


def test_markdown_is_made_to_be_read(saved):
    assert "".join(export_markdown(saved)) == (
        "# Kizami memory\n"
        "\n"
        "## /home/dev/my-app\n"
        "\n"
        "### how? in detail\n"
        "\n"
        "2026-03-04 05:07:07 to 2026-03-04 05:07:07 (UTC), session `early`\n"
        "\n"
        "#### 2026-03-04 05:07:07\n"
        "\n"
        "> **User**\n"
        "> how?\n"
        "> in detail\n"
        ">\n"
        "> **Edit** src/a.py\n"
        ">\n"
        "> **Assistant**\n"
        "> Like **this**:\n"
        ">\n"
        "> ```py\n"
        "> x = 1\n"
        "> ```\n"
        ">\n"
        "> <sub>#1</sub>\n"
        "\n"
        "## /home/dev/other\n"
        "\n"
        "### # 見出しのような質問\n"
        "\n"
        "2026-03-05 00:00:00 to 2026-03-05 00:00:00 (UTC), session `later`\n"
        "\n"
        "#### 2026-03-05 00:00:00\n"
        "\n"
        "> **User**\n"
        "> # 見出しのような質問\n"
        ">\n"
        "> **Assistant**\n"
        "> はい。\n"
        ">\n"
        "> <sub>#2</sub>\n"
    )


def test_one_project_can_be_exported(saved):
    document = json.loads("".join(export_json(saved, project_path="/home/dev/other")))
    assert [session["session_id"] for session in document["sessions"]] == ["later"]
    assert "how?" not in "".join(export_markdown(saved, project_path="/home/dev/other"))


def test_what_is_older_can_be_left_out(saved):
    document = json.loads("".join(export_json(saved, since="2026-03-05 00:00:00")))
    assert [session["session_id"] for session in document["sessions"]] == ["later"]
    assert "how?" not in "".join(export_markdown(saved, since="2026-03-05 00:00:00"))
    assert json.loads("".join(export_json(saved, since="2026-03-06")))["sessions"] == []


def test_markdown_names_a_sub_agent_with_its_parent(saved):
    with transaction(saved):
        saved.execute("UPDATE sessions SET parent_session_id = 'early' WHERE session_id = 'later'")
    assert "session `later`, sub-agent of `early`\n" in "".join(export_markdown(saved))


def test_an_empty_database_is_an_empty_document(connection):
    assert json.loads("".join(export_json(connection))) == {"sessions": [], "unreadable_ids": []}
    assert "".join(export_markdown(connection)) == "# Kizami memory\n"


def test_a_session_without_messages_is_named_by_its_id(connection):
    with transaction(connection):
        connection.execute("INSERT INTO sessions(session_id, project_path) VALUES ('bare', '/p')")
    assert "\n### bare\n" in "".join(export_markdown(connection))


@pytest.mark.parametrize("export", [export_json, export_markdown])
def test_secrets_in_rows_of_older_programs_are_masked(connection, export):
    with transaction(connection):
        connection.execute(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, metadata) "
            "VALUES ('s', '/p', 0, ?, 'human', ?)",
            (f"[User]\nuse {_PASSWORD}", json.dumps({"errorMessages": [f"Error: {_PASSWORD}"]})),
        )
        refresh_session(connection, "s")
        word_index.refresh(connection)
    text = "".join(export(connection))
    assert "hunter2" not in text
    assert "password" in text


def test_an_export_is_streamed(saved):
    pieces = export_json(saved)
    assert next(pieces) == '{"sessions": ['
    assert '"early"' in next(pieces)
    pieces.close()


def _fill(connection, count):
    with transaction(connection):
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role) "
            "VALUES (?, ?, ?, ?, 'mixed')",
            [
                (f"s{number % 3}", f"/p{number % 3}", number, f"[User]\nchunk {number} {'あ' * 900}")
                for number in range(count)
            ],
        )
        for session in range(3):
            refresh_session(connection, f"s{session}")
        word_index.refresh(connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _page_bytes(path):
    with open(path, "rb") as file:
        return int.from_bytes(file.read(18)[16:], "big")  # of the header of every SQLite file


def _page_of(connection, table):
    return connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]


def _page_with(path, text):
    with open(path, "rb") as file:
        return file.read().index(text) // _page_bytes(path) + 1


def _overwrite(path, page):
    with open(path, "r+b") as file:
        file.seek((page - 1) * _page_bytes(path))
        file.write(b"\xa5" * _page_bytes(path))


def test_of_a_damaged_table_the_other_pages_are_rescued(connection, path):
    _fill(connection, 60)
    connection.close()
    _overwrite(path, _page_with(path, b"chunk 30 "))
    damaged = open_damaged_database(path)
    assert not is_readable(damaged)
    document = json.loads("".join(export_json(damaged)))
    chunks = [chunk for session in document["sessions"] for chunk in session["chunks"]]
    assert 31 in document["unreadable_ids"]
    assert {chunk["id"] for chunk in chunks} | set(document["unreadable_ids"]) == set(range(1, 61))
    assert len(chunks) > 50
    assert [session["session_id"] for session in document["sessions"]] == ["s0", "s1", "s2"]
    for session in document["sessions"]:
        indexes = [chunk["chunk_index"] for chunk in session["chunks"]]
        assert indexes == sorted(indexes)
        assert session["chunk_count"] == len(indexes)
    markdown = "".join(export_markdown(damaged, project_path="/p1"))
    assert f"Damaged: {len(document['unreadable_ids'])} row ids can't be read: " in markdown
    assert "chunk 1 " in markdown
    assert "chunk 2 " not in markdown
    damaged.close()


@pytest.mark.parametrize(
    "table", ["sessions", "idx_chunks_session", "sqlite_sequence", "schema_version", "idx_chunks_created"]
)
def test_a_damaged_page_elsewhere_costs_no_chunk(connection, path, table):
    _fill(connection, 12)
    page = _page_of(connection, table)
    connection.close()
    _overwrite(path, page)
    damaged = open_damaged_database(path)
    document = json.loads("".join(export_json(damaged)))
    assert sum(len(session["chunks"]) for session in document["sessions"]) == 12
    assert document["unreadable_ids"] == []
    damaged.close()


def test_text_that_is_no_utf_8_any_more_comes_with_replacement_characters(connection, path):
    _fill(connection, 12)
    connection.close()
    with open(path, "r+b") as file:
        place = file.read().index(b"chunk 3 ")
        file.seek(place)
        file.write(b"ch\xffnk 3")
    connection = open_database(path, read_only=True)
    assert is_readable(connection)
    assert "ch\ufffdnk 3" in "".join(export_markdown(connection))
    connection.close()


def test_a_file_of_which_nothing_is_left_says_so(connection, path):
    _fill(connection, 12)
    connection.close()
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"\0" * (os.path.getsize(path) - 100))
    damaged = open_damaged_database(path)
    with pytest.raises(DatabaseCorruptError, match="Move the file away"):
        list(export_json(damaged))
    damaged.close()


def test_a_file_that_can_not_be_opened_at_all_says_so(tmp_path):
    with pytest.raises(StorageError, match="unable to open"):
        open_damaged_database(str(tmp_path / "gone.db"))


def test_a_check_names_damage_and_drift(connection, path):
    _fill(connection, 12)
    with transaction(connection):
        connection.execute("UPDATE sessions SET chunk_count = 7 WHERE session_id = 's1'")
        connection.execute("DELETE FROM sessions WHERE session_id = 's2'")
        connection.execute("INSERT INTO chunks_fts(rowid, content) VALUES (99, 'stray')")
        connection.execute("UPDATE chunks SET content = 'new' WHERE id = 3")
    report = check(connection)
    assert report.damage == ()
    assert [problem.partition(":")[0] for problem in report.drift] == [
        "chunks_fts",
        "2 sessions whose row disagrees with their chunks",
    ]
    assert report.queued == 1
    page = _page_of(connection, "chunks")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    _overwrite(path, page)
    connection = sqlite3.connect(path)
    report = check(connection)
    assert report.damage != ()
    assert report.drift == ()
    connection.close()


def test_a_check_of_what_is_no_database_says_so(path):
    with open(path, "wb") as file:
        file.write(b"no database" * 1000)
    connection = sqlite3.connect(path)
    assert check(connection) == IntegrityReport(("file is not a database",), ())
    assert not is_readable(connection)
    connection.close()
