"""Two orders become one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_hybrid.fusion import fuse_ranks, fuse_scores

CANDIDATES = st.lists(
    st.tuples(st.floats(-5, 50, allow_subnormal=False), st.none() | st.floats(-1, 1, allow_subnormal=False)),
    max_size=20,
)


def test_what_both_orders_praise_stands_first():
    by_words, cosines = [10.0, 8.0, 6.0, 0.0], [None, 0.8, 0.6, 0.9]
    assert fuse_scores(by_words, cosines) == [0.5, 0.4 + 0.5 * (0.2 / 0.3), 0.3, 0.5]
    ranks = fuse_ranks(by_words, cosines)
    assert sorted(range(4), key=ranks.__getitem__, reverse=True) == [1, 3, 2, 0]


def test_without_vectors_the_order_of_the_words_stays():
    for fuse in (fuse_scores, fuse_ranks):
        scores = fuse([3.0, 9.0, 5.0], [None, None, None])
        assert sorted(range(3), key=scores.__getitem__, reverse=True) == [1, 2, 0]
        assert fuse([], []) == []


@settings(max_examples=100, deadline=None)
@given(CANDIDATES, st.randoms(use_true_random=False))
def test_fusion_ignores_the_order_of_the_candidates_and_stays_between_0_and_1(candidates, chance):
    # Of equal scores the earlier one gets the better rank, so for ranks they are made different.
    distinct = list({words: (words, cosine) for words, cosine in candidates}.values())
    distinct = list(
        {
            ("words", words) if cosine is None else cosine: (words, cosine) for words, cosine in distinct
        }.values()
    )
    shuffled = chance.sample(distinct, len(distinct))
    for fuse in (fuse_scores, fuse_ranks):
        fused = dict(zip(distinct, fuse([w for w, _ in distinct], [c for _, c in distinct]), strict=True))
        again = dict(zip(shuffled, fuse([w for w, _ in shuffled], [c for _, c in shuffled]), strict=True))
        assert fused == again
        assert all(0 <= score <= 1 for score in fused.values())
