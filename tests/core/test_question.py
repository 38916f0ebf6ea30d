import pytest

from kizami_core.question import question
from kizami_core.recall_report import RecallReport
from kizami_core.retrieval.query import analyze_query
from memories import config


@pytest.mark.parametrize(
    ("prompt", "outcome"),
    [
        ("はい", "steering"),
        ("ありがとう、続けて", "steering"),
        ("please continue", "steering"),
        ("/review the parser", "no_question"),
        ("<task-notification>done</task-notification>", "no_question"),
        (" \u3000\n", "no_question"),
    ],
)
def test_prompt_that_asks_nothing_is_told_from_its_text(prompt, outcome):
    assert question(prompt, config(min_relevance_score=0.2)) == RecallReport(outcome, 0.2)


def test_prompt_that_asks_is_analyzed():
    prompt = "在庫引当の競合はどう防ぐ？"
    assert question(prompt, config()) == analyze_query(prompt)


def test_limit_of_zero_asks_nothing():
    assert question("在庫引当の競合はどう防ぐ？", config(recall_limit=0)) == RecallReport("limit_zero", 0.0)
