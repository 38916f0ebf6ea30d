"""The retrieval faults measured in the TypeScript Kizami, by their numbers: none of them may come back."""

import os
import time

import pytest

from kizami_core.recall import recall
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.searching import search
from kizami_core.storage.projects import resolve_project
from memories import NOW, OTHER_PROJECT, PROJECT, config

RECOMMENDED = {
    "project_scope": "tiered",
    "cross_project_penalty": 0.3,
    "min_relevance_score": RECOMMENDED_GATE,
}


@pytest.fixture
def book(noisy_book):
    return noisy_book


def ask(book, prompt, *, session="now", project=PROJECT, **changes):
    settings = config(**{**RECOMMENDED, **changes})
    options = {"session_id": session, "project_path": project, "config": settings, "now": NOW}
    return recall(book.connection, prompt, **options).block


def ids(book, query, *, scope=True, project=PROJECT):
    hits = search(
        book.connection, query, project_path=project, scope=scope, limit=5, config=config(), now=NOW
    )
    return [hit.chunk.id for hit in hits]


@pytest.mark.parametrize(
    "prompt",
    [
        "Kubernetes の HPA の閾値はいくつにした？",
        "お願いがあります。確認してください。Kubernetes の HPA の閾値はいくつにした？",
        "お願いします。Kubernetes の HPA の閾値はいくつにした？",
        "Hi, could you please help me. Kubernetes の HPA の閾値はいくつにした？",
    ],
)
def test_fault_15_a_polite_opener_does_not_crowd_out_the_question(book, prompt):
    book.add("Kubernetes の HPA の閾値を決めたい", "CPU 65 % で増やします。")
    book.add("お願いがあります", "はい、確認してください。", session="polite")
    assert "CPU 65 % で増やします。" in ask(book, prompt)


@pytest.mark.parametrize(
    ("question", "prompt"),
    [
        ("foo-bar のビルド", "foo-bar"),
        ("src/db/pool.ts の接続漏れ", "src/db/pool.ts"),
        ("user@example.com の登録", "user@example.com"),
        ("FOO=barbaz の意味", "FOO=barbaz"),
        ("the client doesn't reconnect", "doesn't reconnect"),
        ("NOT NULL 制約の追加", "NOT NULL 制約"),
    ],
)
def test_fault_16_signs_in_a_prompt_are_no_query_syntax(book, question, prompt):
    right = book.add(question, "直しました。")
    assert ids(book, prompt)[0] == right


def test_fault_17_latin_beside_a_particle_stays_a_word(book):
    wrong = book.add("contact page and transaction actions", "done", session="wrong")
    right = book.add("Reactのフォームの作り方", "useState にしました。")
    found = ids(book, "Reactのフォーム")
    assert found[0] == right
    assert wrong not in found


@pytest.mark.parametrize("word", ["認証", "在庫", "決済"])
def test_fault_18_two_character_words_count_inside_a_prompt(book, word):
    right = book.add(f"{word}の仕組み", "外部に任せます。")
    assert ids(book, f"{word} は")[0] == right
    assert ids(book, f"新しい{word}について、どう進めるか考えたい")[0] == right


@pytest.mark.parametrize("prompt", ["ok", "はい", "yes", "continue", "明日の天気を教えてください"])
def test_fault_19_chat_and_strange_topics_bring_nothing(book, prompt):
    book.add("設定を教えてください", "設定は config.json です。はい、続けます。yes, continue.")
    assert ask(book, prompt) == ""


def test_fault_20_relevance_is_the_same_beside_a_worse_candidate(book):
    right = book.add("在庫引当の競合", "楽観ロックにしました。")

    def measured():
        options = {"project_path": PROJECT, "scope": True, "limit": 9, "config": config(), "now": NOW}
        hits = search(book.connection, "在庫引当の競合", **options)
        return next(hit.relevance for hit in hits if hit.chunk.id == right)

    alone = measured()
    book.add("在庫の画面の余白", "直しました。", session="worse")
    assert measured() == pytest.approx(alone, abs=0.05)


def test_fault_21_perfect_match_of_another_project_passes_the_recommended_gate(book):
    book.add("Kubernetes の HPA の閾値を決めたい", "CPU 65 % で増やします。", project=OTHER_PROJECT)
    assert "[from: other-app]" in ask(book, "Kubernetes の HPA の閾値を決めたのはいくつ")


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("ＡＰＩキーの発行", "APIキー"),
        ("ﾃﾞｰﾀﾍﾞｰｽの分割", "データベース"),
        ("데이터베이스를 옮겼다", "데이터베이스는 어떻게 했지"),
        ("数据库连接池的配置", "数据库连接池怎么配置"),
    ],
)
def test_fault_22_width_and_script_do_not_hide_a_memory(book, stored, asked):
    right = book.add(stored, "済み")
    assert ids(book, asked)[0] == right


@pytest.mark.parametrize("sign", ["%", "_"])
def test_fault_23_wildcards_match_themselves(book, sign):
    right = book.add("記号", f"ここに {sign} がある", session="sign")
    assert ids(book, sign) == [right]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system can't change its zone")
def test_fault_24_age_is_that_of_the_turn_in_utc(book, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        old = book.add("在庫引当の方式", "楽観ロック", session="a", at="2025-12-31 20:00:00")
        new = book.add("在庫引当の方式", "楽観ロック", session="b", at="2025-12-31 23:00:00")
        assert ids(book, "在庫引当の方式")[:2] == [new, old]
        assert "[2026-01-01 b]" in ask(book, "在庫引当の方式の楽観ロック", recall_limit=1)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_fault_25_running_session_is_not_injected_into_itself(book):
    book.add("Kubernetes の HPA の閾値を決めたい", "CPU 65 % で増やします。", session="now")
    assert ask(book, "Kubernetes の HPA の閾値") == ""


def test_fault_26_symbolic_links_and_sub_directories_lead_to_the_project(book, tmp_path):
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    os.symlink(root, tmp_path / "link", target_is_directory=True)
    right = book.add("在庫引当の方式", "楽観ロック", project=resolve_project(str(root)))
    for folder in (root / "src", tmp_path / "link", tmp_path / "link" / "src"):
        assert ids(book, "在庫引当の方式", project=resolve_project(str(folder))) == [right]


def test_fault_27_search_follows_the_tiered_scope(book):
    right = book.add("Kubernetes の HPA の閾値", "CPU 65 %", project=OTHER_PROJECT)
    assert right in ids(book, "Kubernetes の HPA の閾値", scope="tiered")
