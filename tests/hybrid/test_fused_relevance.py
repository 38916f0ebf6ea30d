"""What words and vectors say together is a probability that more evidence never lowers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.retrieval.vector_source import Judgement
from kizami_hybrid.backend import judge
from kizami_hybrid.relevance import Nearness, fused_relevance

FAR = {number: 0.5 - number / 1_000 for number in range(2, 60)}
COSINES = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=20, max_size=60, unique=True)


def nearest(cosines):
    return Nearness(dict(enumerate(sorted(cosines, reverse=True))))


@settings(max_examples=100, deadline=None)
@given(COSINES, st.floats(0, 1), st.floats(0, 1))
def test_more_evidence_of_either_kind_never_means_less(cosines, one, other):
    nearness = nearest(cosines)
    low, high = sorted((one, other))
    by_place = [fused_relevance(high, number, nearness) for number in range(len(cosines))]
    assert by_place == sorted(by_place, reverse=True)
    assert fused_relevance(high, 1_000, nearness) <= by_place[-1]
    assert all(0 <= value <= 1 for value in by_place)
    assert fused_relevance(low, 0, nearness) <= by_place[0]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 1_000), min_size=20, max_size=60, unique=True),
    st.integers(1, 50),
    st.integers(-100, 100),
)
def test_the_scale_of_a_models_cosines_does_not_matter(numbers, factor, shift):
    plain = nearest([number / 1_000 for number in numbers])
    moved = nearest([(number * factor + shift) / 1_000 for number in numbers])
    assert fused_relevance(0.2, 0, moved) == pytest.approx(fused_relevance(0.2, 0, plain))


def test_the_nearest_chunk_counts_for_more_the_farther_it_is_ahead():
    close, ahead = Nearness({1: 0.51, **FAR}), Nearness({1: 0.7, **FAR})
    assert fused_relevance(0.2, 1, close) < fused_relevance(0.2, 1, ahead)
    assert fused_relevance(0.2, 3, close) == fused_relevance(0.2, 3, ahead)


def test_vectors_alone_bring_nothing_back():
    assert fused_relevance(0.0, 1, Nearness({1: 0.9, **FAR})) == 0.0


@pytest.mark.parametrize("cosines", [{1: 0.9}, {number: 1 - number / 50 for number in range(19)}])
def test_among_few_chunks_vectors_say_nothing_of_relevance(cosines):
    assert fused_relevance(0.2, 1, Nearness(cosines)) == 0.2


def test_equal_cosines_are_no_error():
    assert 0 < fused_relevance(0.2, 1, Nearness(dict.fromkeys(range(1, 50), 0.8))) < 1


def test_without_an_answer_judging_changes_nothing():
    candidates = [Judgement(1, 0.4, 12.0), Judgement(2, 0.0, 3.0)]
    assert judge(candidates, {}, "score") is candidates
