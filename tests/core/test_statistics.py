import pytest

from kizami_core.storage.chunks import Place, find_chunk, newest_ids, place_in_session
from kizami_core.storage.statistics import ProjectStatistics, WeekGrowth, read_growth, read_projects
from kizami_core.timestamps import epoch_seconds
from memories import OTHER_PROJECT, PROJECT, MemoryBook

WEEKS = [epoch_seconds(f"2025-12-{day} 00:00:00") for day in ("08", "15", "22")]


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    yield made
    made.connection.close()


def plan(book, read):
    """Return the plans of the statements that a function runs."""
    statements = []
    book.connection.set_trace_callback(statements.append)
    read()
    book.connection.set_trace_callback(None)
    return {row[3] for each in statements for row in book.connection.execute(f"EXPLAIN QUERY PLAN {each}")}


def test_growth_counts_the_chunks_of_each_week_by_the_time_of_their_turn(book):
    for at in ("2025-12-07 23:59:59", "2025-12-08 00:00:00", "2025-12-14 23:59:59", "2026-03-01 00:00:00"):
        book.add("いつ？", "その週です。", at=at)
    assert read_growth(book.connection, WEEKS) == [
        WeekGrowth(WEEKS[0], 2),
        WeekGrowth(WEEKS[1], 0),
        WeekGrowth(WEEKS[2], 1),
    ]


def test_growth_reads_the_index_of_times_alone(book):
    assert plan(book, lambda: read_growth(book.connection, WEEKS)) == {
        "SEARCH chunks USING COVERING INDEX idx_chunks_created (created_at>? AND created_at<?)"
    }


def test_projects_come_with_the_most_chunks_first_and_from_an_index(book):
    book.add("一", "1", session="a")
    book.add("二", "2", session="b", project=OTHER_PROJECT)
    book.add("三", "3", session="c", project=OTHER_PROJECT)
    assert read_projects(book.connection) == [
        ProjectStatistics(OTHER_PROJECT, 2, 2),
        ProjectStatistics(PROJECT, 1, 1),
    ]
    assert "SCAN sessions USING COVERING INDEX idx_sessions_size" in plan(
        book, lambda: read_projects(book.connection)
    )


def test_a_chunk_knows_its_place_among_those_of_its_session(book):
    first, second, third = (book.add(f"質問{number}", "答え") for number in range(3))
    book.add("別の会話", "別の答え", session="other")

    def place(chunk_id):
        return place_in_session(book.connection, find_chunk(book.connection, str(chunk_id)))

    assert [place(first), place(second), place(third)] == [
        Place(1, 3, None, second),
        Place(2, 3, first, third),
        Place(3, 3, second, None),
    ]


def test_a_place_is_found_without_reading_a_table(book):
    chunk = find_chunk(book.connection, str(book.add("質問", "答え")))
    steps = plan(book, lambda: place_in_session(book.connection, chunk))
    assert [step for step in steps if step.startswith("SCAN ") and step != "SCAN CONSTANT ROW"] == []


def test_the_newest_ids_are_those_of_the_project(book):
    ids = [book.add(f"質問{number}", "答え") for number in range(3)]
    other = book.add("よそ", "よその答え", session="other", project=OTHER_PROJECT)
    assert newest_ids(book.connection, PROJECT, 2) == [ids[2], ids[1]]
    assert newest_ids(book.connection, None, 2) == [other, ids[2]]
    assert plan(book, lambda: newest_ids(book.connection, PROJECT, 2)) == {
        "SEARCH chunks USING COVERING INDEX idx_chunks_project (project_path=?)"
    }
