import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.retrieval.snippet import cut, snippet
from kizami_core.transcript.tokens import estimate_tokens

EXCHANGE = """[User]
フォームの入力値はどう管理する？ 画面が増える前に決めたい

[Assistant]
まず調べます。小規模なら `useState` で足ります。複雑な検証が要る画面では React Hook Form を採用します。
理由は3つあります。1. 再描画が少ない 2. 検証を宣言できる 3. 型が付く

ほかの画面は今のままです。見た目は変えていません。

[Tool: Edit] src/components/Form.tsx → ok"""

JAPANESE = """[User]
夜間の集計が朝まで終わらないことがある。先月から3回。原因を調べて、同じことが起きないようにして

[Tool: Bash] psql -c "select * from pg_stat_activity" → 14 rows
idle in transaction | 02:13:44 | report_worker
idle in transaction | 01:58:02 | report_worker

[Assistant]
順に見ていきました。まず全体の流れを説明します。集計は毎晩1時に始まり、前の日の売上を読みます。
原因は `report_worker` がトランザクションを開いたまま外部の API を待っていたことです。
その間 VACUUM が進まず、`sales_daily` が 38 GB まで膨らんでいました。
外部の API の呼び出しをトランザクションの外へ出し、`idle_in_transaction_session_timeout` を 60 秒にしました。
ほかに気になる点はありませんでした。今後も様子を見ていきたいと思います。"""

ENGLISH = """[User]
The import of customer files fails for one partner. Can you find out why and make it robust?

[Assistant]
I looked at the files first. Most are fine, and the import has worked for other partners for years.
The root cause is the byte order mark: their export begins with one, so the first column reads `\\ufeffid`.
Now `read_rows()` opens files with `encoding="utf-8-sig"`:

```python
def read_rows(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)
```

I also thought about guessing the encoding, which would have been slower and less certain in the end.
Files without a header are refused with exit code 3.

[Tool: Bash] pytest tests/test_import.py → 27 passed in 1.92s"""


def test_short_exchange_is_shown_whole_without_blank_lines():
    content = "[User]\nなぜ？\n\n[Assistant]\nこうだから。\n\n[Tool: Bash] npm test → 3 passed"
    assert (
        snippet(content, {}, 200)
        == "[User] なぜ？\n[Assistant] こうだから。\n[Tool: Bash] npm test → 3 passed"
    )


def test_code_is_shown_whole_with_its_fences_and_indentation():
    content = "[User]\nHow?\n\n[Assistant]\nSo:\n```python\nif ready:\n    go()\n```\nDone."
    assert snippet(content, {}, 125) == (
        "[User] How?\n[Assistant] So:\n```python\nif ready:\n    go()\n```\nDone."
    )


def test_japanese_answer_keeps_cause_and_measure():
    shown = snippet(JAPANESE, {"集計": 0.6, "終わら": 0.4, "夜間": 0.7, "原因": 0.3}, 125)
    assert shown == (
        "[Assistant] …原因は `report_worker` が"
        "トランザクションを開いたまま外部の API を待っていたことです。\n"
        "その間 VACUUM が進まず、`sales_daily` が 38 GB まで膨らんでいました。\n"
        "外部の API の呼び出しをトランザクションの外へ出し、"
        "`idle_in_transaction_session_timeout` を 60 秒にしました。"
    )


def test_english_answer_keeps_its_evidence_and_no_half_fence():
    assert snippet(ENGLISH, {"header": 0.9, "fail": 0.4, "mark": 0.6}, 90) == (
        "[Assistant] …The root cause is the byte order mark: their export begins with one,"
        " so the first column reads `\\ufeffid`.\n"
        'Now `read_rows()` opens files with `encoding="utf-8-sig"`:\ndef read_rows(path):\n'
        "…Files without a header are refused with exit code 3.\n"
        "[Tool: Bash] pytest tests/test_import.py → 27 passed in 1.92s"
    )


def test_lines_of_code_keep_their_indentation_when_the_block_is_cut():
    shown = snippet(ENGLISH, {"dictreader": 0.9}, 80)
    assert "\n…        yield from csv.DictReader(file)" in shown
    assert "```" not in shown


def test_sentence_with_the_evidence_is_shown_and_the_question_only_beside_a_whole_answer():
    shown = snippet(EXCHANGE, {"複雑": 0.9, "検証": 0.8}, 70)
    assert shown.startswith("[Assistant] …複雑な検証が要る画面では React Hook Form を採用します。")
    assert "ほかの画面" not in shown


def test_answer_counts_more_than_the_echo_of_the_question():
    content = (
        "[User]\n配信ジョブの再試行の間隔は？\n\n[Assistant]\n"
        "配信ジョブの再試行の間隔についてのご質問ですね。まず配信ジョブの再試行の間隔の考え方からお話しします。\n"
        "`RETRY_BASE` を 45 秒、上限を 12 分にしました。"
    )
    shown = snippet(content, {"配信": 0.5, "再試行": 0.6, "間隔": 0.5}, 60)
    assert "`RETRY_BASE` を 45 秒、上限を 12 分にしました。" in shown


def test_one_of_many_repeated_lines_is_shown():
    lines = "\n".join(["worker 7 timed out after 30 s while it waited for the shared lock"] * 30)
    shown = snippet(f"[Assistant]\n{lines}\nThe lock was never freed by the nightly job.", {"lock": 0.5}, 60)
    assert shown.count("timed out") <= 2
    assert "The lock was never freed by the nightly job." in shown


def test_question_is_whole_where_the_answer_leaves_room():
    question = "How long do we keep the audit log, and who decides when something in it may go? " * 2
    content = f"[User]\n{question}\n\n[Assistant]\n400 days."
    assert snippet(content, {}, 125) == f"[User] {question.strip()}\n[Assistant] 400 days."
    log = "\n".join(f"10:{minute:02} ERROR cache miss in shard {minute}" for minute in range(10, 60))
    shown = snippet(f"[User]\nWhy is it slow?\n{log}\n\n[Assistant]\nShard 31 is full.", {"slow": 0.9}, 125)
    assert shown.startswith("[User] Why is it slow?\n")
    assert shown.endswith("[Assistant] Shard 31 is full.")


def test_each_section_begins_with_its_marker():
    content = (
        "[User]\nなぜ落ちる？\n\n[Assistant]\n調べます。" + "関係のない話です。" * 30 + "\n\n"
        "[Tool: Bash] npm test → 3 failed\nTypeError: x.y is not a function at lib/a.js:10\n\n"
        "[Assistant]\n" + "別の話もします。" * 30 + "\n`lib/a.js` の 10 行目の名前が違いました。"
    )
    assert snippet(content, {"typeerror": 0.9, "落ち": 0.5}, 80) == (
        "[Assistant] 調べます。関係のない話です。\n"
        "[Tool: Bash] npm test → 3 failed\nTypeError: x.y is not a function at lib/a.js:10\n"
        "[Assistant] 別の話もします。\n"
        "…`lib/a.js` の 10 行目の名前が違いました。"
    )


def test_sentence_longer_than_the_budget_is_cut_around_its_evidence():
    filler = "これは前置きで、特に意味のない言葉が、長く長く続き、"
    long = filler * 12 + "結局のところ再送の上限は `max_resend=9` で、" + filler * 12 + "終わる。"
    shown = snippet(f"[User]\n再送の上限は？\n\n[Assistant]\n{long}", {"再送": 0.8, "上限": 0.7}, 100)
    assert shown.startswith("[User] 再送の上限は？\n[Assistant] ")
    assert "長く長く続き、結局のところ再送の上限は `max_resend=9` で、これは前置きで、" in shown
    assert shown.endswith("、…")


def test_characters_of_several_code_points_stay_whole():
    family = "👨\u200d👩\u200d👧"
    for limit in range(10, 60):
        shown = snippet("[User]\n" + family * 200, {}, limit)
        assert set(shown.removeprefix("[User]").split(family)) <= {"", " ", "…"}


@pytest.mark.parametrize("limit", [0, 5, 20, 40, 70, 100, 125])
def test_limit_is_kept(limit):
    for content in (EXCHANGE, JAPANESE, ENGLISH):
        for rarities in ({}, {"検証": 0.9}, {"form": 0.5}):
            assert estimate_tokens(snippet(content, rarities, limit)) <= limit


def test_numbered_list_is_not_cut_after_its_numbers():
    content = "[Assistant]\n" + "\n".join(f"{n}. step number {n} with some words to it" for n in range(1, 40))
    shown = snippet(content, {"step number 7": 1.0}, 40)
    assert "7. step number 7 with some words to it" in shown


def test_piece_of_an_answer_without_a_question_is_shown():
    content = "[Assistant]\n" + "前置きです。" * 60 + "答えは42です。"
    assert "答えは42です。" in snippet(content, {"答え": 1.0}, 40)


def test_one_endless_line_is_cut():
    shown = snippet("[User]\n" + "x" * 10_000, {}, 50)
    assert shown.startswith("[User] xxx")
    assert "x…" in shown
    assert 40 <= estimate_tokens(shown) <= 50


def test_of_an_enormous_row_the_beginning_is_read():
    content = "[Assistant]\n" + "answer 1. " * 10_000 + "hidden 77"
    assert "hidden" not in snippet(content, {"hidden": 1.0}, 125)


def test_text_without_markers_is_shown_as_it_is():
    assert snippet("plain words", {}, 50) == "plain words"


def test_nothing_is_shown_of_nothing():
    assert [snippet(content, {}, 0) for content in ("", "\n\n", "[User]\n")] == ["", "", ""]
    assert snippet("words", {}, 0) == ""
    assert snippet("```\n```" * 300, {}, 10) == ""


def test_cut_keeps_what_fits():
    assert cut("short", 10) == "short"
    assert cut("あ" * 100, 10).endswith("…")
    assert estimate_tokens(cut("あ" * 100, 10)) <= 10


def test_cut_falls_between_words_where_one_is_near():
    assert cut("several ordinary words in a row", 4) == "several…"
    assert cut("x" * 100, 5) == "x" * 16 + "…"


def test_cut_to_nothing_is_empty():
    assert cut("あ" * 100, 0) == ""


_PIECES = st.sampled_from(
    [
        *("[User]\n", "[Assistant]\n", "[Tool: Bash] ls → ok\n", "```python\n", "```\n", "\n", "    x = 1\n"),
        *(
            "認証は `jwt` です。",
            "次へ！？",
            "「はい。」と答えた。",
            "a. B c! ",
            "1. first ",
            "e.g. this ",
            "…",
        ),
        *("x" * 300, "長い文" * 60, "👨\u200d👩\u200d👧", "\ud83d", "[Tool: no end"),
    ]
)
_TEXTS = st.one_of(st.lists(_PIECES, max_size=25).map("".join), st.text(st.characters(), max_size=400))


@settings(max_examples=100, deadline=None)
@given(_TEXTS, st.integers(0, 150))
def test_no_text_takes_more_than_its_budget(content, limit):
    assert estimate_tokens(snippet(content, {"認証": 0.9, "x": 0.1}, limit)) <= limit


@settings(max_examples=100, deadline=None)
@given(_TEXTS.filter(lambda content: "```" not in content))
def test_snippet_of_a_snippet_that_was_whole_is_itself(content):
    once = snippet(content, {}, 100_000)
    assert snippet(once, {}, 100_000) == once


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(70, 125))
def test_sentence_of_an_answer_is_whole_or_absent(lengths, limit):
    sentences = [f"<{number}" + "あ" * length + f"{number}>です。" for number, length in enumerate(lengths)]
    content = "[User]\nどうする？\n\n[Assistant]\n" + "".join(sentences)
    shown = snippet(content, {"<3": 0.5}, limit)
    for number, sentence in enumerate(sentences):
        assert (sentence in shown) == (f"<{number}あ" in shown) == (f"あ{number}>" in shown)
