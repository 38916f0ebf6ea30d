"""No statement of a recall reads a whole table, however it ends (ARCHITECTURE.md, "Storage")."""

import re

import pytest

from kizami_core.recall import recall
from memories import NOW, OTHER_PROJECT, PROJECT, MemoryBook, config

QUESTION = "在庫引当の競合はどう防ぐ？ useState"
# What can't be told from its plan alone: how many rows there are.
SMALL_TABLES = {"projects", "marks"}


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    made.add_noise(40)
    made.add("在庫引当の競合はどう防ぐ？", "楽観ロックにして useState で持ちます。")
    made.add("在庫引当の競合", "よそでは version 列です。", project=OTHER_PROJECT, session="there")
    yield made
    made.connection.close()


def plans(book, prompt, **settings):
    """Return the plan of every statement that a recall runs, with the statement."""
    statements = []
    book.connection.set_trace_callback(statements.append)
    recall(
        book.connection,
        prompt,
        session_id="now",
        project_path=settings.pop("project_path", PROJECT),
        config=config(**settings),
        now=NOW,
    )
    book.connection.set_trace_callback(None)
    # What SQLite's virtual tables ask by themselves is traced as a comment.
    asked = [statement for statement in statements if not statement.startswith("--")]
    assert asked
    return [
        (row[3], statement)
        for statement in asked
        for row in book.connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]


@pytest.mark.parametrize(
    ("prompt", "settings"),
    [
        (QUESTION, {"min_relevance_score": 0.05, "project_scope": "tiered"}),
        (QUESTION, {"min_relevance_score": 0.99, "project_scope": "tiered"}),
        (QUESTION, {"min_relevance_score": 0.05, "project_scope": False}),
        (QUESTION, {"min_relevance_score": 0.05, "project_path": "/nowhere", "project_scope": "tiered"}),
        (QUESTION, {"min_relevance_score": 0.0, "project_scope": "tiered"}),
        ("zzyzx kubernettes", {"min_relevance_score": 0.05, "project_scope": "tiered"}),
    ],
    ids=["shown", "silent", "everywhere", "unknown-project", "no-gate", "unknown-words"],
)
def test_recall_reads_no_table_from_end_to_end(book, prompt, settings):
    scanned = {
        (match[1], match[2])
        for plan, _ in plans(book, prompt, **settings)
        if (match := re.match(r"SCAN (\w+)(.*)", plan)) and "VIRTUAL TABLE INDEX" not in plan
    }
    # How many chunks there are in all is summed from an index, of which a session takes some thirty bytes.
    allowed = {("sessions", " USING COVERING INDEX idx_sessions_size")}
    assert {scan for scan in scanned if scan[0] not in SMALL_TABLES} <= allowed
