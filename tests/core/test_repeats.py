import pytest

from kizami_core.records import Chunk, Hit, Metadata
from kizami_core.retrieval.repeats import replaced_last, without_copies, without_repeats
from memories import OTHER_PROJECT, PROJECT, exchange

ANSWER = "キューは PostgreSQL の表にしました。1日4万通なら SKIP LOCKED で足ります。"


def hit(number, question, answer, *, at=None, project=PROJECT):
    """A hit whose number is its id and, unless told, its day."""
    made_at = at or f"2026-01-{number:02} 00:00:00"
    content = exchange(question, answer)
    return Hit(Chunk(number, "s", project, number, content, "mixed", Metadata(), made_at, 1), 0.5, 0.5)


def ids(hits):
    return [found.chunk.id for found in hits]


def test_different_memories_are_all_kept_up_to_the_limit():
    hits = [
        hit(1, "メールのキューは？", ANSWER),
        hit(2, "画像の保存先は？", "S3 に置き、期限付きの URL で渡します。"),
        hit(3, "ログの保管は？", "90日で消します。監査のものだけ別に残します。"),
    ]
    assert without_repeats(hits, 3) == (hits, [])
    assert without_repeats(hits, 2) == (hits[:2], [])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_that_say_nearly_the_same_the_newer_is_kept(order):
    reworded = ANSWER.replace("足ります", "十分です")
    pair = [hit(1, "メールのキューは？", ANSWER), hit(2, "メールのキューは？", reworded)]
    kept, repeats = without_repeats([pair[place] for place in order], 3)
    assert (ids(kept), ids(repeats)) == ([2], [1])


ALIKE = {
    "an identifier": (
        ("limit_own_3_1 はいくつにする?", "limit_own_3_1 は 26 に設定し、負荷試験の結果を理由に残します。"),
        ("limit_own_2_1 はいくつにする?", "limit_own_2_1 は 26 に設定し、負荷試験の結果を理由に残します。"),
    ),
    "a name within code": (
        (
            "Restart the worker",
            "Drain it, run `systemctl restart billing`, and watch the queue for a minute.",
        ),
        ("Restart the worker", "Drain it, run `systemctl restart ledger`, and watch the queue for a minute."),
    ),
    "a service, in the question alone": (
        ("請求サービスの再起動の手順は？", "待機系に切り替え、コンテナを立て直してから監視を戻します。"),
        ("検索サービスの再起動の手順は？", "待機系に切り替え、コンテナを立て直してから監視を戻します。"),
    ),
    "a path": (
        ("型を直して", "src/cart/total.ts の戻り値の型を number に直し、テストを通しました。"),
        ("型を直して", "src/cart/price.ts の戻り値の型を number に直し、テストを通しました。"),
    ),
    "a number": (("上限は？", "同時接続の上限は 4 本です。"), ("上限は？", "同時接続の上限は 9 本です。")),
    "a date": (
        ("リリースはいつ？", "2026-03-14 に出し、前日に凍結します。"),
        ("リリースはいつ？", "2026-05-23 に出し、前日に凍結します。"),
    ),
    "a Latin word in Japanese": (
        ("どこに置く？", "設定は Consul に置き、起動時に読みます。"),
        ("どこに置く？", "設定は Etcd に置き、起動時に読みます。"),
    ),
}


@pytest.mark.parametrize("case", ALIKE)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_worded_alike_about_different_things_are_two_memories(case, order):
    pair = [hit(number + 1, *exchanged) for number, exchanged in enumerate(ALIKE[case])]
    hits = [pair[place] for place in order]
    assert without_repeats(hits, 3) == (hits, [])
    assert without_copies(hits[:1], [hits[1].chunk]) == hits[:1]


def test_names_that_only_one_of_two_has_make_no_other_memory():
    plain, named = (
        "JWT にし、期限は15分です。更新は裏で行います。",
        "JWT にし、期限は15分です。更新は session.py で行います。",
    )
    hits = [hit(1, "認証の方式は？", plain), hit(2, "認証の方式は？", named)]
    assert ids(without_repeats(hits, 3)[0]) == [2]
    assert without_copies(hits[:1], [hits[1].chunk]) == []


def test_what_tools_answered_makes_no_other_memory():
    def ran(number, seconds):
        call = f"[Tool: Bash] npm test → 41 passed in {seconds}s\nseed {number}"
        return f"通しました。\n\n{call}\n\n[Assistant]\n緑です。"

    hits = [hit(1, "テストを通して", ran(52, "3.14")), hit(2, "テストを通して", ran(77, "2.98"))]
    assert ids(without_repeats(hits, 3)[0]) == [2]


def test_newer_repeat_takes_the_place_of_the_better_one_and_the_next_memory_moves_up():
    hits = [
        hit(1, "メールのキューは？", ANSWER),
        hit(2, "画像の保存先は？", "S3 に置き、期限付きの URL で渡します。"),
        hit(3, "メールのキューは？", ANSWER),
        hit(4, "ログの保管は？", "90日で消します。監査のものだけ別に残します。"),
    ]
    kept, repeats = without_repeats(hits, 3)
    assert (ids(kept), ids(repeats)) == ([3, 2, 4], [1])


def test_repeat_of_another_project_does_not_push_out_the_better_one():
    hits = [
        hit(1, "メールのキューは？", ANSWER),
        hit(2, "メールのキューは？", ANSWER, project=OTHER_PROJECT),
    ]
    kept, repeats = without_repeats(hits, 3)
    assert (ids(kept), ids(repeats)) == ([1], [2])


def test_short_exchange_is_no_repeat_of_a_long_one_that_holds_it():
    hits = [
        hit(1, "メールのキューは？", ANSWER),
        hit(
            2,
            "メールのキューは？",
            ANSWER + "".join(f"\n手順{step}は担当{step}が確かめます。" for step in range(20)),
        ),
    ]
    assert without_repeats(hits, 3) == (hits, [])


def test_width_case_and_white_space_make_no_difference():
    hits = [
        hit(2, "Which queue?", "PostgreSQL with SKIP LOCKED, 42,000 mails a day."),
        hit(1, "Ｗｈｉｃｈ  ｑｕｅｕｅ?", "postgresql with\nskip locked, 42,000 mails a day."),
    ]
    assert ids(without_repeats(hits, 3)[0]) == [2]


def test_texts_of_one_or_two_characters_are_compared_too():
    assert ids(without_repeats([hit(1, "a", "b"), hit(2, "a", "b")], 3)[0]) == [2]


def shown(*hits):
    return [(found.chunk.id, newer and newer.id) for found, newer in replaced_last(hits)]


def test_single_memory_is_replaced_by_none():
    assert shown(hit(1, "送信形式は？", "JSON")) == [(1, None)]
    assert shown() == []


REVISED = [
    (
        "通知メールの送信方式、最初はどうする？",
        "自前の SMTP サーバーから送ります。",
        "迷惑メールに入る。通知メールの送信方式を変えたい",
        "Amazon SES に移しました。",
    ),
    (
        "How do we store the invoice PDFs?",
        "On the local disk, under /srv/invoices, one folder a month.",
        "The disk is full. Let's move the invoice PDFs: migrate invoice storage to S3",
        "Moved them to a bucket; the old folder is read-only.",
    ),
    (
        "検索用の索引はどこで作る？",
        "夜間の cron で `build_index.py` を動かします。",
        "夜間の `build_index.py` が終わらない。検索用の索引の作り方を見直したい",
        "更新のたびに差分だけ足すようにしました。",
    ),
]


@pytest.mark.parametrize(("question", "answer", "change", "decision"), REVISED)
def test_decision_that_was_changed_later_comes_last_and_names_the_new_one(question, answer, change, decision):
    older, newer = hit(1, question, answer), hit(2, change, decision)
    between = hit(3, "ログの色分けは？", "水準ごとに決めています。")
    assert shown(older, newer, between) == [(2, None), (3, None), (1, 2)]
    assert shown(newer, older) == [(2, None), (1, 2)]


def test_question_that_was_asked_again_is_answered_by_the_newer_memory():
    older = hit(1, "開発サーバーのポート番号は？", "3000番です。")
    newer = hit(2, "開発サーバーのポート番号はいくつ？", "他の用途と重なるので 4310番にしました。")
    assert shown(older, newer) == [(2, None), (1, 2)]


def test_answer_with_another_number_is_shown_beside_the_newer_one_and_marked():
    hits = [hit(1, "メールのキューは？", ANSWER), hit(2, "メールのキューは？", ANSWER.replace("4万", "9万"))]
    assert without_repeats(hits, 3) == (hits, [])
    assert shown(*hits) == [(2, None), (1, 2)]


def test_chain_of_decisions_points_to_the_newest():
    first = hit(1, "配布用の画像形式は？", "PNG です。")
    second = hit(2, "配布用の画像形式は何？", "WebP にしました。")
    third = hit(3, "配布用の画像形式って？", "AVIF です。")
    assert shown(first, second, third) == [(3, None), (1, 3), (2, 3)]


NOT_REPLACED = {
    "a change of something else": (
        ("予約画面の送信ボタンの色は？", "緑です。"),
        ("管理画面の集計表の並び順を変えたい", "日付の新しい順にしました。"),
    ),
    "the same place, no change": (
        ("通知メールの送信方式は？", "SES です。"),
        ("通知メールの文面の誤字を探して", "2か所ありました。"),
    ),
    "the change names another part of the place": (
        ("採点のワーカーがタスクを5回も動かす", "visibility_timeout が短いのが原因です。"),
        ("デプロイでワーカーのタスクが消える。設定を見直して", "終了の合図を待つようにしました。"),
    ),
    "the same request for another function": (
        ("関数 `load_user_rows` に説明を付けて", "付けました。"),
        ("関数 `drop_user_rows` に説明を付けて", "付けました。3行です。"),
    ),
    "no question": (
        ("", "通知メールの送信方式は SES です。"),
        ("", "通知メールの送信方式は SMTP です。"),
    ),
}


@pytest.mark.parametrize("case", NOT_REPLACED)
def test_memory_beside_another_one_is_not_marked(case):
    (question, answer), (later_question, later_answer) = NOT_REPLACED[case]
    assert shown(hit(1, question, answer), hit(2, later_question, later_answer)) == [(1, None), (2, None)]


def test_decision_of_another_project_replaces_nothing():
    question, answer, change, decision = REVISED[0]
    assert shown(hit(1, question, answer), hit(2, change, decision, project=OTHER_PROJECT)) == [
        (1, None),
        (2, None),
    ]


def test_of_one_moment_the_later_row_is_the_newer():
    question, answer, change, decision = REVISED[0]
    at = "2026-01-01 00:00:00"
    assert shown(hit(1, question, answer, at=at), hit(2, change, decision, at=at)) == [(2, None), (1, 2)]
