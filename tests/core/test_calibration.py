"""Calibration on small histories whose answers are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.calibration import (
    GATES,
    Asked,
    Calibration,
    PastPrompt,
    Rate,
    are_unrelated,
    calibrate,
    fitted_gate,
    past_prompts,
    prompt_of,
)
from kizami_core.records import Hit, Metadata
from kizami_core.storage.chunks import find_chunk, metadata_text
from kizami_core.storage.connection import transaction
from kizami_core.storage.marks import set_mark
from memories import NOW, MemoryBook, config, exchange

SHOP, GARDEN = "/home/dev/shop", "/home/dev/garden"
POOL = "接続プールが枯渇した原因を transaction の timeout から調べて"
MAIL = "Which queue sends the mails of the invoice service?"


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    yield made
    made.connection.close()


def day(number):
    return f"2025-03-{number:02} 09:00:00"


def measured(book, **options):
    prompts = past_prompts(book.connection, options.pop("limit", 50))
    settings = config(**options.pop("settings", {}))
    *_, last = calibrate(book.connection, prompts, config=settings, now=NOW, **options)
    return last


def best_ids(calibration):
    return {asked.prompt.chunk.id: asked.best.chunk.id if asked.best else None for asked in calibration.own}


# --- rates ---


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [
        # Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        (Rate(81, 263), 0.2553, 0.3662),
        (Rate(15, 148), 0.0624, 0.1605),
        (Rate(0, 20), 0.0, 0.1611),
        (Rate(1, 29), 0.0061, 0.1718),
        (Rate(0, 0), 0.0, 1.0),
    ],
)
def test_interval_is_that_of_wilson(rate, low, high):
    assert rate.interval() == pytest.approx((low, high), abs=1e-4)


@given(st.integers(1, 500).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
def test_interval_holds_the_share_and_shrinks_with_more_prompts(counts):
    low, high = Rate(*counts).interval()
    more_low, more_high = Rate(counts[0] * 4, counts[1] * 4).interval()
    assert 0.0 <= low <= counts[0] / counts[1] + 1e-12
    assert counts[0] / counts[1] - 1e-12 <= high <= 1.0
    assert more_high - more_low < high - low


# --- what each gate does ---


def known(*, own=(), foreign=(), again=(), limit=3):
    chunk_hits = [None if relevance is None else Hit(None, 0.0, relevance) for relevance in own]
    asked = tuple(Asked(PastPrompt("", None), hit) for hit in chunk_hits)
    return Calibration(asked, 0, tuple(foreign), tuple(again), limit)


def test_rates_of_a_gate_count_what_reaches_it():
    calibration = known(own=[0.5, 0.2, None, 0.3], foreign=[0.0, 0.3, 0.1])
    assert calibration.fires(0.3) == Rate(2, 4)
    assert calibration.fires(0.0) == Rate(3, 4)
    assert calibration.fires_falsely(0.3) == Rate(1, 3)
    assert calibration.fires_falsely(0.0) == Rate(2, 3)


def test_a_turn_is_found_again_among_the_first_that_reach_the_gate():
    behind_two = ((0.4, False), (0.6, False), (0.5, True))
    calibration = known(again=[behind_two, ((0.9, False),)], limit=2)
    assert [calibration.finds_again(gate) for gate in (0.4, 0.45, 0.55)] == [
        Rate(0, 2),
        Rate(1, 2),
        Rate(0, 2),
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0, 1))
def test_the_lowest_gate_keeps_the_rate_and_no_lower_one_does(foreign, wanted):
    calibration = known(foreign=foreign)
    gate = calibration.lowest_gate(wanted)
    lower = [other for other in GATES if gate is None or other < gate]
    assert all(calibration.fires_falsely(other).share > wanted for other in lower)
    assert gate is None or calibration.fires_falsely(gate).share <= wanted


def test_prompts_nearest_to_a_gate_come_nearest_first():
    calibration = known(own=[0.9, None, 0.28, 0.2, 0.3])
    assert [asked.best.relevance for asked in calibration.nearest(0.29, 3)] == [0.28, 0.3, 0.2]


def test_the_gate_fitted_to_answers_parts_them_in_the_middle():
    answers = [(0.1, False)] * 6 + [(0.3, True)] * 6
    assert fitted_gate(answers) == pytest.approx(0.21, abs=0.011)
    assert fitted_gate([*answers, (0.2, True)]) == pytest.approx(0.155, abs=0.011)


def test_a_gate_lies_where_something_was_judged():
    assert fitted_gate([(0.2, True)] + [(0.3, False)] * 12) == pytest.approx(0.305, abs=0.01)
    assert fitted_gate([(0.2, True)] * 12 + [(0.3, False)]) == pytest.approx(0.195, abs=0.01)
    assert fitted_gate([(0.01, False), (0.02, True)] * 9) is None


@pytest.mark.parametrize(
    "answers", [[], [(0.1, False), (0.3, True)], [(0.3, True)] * 20, [(0.3, False)] * 20]
)
def test_few_answers_or_of_one_kind_fit_no_gate(answers):
    assert fitted_gate(answers) is None


# --- the sample ---


@pytest.mark.parametrize(
    ("content", "prompt"),
    [
        (exchange("なぜ？", "だから。"), "なぜ？"),
        ("[User]\nfirst\n\nsecond\n\n[Tool: Bash] ls\nout", "first\n\nsecond"),
        ("[User]\nalone", "alone"),
        ("[User]", ""),
    ],
)
def test_the_prompt_is_what_stands_under_the_first_mark(content, prompt):
    assert prompt_of(content) == prompt


def test_the_newest_prompts_of_all_projects_are_taken_in_turn(book):
    shop = [book.add(f"shop {number}", "done", project=SHOP, at=day(number)) for number in (1, 2, 3)]
    garden = [
        book.add(f"garden {number}", "done", project=GARDEN, session="g", at=day(number)) for number in (1, 2)
    ]
    book.add("", "", project=SHOP, at=day(9), content="[Assistant]\nno prompt")
    book.add("<task-notification> done", "ok", project=SHOP, at=day(9))
    book.add("/compact", "ok", project=SHOP, at=day(9))
    taken = [prompt.chunk.id for prompt in past_prompts(book.connection, 4)]
    assert taken == [garden[1], shop[2], garden[0], shop[1]]
    assert [prompt.text for prompt in past_prompts(book.connection, 9, SHOP)] == [
        "shop 3",
        "shop 2",
        "shop 1",
    ]


def test_sub_agents_and_the_later_pieces_of_a_turn_are_no_prompts(book):
    first, piece, agent = (book.add(f"one {number}", "done", project=SHOP) for number in range(3))
    with transaction(book.connection):
        book.connection.execute(
            "INSERT INTO turns(id, uuid, session_id, started_at, text_length) VALUES (7, 'u', 'past', ?, 1)",
            (day(1),),
        )
        book.connection.execute("UPDATE chunks SET turn_id = 7 WHERE id IN (?, ?)", (first, piece))
        book.connection.execute("UPDATE chunks SET is_agent = 1 WHERE id = ?", (agent,))
    assert [prompt.chunk.id for prompt in past_prompts(book.connection, 9)] == [first]


# --- asked again ---


def test_a_prompt_is_asked_of_older_memories_of_other_sessions(book):
    first = book.add(POOL, "finally で閉じていません。", session="a", project=SHOP, at=day(1))
    again = book.add(POOL, "また閉じていません。", session="b", project=SHOP, at=day(2))
    at_once = book.add(POOL, "同じ時刻です。", session="c", project=SHOP, at=day(2))
    same_session = book.add(POOL, "同じ会話です。", session="a", project=SHOP, at=day(3))
    with transaction(book.connection):
        set_mark(book.connection, [again], "muted")
    assert best_ids(measured(book)) == {
        first: None,
        again: first,
        at_once: first,
        same_session: at_once,
    }


def test_the_scope_of_the_configuration_holds_for_own_prompts(book):
    there = book.add(POOL, "閉じます。", session="a", project=GARDEN, at=day(1))
    here = book.add(POOL, "開きます。", session="b", project=SHOP, at=day(2))
    assert best_ids(measured(book)) == {there: None, here: None}
    for scope in ("tiered", False):
        assert best_ids(measured(book, settings={"project_scope": scope})) == {there: None, here: there}


def test_what_only_steers_counts_as_silent_and_is_not_asked_elsewhere(book):
    book.add("続けて", "はい。", project=SHOP)
    book.add("run the tests", "ok", project=SHOP)
    book.add(MAIL, "RabbitMQ.", project=GARDEN, session="g")
    calibration = measured(book)
    assert (len(calibration.own), calibration.steering) == (3, 2)
    assert (calibration.foreign, len(calibration.again)) == ((0.0,), 1)


def test_a_time_that_is_none_brings_nothing(book):
    book.add(POOL, "閉じます。", session="a", project=SHOP, at=day(1))
    odd = book.add(POOL, "開きます。", session="b", project=SHOP, at="sometime")
    assert best_ids(measured(book))[odd] is None


def test_what_an_unrelated_project_says_is_false(book):
    book.add(POOL, "閉じます。", session="a", project=SHOP)
    book.add(POOL, "閉じます。", session="g", project=GARDEN)
    high = measured(book, settings={"project_scope": "tiered"}).foreign
    assert len(high) == 2
    assert min(high) > 0.3
    book.add(MAIL, "RabbitMQ.", session="b", project=SHOP, at=day(1))
    assert min(measured(book).foreign) == 0.0


def test_projects_that_name_each_others_files_are_asked_nothing(book):
    shop = book.add(POOL, "閉じます。", session="a", project=SHOP)
    book.add(POOL, "閉じます。", session="g", project=GARDEN)
    with transaction(book.connection):
        book.connection.execute(
            "UPDATE chunks SET metadata = ? WHERE id = ?",
            (metadata_text(Metadata((f"{GARDEN}/src/pool.py",))), shop),
        )
    assert measured(book).foreign == ()


@pytest.mark.parametrize(
    ("path", "other", "expected"),
    [
        ("/home/dev/shop", "/home/dev/garden", True),
        ("/home/dev/shop-api", "/home/dev/shop_web", False),
        ("/home/dev/shop", "/home/dev/shop/packages/ui", False),
        ("/home/dev/shop", "/home/dev/shopping", True),
        ("/home/dev/a-1", "/home/dev/b-1", True),
        (r"C:\dev\shop", r"C:\dev\shop\ui", False),
        ("/home/dev/料理メモ", "/srv/料理メモ", False),
    ],
)
def test_projects_are_unrelated_by_place_and_name(path, other, expected):
    assert are_unrelated(path, other, ()) is are_unrelated(other, path, ()) is expected


def test_a_file_of_the_other_relates_both_ways():
    for pair in ((SHOP, GARDEN), (GARDEN, SHOP)):
        assert not are_unrelated(SHOP, GARDEN, {pair})


def test_a_shortened_prompt_finds_its_own_turn(book):
    asked = book.add(POOL, "finally で閉じていません。", session="a", project=SHOP)
    book.add(MAIL, "RabbitMQ.", session="b", project=SHOP)
    book.add("短い質問", "はい。", session="c", project=SHOP)
    calibration = measured(book)
    assert len(calibration.again) == 2
    assert all(found[0][1] for found in calibration.again)
    assert find_chunk(book.connection, str(asked)).content.startswith("[User]\n接続プール")


def test_another_piece_of_the_turn_is_the_turn(book):
    first = book.add(POOL, "", session="a", project=SHOP)
    second = book.add("", "", session="a", project=SHOP, content=f"[Assistant]\n{POOL}")
    with transaction(book.connection):
        book.connection.execute(
            "INSERT INTO turns(id, uuid, session_id, started_at, text_length) VALUES (7, 'u', 'a', ?, 1)",
            (day(1),),
        )
        book.connection.execute("UPDATE chunks SET turn_id = 7 WHERE id IN (?, ?)", (first, second))
    (found,) = measured(book).again
    assert [is_it for _, is_it in found] == [True, True]


def test_the_same_seed_draws_the_same_sample(book):
    for number in range(12):
        book.add(
            f"{POOL} {number}",
            "閉じます。" * (1 + 40 * (number % 4)),
            session=f"s{number}",
            project=f"/home/dev/{'abcd'[number % 4] * 4}",
        )
    assert measured(book, seed=5) == measured(book, seed=5)
    assert len({measured(book, seed=seed).foreign for seed in range(4)}) > 1


def test_no_prompts_yield_nothing(book):
    assert list(calibrate(book.connection, [], config=config(), now=NOW)) == []
