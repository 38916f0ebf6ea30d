import pytest

from kizami_core.question import is_worth_asking
from kizami_core.recall import recall
from kizami_core.retrieval import relaxation
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.searching import search
from kizami_core.transcript.tokens import estimate_tokens
from memories import NOW, OTHER_PROJECT, PROJECT, config

GATE = RECOMMENDED_GATE
# Answers that say different things.
OTHER_WORDS = (
    "画面には再読込を促す帯を出し、入力は残す。",
    "夜間の集計は別の接続から読むだけにした。",
    "倉庫の端末では通信が切れたら送り直す。",
    "管理者が手で直した行は履歴に書く。",
    "返品は翌朝まとめて戻すので関係しない。",
)


@pytest.fixture
def book(noisy_book):
    return noisy_book


def ask(book, prompt, *, session="now", project=PROJECT, now=NOW, **changes):
    settings = config(**{"min_relevance_score": GATE, "project_scope": "tiered", **changes})
    options = {"session_id": session, "project_path": project, "config": settings, "now": now}
    return recall(book.connection, prompt, **options).block


def headers_of(block):
    return [line.split(") ", 1)[1] for line in block.splitlines() if "(relevance:" in line]


def look(book, query, *, project=PROJECT, scope=True, limit=5, now=NOW):
    return search(
        book.connection, query, project_path=project, scope=scope, limit=limit, config=config(), now=now
    )


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("認証の方式は？", True),
        ("/src/db/pool.ts が落ちる", True),
        ("/etc/hosts", True),
        ("/review the parser", False),
        ("/clear", False),
        ("/kizami:search 認証", False),
        ("<task-notification>\n<task-id>1</task-id>", False),
        ("<command-name>/clear</command-name>", False),
        ("  \n ", False),
        ("", False),
    ],
)
def test_only_a_persons_words_are_worth_asking(prompt, expected):
    assert is_worth_asking(prompt) is expected


def test_memory_that_answers_is_shown(book):
    book.add("在庫引当の競合はどう防ぐ？", "行ロックではなく楽観ロックの version 列にしました。")
    block = ask(book, "在庫引当の競合の防ぎ方ってどうしたっけ")
    assert block.startswith("<kizami-memory>\n")
    assert "楽観ロックの version 列にしました。" in block


@pytest.mark.parametrize("prompt", ["はい", "ok", "続けて", "明日の東京の天気を教えてください", "", "/clear"])
def test_silence_is_silence(book, prompt):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックにしました。")
    assert ask(book, prompt) == ""


def test_running_session_is_not_told_its_own_turns(book):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックにしました。", session="now")
    assert ask(book, "在庫引当の競合の防ぎ方") == ""


def test_recall_limit_zero_is_silence(book):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックにしました。")
    assert ask(book, "在庫引当の競合の防ぎ方", recall_limit=0) == ""


def test_recall_limit_is_kept(book):
    for number in range(5):
        book.add(f"在庫引当の競合 {number}", f"楽観ロックに。{OTHER_WORDS[number]}", session=f"s{number}")
    assert ask(book, "在庫引当の競合の楽観ロック", recall_limit=2).count("relevance:") == 2


def test_memory_of_another_project_is_named(book):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。", project=OTHER_PROJECT)
    assert "[from: other-app]" in ask(book, "在庫引当の競合を楽観ロックの version 列で防ぐ")


def test_scope_true_sees_this_project_alone(book):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。", project=OTHER_PROJECT)
    assert ask(book, "在庫引当の競合を楽観ロックの version 列で防ぐ", project_scope=True) == ""


def test_scope_false_sees_all_projects(book):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。", project=OTHER_PROJECT)
    assert "other-app" in ask(book, "在庫引当の競合を楽観ロックの version 列で防ぐ", project_scope=False)


def test_relevance_of_a_hit_does_not_depend_on_the_other_hits(book):
    first = book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。")
    alone = {hit.chunk.id: hit.relevance for hit in look(book, "在庫引当の競合", limit=50)}
    book.add("在庫の画面", "引当の色を直しました。", session="worse")
    beside = {hit.chunk.id: hit.relevance for hit in look(book, "在庫引当の競合", limit=50)}
    # Only the document frequencies moved, by one.
    assert beside[first] == pytest.approx(alone[first], abs=0.05)


@pytest.mark.parametrize(
    ("before", "asked", "after"),
    [
        (
            "すみません、ありがとうございます。教えてください。",
            "在庫引当の競合はどう防ぐ",
            "。よろしくお願いします",
        ),
        ("Hi, could you please tell me: ", "which mail queue", "? Thank you very much!"),
    ],
)
def test_politeness_hides_nothing_and_brings_nothing_back(book, before, asked, after):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。")
    book.add("Which queue do we use for mails?", "PostgreSQL with SKIP LOCKED.", session="mail")
    book.add("ありがとうございます", "よろしくお願いします。Thank you very much, hi!", session="polite")
    shown = headers_of(ask(book, asked))
    assert len(shown) == 1
    assert headers_of(ask(book, f"{before}{asked}{after}")) == shown
    assert ask(book, f"{before}{after}") == ""


def test_asking_once_does_not_hide_the_answer_the_next_time(book):
    right = book.add("決済ワーカーの再試行", "指数バックオフで五回まで、その後は隔離のキューへ。")
    asked = "決済ワーカーの再試行は何回で諦める約束だった？"
    before = {hit.chunk.id: hit.relevance for hit in look(book, asked)}[right]
    book.add(asked, "調べます。", session="asked")
    after = {hit.chunk.id: hit.relevance for hit in look(book, asked)}[right]
    assert min(before, after) > GATE


def test_relevance_does_not_depend_on_how_many_are_shown(book):
    for number in range(5):
        book.add(f"在庫引当の競合 {number}", "楽観ロック。", session=f"s{number}")
    few = {hit.chunk.id: hit.relevance for hit in look(book, "在庫引当", limit=2)}
    many = {hit.chunk.id: hit.relevance for hit in look(book, "在庫引当", limit=50)}
    assert few.items() <= many.items()


def test_newer_of_two_equal_memories_comes_first(book):
    old = book.add("在庫引当の方式", "楽観ロックにしました。", session="a", at="2025-06-01 00:00:00")
    new = book.add("在庫引当の方式", "楽観ロックにしました。", session="b", at="2025-12-31 00:00:00")
    assert [hit.chunk.id for hit in look(book, "在庫引当の方式")][:2] == [new, old]


def test_old_but_only_answer_is_still_found_first(book):
    right = book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列。", at="2023-01-01 00:00:00")
    assert look(book, "在庫引当の競合の楽観ロック")[0].chunk.id == right


def test_unreadable_time_counts_as_now(book):
    right = book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列。", at="someday")
    assert look(book, "在庫引当の競合")[0].chunk.id == right
    assert "[someday past]" in ask(book, "在庫引当の競合の楽観ロック")


def test_without_a_gate_something_is_always_shown(book):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックにしました。")
    weak = "在庫とはまったく別の Kubernetes クラスタの監視アラート設計"
    assert ask(book, weak) == ""
    assert "楽観ロック" in ask(book, weak, min_relevance_score=0.0)


def test_relaxation_adds_old_memories_and_other_projects(book, monkeypatch):
    tried = []
    real = relaxation.phases
    monkeypatch.setattr(relaxation, "phases", lambda **kind: [tried.append(p) or p for p in real(**kind)])
    first, second, third = (f"楽観ロックの version 列。{words}" for words in OTHER_WORDS[:3])
    book.add("在庫引当の競合", first, session="a")
    book.add("在庫引当の競合", second, session="b", at="2025-10-01 00:00:00")
    book.add("在庫引当の競合", third, session="c", project=OTHER_PROJECT)
    block = ask(book, "在庫引当の競合の楽観ロック", min_relevance_score=0.0)
    assert block.count("relevance:") == 3
    assert len(tried) == 4


def test_relaxation_stops_when_there_is_enough(book):
    for number in range(3):
        book.add("在庫引当の競合", f"楽観ロックの version 列。{OTHER_WORDS[number]}", session=f"s{number}")
    book.add("在庫引当の競合", "楽観ロックの version 列。", session="old", project=OTHER_PROJECT)
    block = ask(book, "在庫引当の競合の楽観ロック", min_relevance_score=0.0)
    assert (block.count("relevance:"), "other-app" in block) == (3, False)


def test_token_budget_is_kept(book):
    for number in range(3):
        answer = f"楽観ロックの version 列にします。{OTHER_WORDS[number]}"
        book.add("在庫引当の競合", answer * 20, session=f"s{number}")
    block = ask(book, "在庫引当の競合の楽観ロック")
    shown = [part.split("\n", 1)[1] for part in block.split("---\n")[1:-1]]
    assert len(shown) == 3
    assert all(estimate_tokens(text.rstrip()) <= 125 for text in shown)


def test_memory_shown_alone_takes_no_more_than_its_share(book):
    book.add("在庫引当の競合", "".join(f"楽観ロックの version 列 {n} にします。" for n in range(60)))
    (shown,) = [part.split("\n", 1)[1] for part in ask(book, "在庫引当の楽観ロック").split("---\n")[1:-1]]
    assert 90 <= estimate_tokens(shown.rstrip()) <= 125


def test_same_exchange_of_two_sessions_is_shown_once_as_the_newer_one(book):
    answer = "行ロックではなく楽観ロックの version 列にしました。競合したら3回までやり直します。"
    book.add("在庫引当の競合はどう防ぐ？", answer, session="older", at="2025-12-01 00:00:00")
    newer = book.add("在庫引当の競合はどう防ぐ？", answer.replace("しました", "します"), session="newer")
    assert headers_of(ask(book, "在庫引当の競合を防ぐ楽観ロックの version 列")) == [f"#{newer}"]


def test_same_question_answered_with_another_number_is_shown_by_both_the_older_marked(book):
    """Two entries alike but for a number may be about two things, so neither is left out for the other."""
    answer = "行ロックではなく楽観ロックの version 列にしました。競合したら3回までやり直します。"
    older = book.add("在庫引当の競合はどう防ぐ？", answer, session="older", at="2025-12-01 00:00:00")
    newer = book.add("在庫引当の競合はどう防ぐ？", answer.replace("3回", "5回"), session="newer")
    block = ask(book, "在庫引当の競合を防ぐ楽観ロックの version 列")
    assert headers_of(block) == [f"#{newer}", f"#{older} (older, 古い記録: see #{newer})"]


def test_search_finds_both_of_a_repeated_exchange(book):
    answer = "行ロックではなく楽観ロックの version 列にしました。"
    ids = {book.add("在庫引当の競合はどう防ぐ？", answer, session=session) for session in ("older", "newer")}
    assert ids <= {hit.chunk.id for hit in look(book, "在庫引当の競合を防ぐ楽観ロック")}


def test_decision_that_was_changed_later_stands_behind_the_new_one_and_is_marked(book):
    older = book.add(
        "在庫引当の競合はどう防ぐ？ 引当は小さな表で足りる",
        "在庫引当の競合は行ロックで防ぎます。`SELECT FOR UPDATE` を引当の行に掛けるだけで済みます。",
        session="older",
        at="2025-12-01 00:00:00",
    )
    newer = book.add(
        "夜の一括処理が止まる。在庫引当の競合の防ぎ方を見直したい",
        "待ちが長いので楽観ロックに替えました。version 列を足し、合わなければ3回までやり直します。",
        session="newer",
    )
    block = ask(book, "在庫引当の競合を防ぐ行ロック SELECT FOR UPDATE の引当の行")
    assert headers_of(block) == [f"#{newer}", f"#{older} (older, 古い記録: see #{newer})"]


@pytest.mark.parametrize("size", [1_000_000])
def test_megabyte_prompt_is_answered(book, size):
    book.add("在庫引当の競合はどう防ぐ？", "楽観ロックの version 列にしました。")
    log = "2026-01-01 INFO worker finished\n" * (size // 32)
    assert "version 列" in ask(book, f"{log}\n在庫引当の競合の楽観ロックはどうした？")


def test_search_without_words_finds_by_substring(book):
    right = book.add("すだれをかける", "こうする")
    assert look(book, "すだれ")[0].chunk.id == right


def test_search_for_nothing_finds_nothing(book):
    assert look(book, "") == []


def test_neighbours_of_one_conversation_are_shown_once(book):
    first = book.add("在庫引当の競合", "楽観ロックにしました。", session="run")
    second = book.add("在庫引当の競合の続き", "楽観ロックの列です。", session="run")
    book.connection.execute("UPDATE chunks SET chunk_index = 1 WHERE id = ?", (second,))
    shown = [hit.chunk.id for hit in look(book, "在庫引当の競合")]
    assert len({first, second} & set(shown)) == 1
