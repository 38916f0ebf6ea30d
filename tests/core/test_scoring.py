import math

import pytest

from kizami_core.records import Chunk, Hit, Metadata
from kizami_core.retrieval.decay import SECONDS_PER_DAY, decay, freshness
from kizami_core.retrieval.grouping import group_neighbours
from kizami_core.retrieval.lexical import ALTERNATIVE, Posting, TermStatistics
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.relaxation import phases
from kizami_core.retrieval.relevance import WEIGHTS, background, features, relevance
from kizami_core.retrieval.reranker import Evidence, Reranked, rerank
from kizami_core.retrieval.scope import cross_project_relevance


def chunk(number, content="", session="s", index=0):
    return Chunk(number, session, "/p", index, content, "mixed", Metadata(), "2026-01-01 00:00:00", 1, None)


def statistics(size=1_000, **frequencies):
    postings = {term: Posting((), frozenset(), df, is_complete=False) for term, df in frequencies.items()}
    return TermStatistics(size, postings)


def test_decay_halves_at_the_half_life():
    assert decay(30 * SECONDS_PER_DAY, 30) == 0.5


def test_decay_of_now_and_of_the_future_is_one():
    assert (decay(0, 30), decay(-5, 30)) == (1.0, 1.0)


def test_decay_of_ages_ago_is_zero_not_an_error():
    assert decay(1e18, 0.01) == 0.0


def test_age_alone_never_takes_more_than_half():
    assert freshness(1e18, 30) == 0.5
    assert freshness(0, 30) == 1.0


def test_penalty_multiplies_the_odds():
    assert cross_project_relevance(0.5, 0.3) == pytest.approx(0.3 / 1.3)


def test_certain_match_of_another_project_stays_certain():
    assert cross_project_relevance(1.0, 0.3) == 1.0
    assert cross_project_relevance(0.0, 0.3) == 0.0


def test_neighbours_are_shown_once_by_the_better_one():
    hits = [
        Hit(chunk(n, index=i, session=s), 1.0, 0.5)
        for n, i, s in ((1, 4, "a"), (2, 5, "a"), (3, 6, "a"), (4, 5, "b"), (5, 9, "a"))
    ]
    assert [hit.chunk.id for hit in group_neighbours(hits)] == [1, 4, 5]


def test_relaxation_goes_from_strict_to_anything():
    tiered = phases(is_tiered=True)
    assert [(p.penalty_factor, p.half_life_factor) for p in tiered] == [(1, 1), (3, 1), (3, 3), (3, 3)]
    assert [p.floor for p in tiered[:3]] == [tiered[0].floor] * 3
    assert tiered[3].floor == 0
    assert tiered[0].floor > 0


def test_phase_about_other_projects_needs_tiered_scope():
    assert len(phases(is_tiered=False)) == 3


def test_rarity_is_idf_over_the_highest_idf():
    found = statistics(1_000, zebra=10)
    idf = math.log(1 + (1_000 - 10 + 1.5) / 11.5)
    assert found.rarity("zebra") == pytest.approx(idf / math.log(1 + 1_001.5 / 1.5))


def test_unknown_term_is_the_rarest():
    assert statistics().rarity("nothing") == 1.0


def test_small_corpus_counts_as_one_of_five_hundred():
    assert statistics(3, zebra=1).rarity("zebra") == statistics(500, zebra=1).rarity("zebra")


def test_common_term_proposes_no_candidates():
    found = statistics(10_000, everywhere=3_000, rare=5)
    assert (found.is_selective("everywhere"), found.is_selective("rare"), found.is_selective("absent")) == (
        False,
        True,
        False,
    )


def test_every_weight_of_evidence_is_at_least_zero():
    assert all(weight >= 0 for weight in WEIGHTS)


def candidate(strength, *, mass=1.0, words_found=1, rarest=0.8, share=0.5, density=1.0):
    """A candidate for a query whose terms weigh 2.0 in all."""
    return Reranked(chunk(1), "", Evidence(mass, words_found, rarest, share, density), 7.0, strength, 2.0)


def test_no_word_found_is_no_relevance():
    nothing = candidate(5.0, mass=0.0, words_found=0, rarest=0.0, share=0.0, density=0.0)
    assert relevance(analyze_query("zebra"), nothing, 0.0) == 0.0


def test_more_evidence_is_more_relevance():
    query = analyze_query("zebra quokka")
    some = candidate(2.0)
    more = candidate(2.0, mass=1.8, words_found=2, share=1.0, density=2.0)
    assert 0 < relevance(query, some, 1.0) < relevance(query, more, 1.0) < 1
    assert len(features(query, some, 1.0)) == len(WEIGHTS)


def test_standing_out_from_the_background_is_more_relevance():
    query = analyze_query("zebra quokka")
    pairs = [(1.0, 1.0), (2.0, 1.0), (2.0, 0.5), (4.0, 0.5)]
    levels = [relevance(query, candidate(strength), background) for strength, background in pairs]
    assert levels == sorted(set(levels))
    # A long text that holds little can be weaker than nothing.
    assert relevance(query, candidate(-3.0), 1.0) == relevance(query, candidate(0.0), 1.0)


@pytest.mark.parametrize(
    ("strengths", "expected"),
    [
        ([], 0.0),
        ([8.0], 0.6 * 2.0),
        ([8.0] * 9, 0.6 * 2.0),
        ([1.0] * 5 + [8.0] * 9 + [3.0], 3.0),
        ([8.0] * 4 + [-1.0] * 6, 0.0),
    ],
)
def test_background_is_the_tenth_strongest_and_of_fewer_a_share_of_what_is_asked(strengths, expected):
    assert background([candidate(strength) for strength in strengths]) == expected


def test_strength_depends_on_no_other_candidate_and_the_score_does():
    query = analyze_query("認証の zebra を教えて")
    found = statistics(zebra=2, 認証=3)
    texts = [chunk(1, "zebra の認証について"), chunk(2, "認証の認証の認証"), chunk(3, "zebra zebra")]
    together = {r.chunk.id: r for r in rerank(query, texts, found)}
    alone = {c.id: rerank(query, [c], found)[0] for c in texts}
    assert {number: r.strength for number, r in together.items()} == {
        number: r.strength for number, r in alone.items()
    }
    assert {number: r.score for number, r in together.items()} != {
        number: r.score for number, r in alone.items()
    }


def test_identifier_as_a_whole_is_rarer_than_its_parts():
    query = analyze_query("alertBackoffBundle")
    found = statistics(alertbackoffbundle=1, alert=200, backoff=200, bundl=200)
    whole, parts = (
        rerank(query, [chunk(1, text)], found)[0].evidence.rarest
        for text in ("alertBackoffBundle", "alert backoff bundle")
    )
    assert whole == found.rarity("alertbackoffbundle") > parts


def test_text_with_the_words_close_together_comes_first():
    query = analyze_query("zebra quokka")
    apart = "zebra " + "filler " * 100 + "quokka"
    together = "filler " * 100 + "zebra quokka"
    found = statistics(zebra=2, quokka=2)
    assert [r.chunk.id for r in rerank(query, [chunk(1, apart), chunk(2, together)], found)] == [2, 1]


def test_evidence_does_not_depend_on_the_other_candidates():
    query = analyze_query("zebra quokka 認証の移行")
    found = statistics(zebra=2, quokka=2, 認証=3, 移行=4)
    texts = [chunk(1, "zebra 認証"), chunk(2, "quokka quokka"), chunk(3, "移行 zebra の認証")]
    together = {r.chunk.id: r.evidence for r in rerank(query, texts, found)}
    alone = {c.id: rerank(query, [c], found)[0].evidence for c in texts}
    assert together == alone


def test_evidence_of_a_text_by_hand():
    query = analyze_query("zebra quokka lemur")
    found = statistics(zebra=1, quokka=1)
    rarity = found.rarity("zebra")
    evidence = rerank(query, [chunk(1, "a zebra")], found)[0].evidence
    assert (evidence.words_found, evidence.mass, evidence.rarest) == (1, rarity, rarity)
    assert evidence.share == pytest.approx(rarity / (2 * rarity + 1.0))
    assert evidence.density == pytest.approx(rarity * 1.9 / (1 + 0.9 * (0.4 + 0.6 * 7 / 500)))


def test_slip_of_the_keyboard_still_counts_as_the_word():
    query = analyze_query("kuberntes autoscaler")
    found = rerank(query, [chunk(1, "kubernetes"), chunk(2, "postgres")], statistics())
    assert {r.chunk.id: r.evidence.words_found for r in found} == {1: 1, 2: 0}


def ranked(prompt, found, *texts):
    chunks = [chunk(number, text) for number, text in enumerate(texts, 1)]
    return [reranked.chunk.id for reranked in rerank(analyze_query(prompt), chunks, found)]


def test_text_that_opens_with_the_word_comes_first():
    found = statistics(zebra=2)
    opens, ends = "zebra" + " filler" * 40, "filler " * 40 + "zebra"
    assert len(opens) == len(ends)
    assert ranked("zebra", found, opens, ends) == [1, 2]
    assert ranked("zebra", found, ends, opens) == [2, 1]
    # Of an exchange the question is the opening.
    assert ranked("zebra", found, f"[User]\n{opens}", f"[User]\n{ends}") == [1, 2]


def test_opening_of_a_long_text_reaches_further():
    found = statistics(zebra=2)
    early, late = ("." * 60 + "zebra" + "." * 400, "." * 200 + "zebra" + "." * 260)
    assert ranked("zebra", found, early, late) == [1, 2]
    assert ranked("zebra", found, late, early) == [2, 1]


def test_words_of_chat_decide_the_order_and_are_no_evidence():
    prompt = "ありがとう、続けて zebra please"
    assert analyze_query(prompt).chat
    assert [word.surface for word in analyze_query(prompt).words] == ["zebra"]
    found = statistics(zebra=2)
    plain, chatty = "zebra and a quokka", "zebra and a please"
    assert len(plain) == len(chatty)
    assert ranked(prompt, found, plain, chatty) == [2, 1]
    assert ranked(prompt, found, chatty, plain) == [1, 2]
    one, other = rerank(analyze_query(prompt), [chunk(1, plain), chunk(2, chatty)], found)
    assert one.evidence == other.evidence


def test_word_of_the_same_meaning_counts_less_than_the_word_itself():
    query = analyze_query("認証")
    found = statistics(認証=2, auth=2)
    texts = [chunk(1, "auth のしくみ"), chunk(2, "認証 のしくみ"), chunk(3, "木星 のしくみ")]
    evidence = {reranked.chunk.id: reranked.evidence for reranked in rerank(query, texts, found)}
    rarity = found.rarity("認証")
    assert evidence[2].mass == evidence[2].rarest == rarity
    assert evidence[1].mass == evidence[1].rarest == pytest.approx(ALTERNATIVE * rarity)
    assert [evidence[number].words_found for number in (1, 2, 3)] == [1, 1, 0]


def test_word_of_the_same_meaning_adds_nothing_to_the_word_itself():
    query = analyze_query("認証")
    found = statistics(認証=2, auth=2)
    (both,) = rerank(query, [chunk(1, "認証 auth")], found)
    (one,) = rerank(query, [chunk(1, "認証 木星")], found)
    assert both.evidence.mass == one.evidence.mass


def test_word_of_the_same_meaning_that_the_corpus_lacks_is_not_weighed():
    (only,) = rerank(analyze_query("認証"), [chunk(1, "auth")], statistics(認証=2))
    assert only.evidence.words_found == 0


def test_pasted_log_is_judged_by_its_words_alone():
    query = analyze_query("zebra " + " ".join(f"w{n:04}x" for n in range(200)))
    assert rerank(query, [chunk(1, "zebra")], statistics(zebra=1))[0].evidence.words_found == 1
