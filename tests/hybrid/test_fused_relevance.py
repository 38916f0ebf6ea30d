"""What words and vectors say together is a probability that more evidence never lowers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.retrieval.scope import multiply_odds
from kizami_core.retrieval.vector_source import Judgement
from kizami_hybrid.backend import judge
from kizami_hybrid.relevance import MOST_ODDS, fused_relevance, leads

FAR = {number: 0.5 - number / 1_000 for number in range(2, 60)}
PROBABILITIES = st.floats(0, 1)
LEADS = st.floats(0, 2)


@settings(max_examples=100, deadline=None)
@given(PROBABILITIES, PROBABILITIES, LEADS, LEADS)
def test_more_evidence_of_either_kind_never_means_less(one, other, lead, further):
    low, high = sorted((one, other))
    behind, ahead = sorted((lead, further))
    # Within what the last digit of a float is worth.
    assert fused_relevance(low, behind) <= fused_relevance(high, behind) + 1e-12
    assert fused_relevance(low, behind) <= fused_relevance(low, ahead) + 1e-12
    assert 0 <= fused_relevance(low, ahead) <= multiply_odds(low, MOST_ODDS) + 1e-12 <= 1 + 1e-9


@pytest.mark.parametrize("relevance", [0.0, 0.2, 1.0])
def test_without_a_lead_the_relevance_is_that_of_the_words(relevance):
    assert fused_relevance(relevance, 0.0) == pytest.approx(relevance)


def test_vectors_alone_bring_nothing_back():
    assert fused_relevance(0.0, 2.0) == 0.0


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
    assert list(plain) == list(moved) == [0]
    assert plain[0] == pytest.approx(moved[0])


def test_only_the_nearest_chunk_leads_and_the_farther_ahead_the_more():
    close, ahead = leads({1: 0.51, **FAR}), leads({1: 0.52, **FAR})
    assert list(close) == list(ahead) == [1]
    assert 0 < close[1] < ahead[1] < 2
    assert leads({1: 0.9, **FAR}) == {1: 2.0}


@pytest.mark.parametrize(
    "cosines", [{1: 0.9}, {number: 1 - number / 50 for number in range(19)}, dict.fromkeys(range(50), 0.8)]
)
def test_among_few_or_equal_chunks_none_leads(cosines):
    assert leads(cosines) == {}


def test_judging_moves_the_relevance_of_the_nearest_and_the_order_of_all():
    candidates = [Judgement(9, 0.3, 12.0), Judgement(1, 0.2, 3.0), Judgement(99, 0.1, 1.0)]
    nearest, moved, far = judge([candidates[1], candidates[0], candidates[2]], {1: 0.9, **FAR}, "score")
    assert (nearest.relevance, nearest.cosine) == (fused_relevance(0.2, 2.0), 0.9)
    assert (moved.relevance, moved.cosine) == (pytest.approx(0.3), FAR[9])
    assert (far.relevance, far.rank_score, far.cosine) == (pytest.approx(0.1), 0.0, None)
    assert nearest.rank_score > moved.rank_score / 2 > far.rank_score


def test_without_an_answer_judging_changes_nothing():
    candidates = [Judgement(1, 0.4, 12.0), Judgement(2, 0.0, 3.0)]
    assert judge(candidates, {}, "score") is candidates
