import pytest

from kizami_core.retrieval import word_index
from kizami_core.storage.connection import transaction
from memories import OTHER_PROJECT, PROJECT, MemoryBook


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    yield made
    made.connection.close()


def holders(book, term):
    rows = book.connection.execute(
        "SELECT rowid FROM chunks_words WHERE chunks_words MATCH ?", (f'"{term}"',)
    )
    return sorted(word_index.index_row(row[0]) for row in rows)


def change(book, statement, *parameters):
    with transaction(book.connection):
        book.connection.execute(statement, parameters)


def refresh(book, **options):
    with transaction(book.connection):
        return word_index.refresh(book.connection, **options)


def test_edit_by_another_program_is_caught_up(book):
    number = book.add("認証", "JWT")
    change(book, "UPDATE chunks SET content = '在庫' WHERE id = ?", number)
    assert holders(book, "認証") == [number]
    assert refresh(book) == 1
    assert (holders(book, "認証"), holders(book, "在庫")) == ([], [number])


def test_several_edits_before_a_refresh_leave_the_last(book):
    number = book.add("認証", "JWT")
    for text in ("在庫", "決済", "監視"):
        change(book, "UPDATE chunks SET content = ? WHERE id = ?", text, number)
    refresh(book)
    assert [holders(book, term) for term in ("認証", "在庫", "決済", "監視")] == [[], [], [], [number]]


def test_deleted_chunk_leaves_the_index(book):
    number = book.add("認証", "JWT")
    change(book, "DELETE FROM chunks WHERE id = ?", number)
    refresh(book)
    assert holders(book, "認証") == []


def test_chunk_that_came_and_went_between_refreshes_leaves_no_trace(book):
    change(
        book,
        "INSERT INTO chunks(id, session_id, project_path, chunk_index, content, role)"
        " VALUES (99, 's', '/p', 0, '認証', 'mixed')",
    )
    change(book, "UPDATE chunks SET content = '在庫' WHERE id = 99")
    change(book, "DELETE FROM chunks WHERE id = 99")
    assert refresh(book) == 1
    assert (holders(book, "認証"), holders(book, "在庫")) == ([], [])


def test_move_to_another_project_changes_its_token(book):
    number = book.add("認証", "JWT")
    book.add("認証", "よそ", project=OTHER_PROJECT, session="there")
    change(book, "UPDATE chunks SET project_path = ? WHERE id = ?", OTHER_PROJECT, number)
    refresh(book)
    here, there = (
        book.connection.execute("SELECT id FROM projects WHERE path = ?", (path,)).fetchone()[0]
        for path in (PROJECT, OTHER_PROJECT)
    )
    assert number not in holders(book, word_index.project_token(here))
    assert number in holders(book, word_index.project_token(there))


def test_limited_refresh_takes_the_newest_first_and_can_be_continued(book):
    numbers = [book.add(f"認証{n}", "JWT") for n in range(5)]
    with transaction(book.connection):
        book.connection.execute("UPDATE chunks SET content = '在庫'")
    assert refresh(book, limit=2) == 2
    assert holders(book, "在庫") == numbers[3:]
    assert refresh(book, limit=10) == 3
    assert holders(book, "在庫") == numbers


def test_rebuild_makes_the_same_index(book):
    book.add_noise(40)
    before = {term: holders(book, term) for term in ("画面", "余白", "ログ", "button", "form")}
    with transaction(book.connection):
        assert word_index.rebuild(book.connection) == 40
    assert {term: holders(book, term) for term in before} == before


def test_replacing_insert_of_another_program_does_not_stop_the_index(book):
    number = book.add("認証", "JWT")
    change(
        book,
        "INSERT OR REPLACE INTO chunks(id, session_id, project_path, chunk_index, content, role)"
        " VALUES (?, 'past', ?, 0, '在庫', 'mixed')",
        number,
        PROJECT,
    )
    refresh(book)
    assert number in holders(book, "在庫")


def test_newest_chunk_stands_first_in_the_index(book):
    added = [book.add("認証", f"{number}") for number in range(3)]
    rows = book.connection.execute(
        "SELECT rowid FROM chunks_words WHERE chunks_words MATCH ? ORDER BY rowid", ('"認証"',)
    )
    assert [word_index.index_row(row[0]) for row in rows] == added[::-1]
