"""What recall leaves out, what a pin adds, and the report of it all."""

import pytest

from kizami_core.recall import recall
from kizami_core.retrieval import word_index
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.searching import search
from kizami_core.storage.connection import transaction
from kizami_core.storage.marks import set_mark
from kizami_core.storage.sessions import refresh_session
from memories import NOW, OTHER_PROJECT, PROJECT, config

GATE = RECOMMENDED_GATE
ASKED = "在庫引当の競合の楽観ロック"
# Answers that say different things about the same, so that none repeats another.
ANSWERS = (
    "楽観ロックの version 列にしました。更新が 0 行なら読み直します。",
    "夜間のバッチだけは楽観ロックを外し、倉庫ごとに順番に流します。",
    "楽観ロックに負けた注文は三回まで試し、それでもだめなら客に謝ります。",
    "Redis は使わず、引当の表に楽観ロックを掛けると決めました。",
)


@pytest.fixture
def book(noisy_book):
    return noisy_book


def report(book, prompt, *, session="now", shown=(), **changes):
    settings = config(**{"min_relevance_score": GATE, "project_scope": "tiered", **changes})
    options = {"session_id": session, "project_path": PROJECT, "config": settings, "now": NOW}
    return recall(book.connection, prompt, already_shown=shown, **options).report


def mark(book, chunk_id, name):
    with transaction(book.connection):
        set_mark(book.connection, [chunk_id], name)


def verdicts(found):
    return {candidate.chunk_id: candidate.verdict for candidate in found.candidates}


def test_what_the_session_was_shown_makes_room_for_others(book):
    ids = [book.add("在庫引当の競合", answer, session=answer) for answer in ANSWERS]
    first = report(book, ASKED, recall_limit=2).shown_ids()
    second = report(book, ASKED, recall_limit=2, shown=first).shown_ids()
    assert sorted(first + second) == ids
    third = report(book, ASKED, recall_limit=2, shown=ids)
    assert (third.outcome, third.shown_ids()) == ("all_hidden", [])
    assert verdicts(third) == dict.fromkeys(ids, "already_shown")


@pytest.mark.parametrize("gate", [GATE, 0.0])
def test_an_older_copy_of_what_the_session_was_shown_stays_away_too(book, gate):
    old = book.add("在庫引当の競合", ANSWERS[0], session="a", at="2025-12-01 00:00:00")
    new = book.add("在庫引当の競合", ANSWERS[0], session="b")
    changed = {"min_relevance_score": gate}
    assert report(book, ASKED, **changed).shown_ids() == [new]
    again = report(book, ASKED, shown=[new], **changed)
    assert (again.outcome, verdicts(again)) == ("all_hidden", {new: "already_shown", old: "repeats"})
    # What is newer may say something new.
    assert report(book, ASKED, shown=[old], **changed).shown_ids() == [new]


def test_hidden_candidates_take_no_place_among_the_candidates(book):
    for _ in range(35):
        book.add("在庫引当の競合", "楽観ロックの version 列", session="now")
    right = book.add("在庫引当の競合", "楽観ロックの列。", session="past")
    found = report(book, "在庫引当の競合の楽観ロックの version", min_relevance_score=0.01)
    assert found.shown_ids() == [right]
    assert set(verdicts(found).values()) == {"shown", "own_session"}


def test_where_this_project_was_shown_other_projects_have_their_turn(book):
    here = book.add("在庫引当の競合", "楽観ロックの version 列。")
    told = "倉庫の側では引当の競合を楽観ロックで防ぐ。列の名は version とし、夜間に空になる。"
    there = book.add("この設計は？", told, project=OTHER_PROJECT)
    asked = {"prompt": "在庫引当の競合を楽観ロックの version 列で防ぐ", "recall_limit": 1}
    assert report(book, **asked).shown_ids() == [here]
    assert report(book, shown=[here], **asked).shown_ids() == [there]


def test_a_muted_memory_is_not_shown_and_search_still_finds_it(book):
    muted = book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。")
    mark(book, muted, "muted")
    found = report(book, "在庫引当の競合の防ぎ方")
    assert (found.shown_ids(), verdicts(found)[muted]) == ([], "muted")
    assert muted not in report(book, "在庫引当の競合の防ぎ方", min_relevance_score=0.0).shown_ids()
    options = {"project_path": PROJECT, "scope": True, "limit": 5, "config": config(), "now": NOW}
    assert search(book.connection, "在庫引当の競合", **options)[0].chunk.id == muted


def test_a_pin_doubles_the_odds_in_its_own_project_alone(book):
    chunk_id = book.add("在庫引当の競合", "楽観ロックの version 列にしました。")

    def odds(**options):
        found = recall(
            book.connection,
            "在庫の zzyzx",
            session_id="now",
            config=config(min_relevance_score=0.9999, project_scope=False),
            now=NOW,
            **options,
        ).report
        (value,) = (one.relevance for one in found.candidates if one.chunk_id == chunk_id)
        return value / (1 - value)

    before, elsewhere = odds(project_path=PROJECT), odds(project_path=OTHER_PROJECT)
    mark(book, chunk_id, "pinned")
    assert odds(project_path=PROJECT) == pytest.approx(2 * before, rel=0.05)
    assert odds(project_path=OTHER_PROJECT) == elsewhere


def test_a_pin_brings_back_nothing_where_there_is_no_evidence(book):
    chunk_id = book.add("在庫引当の競合", "楽観ロックの version 列にしました。")
    mark(book, chunk_id, "pinned")
    assert report(book, "明日の東京の天気を教えてください").shown_ids() == []
    assert chunk_id not in verdicts(report(book, "Kubernetes の監視", min_relevance_score=0.0))


@pytest.mark.parametrize(
    ("prompt", "changes", "outcome"),
    [
        ("/clear", {}, "no_question"),
        ("在庫引当の競合", {"recall_limit": 0}, "limit_zero"),
        ("はい、続けて", {}, "steering"),
        ("zzyzx quuux", {}, "unknown_words"),
        ("在庫引当の競合を楽観ロックの version 列で防ぐ", {}, "shown"),
        ("在庫引当の競合を楽観ロックの version 列で防ぐ", {"min_relevance_score": 1.0}, "below_gate"),
    ],
)
def test_the_report_says_how_it_ended(book, prompt, changes, outcome):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。")
    assert report(book, prompt, **changes).outcome == outcome


def test_words_that_too_many_memories_hold_propose_no_candidate(noisy_book):
    # More than the 1,000 postings that are read of a term: it selects nothing any more.
    insert = (
        "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
        " VALUES ('many', ?, ?, '在庫', 'mixed', '2026-01-01 00:00:00')"
    )
    with transaction(noisy_book.connection):
        noisy_book.connection.executemany(insert, [(OTHER_PROJECT, number) for number in range(1_001)])
        refresh_session(noisy_book.connection, "many")
        word_index.refresh(noisy_book.connection)
    found = report(noisy_book, "在庫 zzyzx", project_scope=False)
    assert found.outcome == "no_candidates"
    assert {term.term: term.memories > 1_000 for term in found.terms} == {"在庫": True, "zzyzx": False}


def test_the_report_tells_terms_candidates_and_times(book):
    right = book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。")
    found = report(book, "在庫引当の競合を楽観ロックの version 列で防ぐ zzyzx", project_scope=True)
    assert (found.gate, found.memories) == (GATE, 301)
    terms = {term.term: term.memories for term in found.terms}
    assert (terms["在庫"], terms["zzyzx"]) == (1, 0)
    assert found.terms[-1].term == "zzyzx"
    best = found.candidates[0]
    assert (best.chunk_id, best.verdict, best.decay) == (right, "shown", 1.0)
    assert best.bm25 > 0
    assert GATE < best.relevance <= 1
    assert 0 < best.coverage <= 1
    assert found.tokens > 50
    assert list(found.milliseconds) == ["lookup", "candidates", "rerank", "format"]


def test_what_was_good_enough_but_not_shown_is_told_apart(book):
    ids = [book.add("在庫引当の競合", answer, session=answer) for answer in ANSWERS[:3]]
    neighbour = book.add("在庫引当の競合", "楽観ロックだ。", session=ANSWERS[0])
    book.connection.execute("UPDATE chunks SET chunk_index = 1 WHERE id = ?", (neighbour,))
    found = verdicts(report(book, ASKED, recall_limit=1))
    assert sorted(found[chunk_id] for chunk_id in [*ids, neighbour]) == [
        "over_limit",
        "over_limit",
        "repeats",
        "shown",
    ]


def test_all_that_is_shown_is_reported_whatever_the_limit(book):
    for number in range(14):
        told = "".join(chr(0x4E00 + 97 * number + step) for step in range(40))
        book.add(f"在庫引当の競合 {number}", f"楽観ロック。{told}", session=f"s{number}")
    found = report(book, ASKED, recall_limit=14, min_relevance_score=0.01)
    assert len(found.shown_ids()) == len(found.candidates) == 14
