import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.recall_log import LoggedRecall
from kizami_core.recall_report import CandidateReport, RecallReport
from kizami_core.recall_statistics import RecallFigures, WeekOfRecall, recall_by_week, recall_figures


def shown(at, *ids, tokens=100, total=None):
    candidates = tuple(CandidateReport(chunk_id, "shown") for chunk_id in ids)
    spent = {} if total is None else {"lookup": 1.0, "total": total}
    report = RecallReport("shown", 0.1, candidates=candidates, tokens=tokens, milliseconds=spent)
    return LoggedRecall(at, "session", "/home/dev/app", "プロンプト", report)


def silent(at, outcome, total=None):
    spent = {} if total is None else {"total": total}
    report = RecallReport(outcome, 0.1, candidates=(CandidateReport(1, "below_gate"),), milliseconds=spent)
    return LoggedRecall(at, "session", "/home/dev/app", "はい", report)


NOTHING = RecallFigures(None, 0, 0, {}, 0, 0, None, None)


def test_recalls_are_summed_up_by_what_became_of_them():
    entries = [
        silent(30.0, "steering", total=10.0),
        shown(20.0, 1, 2, total=40.0),
        silent(10.0, "below_gate", total=20.0),
        silent(40.0, "steering", total=30.0),
        shown(50.0, 3, tokens=50),
    ]
    assert recall_figures(entries) == RecallFigures(
        since=10.0,
        prompts=5,
        shown=2,
        silent={"steering": 2, "below_gate": 1},
        memories=3,
        tokens=150,
        p50_ms=20.0,
        p95_ms=40.0,
    )
    assert list(recall_figures(entries).silent) == ["steering", "below_gate"]


def test_without_recalls_there_are_no_times():
    assert recall_figures([]) == NOTHING


def test_each_week_has_what_happened_from_its_first_moment_to_the_next_ones():
    entries = [shown(9.0, 1), shown(10.0, 2), silent(19.9, "steering"), shown(500.0, 4)]
    assert recall_by_week(entries, [10.0, 20.0, 30.0]) == [
        WeekOfRecall(10.0, recall_figures(entries[1:3])),
        WeekOfRecall(20.0, NOTHING),
        WeekOfRecall(30.0, recall_figures(entries[3:])),
    ]


@pytest.mark.parametrize(
    ("count", "median", "slow"), [(1, 1.0, 1.0), (2, 1.0, 2.0), (20, 10.0, 19.0), (100, 50.0, 95.0)]
)
def test_percentiles_are_values_that_were_measured(count, median, slow):
    figures = recall_figures([shown(0.0, total=float(number)) for number in range(count, 0, -1)])
    assert (figures.p50_ms, figures.p95_ms) == (median, slow)


@given(st.lists(st.floats(1, 100), max_size=20))
def test_weeks_add_up_to_the_whole(moments):
    entries = [shown(at, 1) if at > 50 else silent(at, "steering") for at in moments]
    weeks = recall_by_week(entries, [0.0, 25.0, 60.0])
    whole = recall_figures(entries)
    assert sum(week.figures.prompts for week in weeks) == whole.prompts
    assert sum(week.figures.shown for week in weeks) == whole.shown
    assert sum(week.figures.tokens for week in weeks) == whole.tokens
