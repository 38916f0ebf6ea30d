"""What words and vectors say together is a probability that more evidence never lowers."""

from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.retrieval.scope import multiply_odds
from kizami_core.retrieval.vector_source import Judgement
from kizami_hybrid.backend import judge
from kizami_hybrid.relevance import MOST_ODDS, PAST, expects_a_memory, fused_relevance, leads

# Of the neighbours from the eleventh on the standard deviation is 0.0141.
FAR = {number: 0.5 - number / 1_000 for number in range(2, 60)}
PROBABILITIES = st.floats(0, 1)
LEADS = st.floats(0, 2)


@settings(max_examples=100, deadline=None)
@given(PROBABILITIES, PROBABILITIES, LEADS, LEADS, st.booleans())
def test_more_evidence_of_either_kind_never_means_less(one, other, lead, further, is_expected):
    def fused(by_words, lead):
        return fused_relevance(by_words, lead, is_expected=is_expected)

    low, high = sorted((one, other))
    behind, ahead = sorted((lead, further))
    # Within what the last digit of a float is worth.
    assert fused(low, behind) <= fused(high, behind) + 1e-12
    assert fused(low, behind) <= fused(low, ahead) + 1e-12
    assert fused_relevance(low, ahead) <= fused(low, ahead) + 1e-12
    assert 0 <= fused_relevance(low, ahead) <= multiply_odds(low, MOST_ODDS) + 1e-12 <= 1 + 1e-9


@pytest.mark.parametrize("relevance", [0.0, 0.2, 1.0])
def test_without_a_lead_the_relevance_is_that_of_the_words(relevance):
    assert fused_relevance(relevance, 0.0) == pytest.approx(relevance)


def test_vectors_alone_bring_nothing_back_but_to_a_question_about_the_past():
    assert fused_relevance(0.0, 2.0) == 0.0
    assert fused_relevance(0.0, 0.0, is_expected=True) == 0.0
    expected = 1 / (1 + exp(-PAST))
    assert fused_relevance(0.0, 2.0, is_expected=True) == pytest.approx(multiply_odds(expected, MOST_ODDS))
    assert fused_relevance(0.0, 2.0, is_expected=True) > RECOMMENDED_GATE > expected


@pytest.mark.parametrize(
    "prompt",
    ["あの晩の騒ぎ、根っこは何だった？", "予約が重なる件、どう片づけたんだっけ", "Why did we drop Redis?"],
)
def test_a_question_about_the_past_expects_a_memory(prompt):
    assert expects_a_memory(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "run it again",
        "コミットする前にテストして",
        "一つ前のほうがよかった",
        "わかった",
        "これは何？",
        "keep it as before",
    ],
)
def test_what_asks_nothing_or_not_about_the_past_expects_none(prompt):
    assert not expects_a_memory(prompt)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 1_000), min_size=20, max_size=60, unique=True),
    st.integers(1, 50),
    st.integers(-100, 100),
)
def test_the_scale_of_a_models_cosines_does_not_matter(numbers, factor, shift):
    numbers.sort(reverse=True)
    plain = leads({place: number / 1_000 for place, number in enumerate(numbers)})
    moved = leads({place: (number * factor + shift) / 1_000 for place, number in enumerate(numbers)})
    assert list(plain) == list(moved) == [0, 1, 2, 3]
    assert list(plain.values()) == pytest.approx(list(moved.values()))


def test_at_most_four_chunks_stand_out_and_the_farther_ahead_the_more():
    assert leads({1: 0.51, **FAR}) == {1: pytest.approx(15 / 14.1, abs=0.02)} | {
        number: pytest.approx((5 - number) / 14.1, abs=0.02) for number in (2, 3, 4)
    }
    close, ahead = leads({1: 0.505, **FAR}), leads({1: 0.515, **FAR})
    assert 0 < close[1] < ahead[1] < 2
    assert leads({1: 0.9, **FAR})[1] == 2.0


def test_chunks_that_say_the_same_stand_out_together_unless_they_are_five():
    assert leads({0: 0.9, 1: 0.9, **FAR}) == {0: 2.0, 1: 2.0} | {
        number: pytest.approx((4 - number) / 14.1, abs=0.02) for number in (2, 3)
    }
    assert leads(dict.fromkeys((-1, -2, -3, 0, 1), 0.9) | FAR) == {}


@pytest.mark.parametrize(
    "cosines", [{1: 0.9}, {number: 1 - number / 50 for number in range(19)}, dict.fromkeys(range(50), 0.8)]
)
def test_among_few_or_equal_chunks_none_stands_out(cosines):
    assert leads(cosines) == {}


def test_judging_moves_the_relevance_of_the_nearest_and_the_order_of_all():
    candidates = [Judgement(9, 0.3, 12.0), Judgement(1, 0.2, 3.0), Judgement(99, 0.1, 1.0)]
    nearest, moved, far = judge([candidates[1], candidates[0], candidates[2]], {1: 0.9, **FAR}, "score")
    assert (nearest.relevance, nearest.cosine) == (fused_relevance(0.2, 2.0), 0.9)
    assert (moved.relevance, moved.cosine) == (0.3, FAR[9])
    assert (far.relevance, far.rank_score, far.cosine) == (pytest.approx(0.1), 0.0, None)
    assert nearest.rank_score > moved.rank_score / 2 > far.rank_score


def test_without_an_answer_judging_changes_nothing():
    candidates = [Judgement(1, 0.4, 12.0), Judgement(2, 0.0, 3.0)]
    assert judge(candidates, {}, "score") is candidates


def test_judging_brings_back_what_no_word_speaks_for_where_a_memory_is_expected():
    candidates = [Judgement(1, 0.0, 3.0), Judgement(9, 0.0, 1.0)]
    found = [judged.relevance for judged in judge(candidates, {1: 0.9, **FAR}, "score", is_expected=True)]
    assert found == [fused_relevance(0.0, 2.0, is_expected=True), 0.0]
