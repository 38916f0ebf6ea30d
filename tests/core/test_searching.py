"""Search with filters over a real database; what each filter means stands in test_filters.py."""

from functools import partial

import pytest

from kizami_core.records import Metadata
from kizami_core.retrieval import word_index
from kizami_core.retrieval.filters import Filters
from kizami_core.retrieval.lexical import ALTERNATIVE
from kizami_core.searching import find, narrowing, read_search, search
from kizami_core.storage.chunks import metadata_text
from kizami_core.storage.connection import transaction
from memories import NOW, OTHER_PROJECT, PROJECT, TODAY, MemoryBook, config

OLD = "2025-03-01 00:00:00"


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    yield made
    made.connection.close()


def ids(book, text, *, scope=True, limit=50, include_agents=False, **wanted):
    hits = search(
        book.connection,
        text,
        project_path=PROJECT,
        scope=scope,
        limit=limit,
        config=config(),
        now=NOW,
        include_agents=include_agents,
        filters=Filters(**wanted),
    )
    return [hit.chunk.id for hit in hits]


def note(book, chunk_id, *, tools=(), files=()):
    with transaction(book.connection):
        book.connection.execute(
            "UPDATE chunks SET metadata = ? WHERE id = ?",
            (metadata_text(Metadata(tuple(files), tuple(tools))), chunk_id),
        )


def test_each_filter_and_all_together(book):
    old = book.add("認証の方式", "JWT にします", at=OLD)
    new = book.add("認証の方式", "JWT をやめます")
    note(book, old, tools=["Bash"], files=["src/auth.py"])
    note(book, new, tools=["Edit"], files=["src/login.py"])
    assert ids(book, "認証") == [new, old]
    assert ids(book, "認証", since=TODAY) == [new]
    assert ids(book, "認証", until=TODAY) == [old]
    assert ids(book, "認証", tools=("bash",)) == [old]
    assert ids(book, "認証", files=("login.py",)) == [new]
    assert ids(book, "認証", role="user") == [new, old]
    assert ids(book, "認証", role="assistant") == []
    assert ids(book, '認証 "jwt に"') == [old]
    assert ids(book, "認証 -やめます") == [old]
    assert ids(book, '認証 -"JWT に"') == [new]
    together = {"since": OLD, "until": TODAY, "tools": ("Bash",), "files": ("*.py",), "role": "assistant"}
    assert ids(book, '方式 JWT "にします" -Redis', **together) == [old]
    assert ids(book, "認証", **{**together, "tools": ("Edit",)}) == []


def test_filters_narrow_before_the_candidates_are_cut(book):
    old = book.add("認証の方式", "JWT にします", at=OLD)
    for number in range(60):
        book.add("認証の認証の方式", f"認証 {number}", session=f"s{number}")
    assert old not in ids(book, "認証", limit=30)
    assert ids(book, "認証", until=TODAY) == [old]
    assert ids(book, '認証 "にします"') == [old]


def test_what_is_older_than_the_newest_postings_of_a_common_word_is_found(book):
    with transaction(book.connection):
        book.connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
            " VALUES ('many', ?, ?, 'zebra', 'mixed', ?)",
            [(PROJECT, number * 2, TODAY if number > 1 else OLD) for number in range(1_100)],
        )
        book.connection.execute(
            "INSERT INTO sessions(session_id, project_path, chunk_count) VALUES ('many', ?, 1100)", (PROJECT,)
        )
        word_index.refresh(book.connection)
    assert ids(book, "zebra", until=TODAY) == [2, 1]


def test_a_limit_beyond_the_candidates_of_recall_is_filled(book):
    for number in range(50):
        book.add("認証", f"{number}", session=f"s{number}")
    assert len(ids(book, "認証", limit=45)) == 45
    assert len(ids(book, "認証", limit=45, since=TODAY)) == 45


@pytest.mark.parametrize("phrase", ["の方", "%", "_", "すだれかけ", "serPass", "と 次", "、"])
def test_phrases_without_a_word_of_the_index_are_found_newest_first(book, phrase):
    texts = ("こ の方、C# 100% a_b", "すだれかけ forgotUserPassword", "人と\n次 佐々木 の方 _ % C# 、")
    book.add("何もない", "text")
    added = [book.add("しるし", text, at=f"2025-01-0{day}") for day, text in enumerate(texts, 1)]
    expected = [
        chunk_id for chunk_id, text in zip(added, texts, strict=True) if _squeezed(phrase) in _squeezed(text)
    ]
    assert ids(book, f'"{phrase}"') == expected[::-1]


def _squeezed(text):
    return " ".join(text.split())


def test_a_phrase_within_words_is_found_beside_words(book):
    glued = book.add("forgotUserPasswordLink", "done")
    worded = book.add("serpass", "word")
    assert sorted(ids(book, 'done "serPass"')) == [glued, worded]
    assert ids(book, 'だれ "serPass"', since=TODAY) == [worded, glued]


@pytest.mark.parametrize(("text", "phrase"), [("ＡＰＩ　キー の発行", "API キー"), ("佐々木", "佐佐")])
def test_what_is_written_otherwise_is_found_by_a_phrase_with_words(book, text, phrase):
    right = book.add(text, "済み")
    assert ids(book, f'"{phrase}"') == [right]


def test_filters_alone_list_the_newest_first(book):
    old = book.add("認証", "a", at=OLD)
    new = book.add("画面", "b", session="t")
    there = book.add("認証", "c", session="there", project=OTHER_PROJECT)
    for chunk_id in (old, new, there):
        note(book, chunk_id, files=["src/db/pool.ts"])
    assert ids(book, "", files=("pool.ts",)) == [new, old]
    assert ids(book, "", files=("pool.ts",), limit=1) == [new]
    assert ids(book, " ", files=("pool.ts",), scope=False) == [there, new, old]
    assert ids(book, "", files=("pool.ts",), scope="tiered") == [new, old, there]
    assert ids(book, "", files=("pool.ts",), scope="tiered", limit=2) == [new, old]
    assert ids(book, "-画面") == [old]
    assert ids(book, "") == ids(book, '""') == []


def test_scopes_and_agents_are_those_of_any_search(book):
    here = book.add("認証", "a")
    there = book.add("認証", "b", session="there", project=OTHER_PROJECT)
    agent = book.add("認証", "c", session="agent-1")
    with transaction(book.connection):
        book.connection.execute("UPDATE chunks SET is_agent = 1 WHERE id = ?", (agent,))
        book.connection.execute("UPDATE sessions SET parent_session_id = 'past' WHERE session_id = 'agent-1'")
        word_index.rebuild(book.connection)
    for text in ("認証", '"認証"', '"証"', ""):
        wanted = partial(ids, book, text, since=TODAY)
        assert wanted() == [here]
        assert sorted(wanted(scope=False)) == sorted(wanted(scope="tiered")) == [here, there]
        assert sorted(wanted(include_agents=True)) == [here, agent]


def test_unknown_words_are_looked_for_by_substring_within_the_filters(book):
    book.add("forgotUserPasswordLink", "done", at=OLD)
    new = book.add("forgotUserPasswordForm", "done")
    assert ids(book, "userpass", since=TODAY) == [new]
    short = book.add("すだれ", "これ")
    book.add("すだれ", "これ", at=OLD)
    assert ids(book, "だれ", since=TODAY) == [short]


def test_relevance_does_not_depend_on_filters(book):
    book.add_noise(40)
    book.add("認証の方式", "JWT にします", at=OLD)
    options = {"project_path": PROJECT, "scope": True, "limit": 5, "config": config(), "now": NOW}
    plain = search(book.connection, "認証の方式は JWT", **options)
    narrowed = search(book.connection, "認証の方式は JWT", **options, filters=Filters(until=TODAY))
    assert [hit.relevance for hit in narrowed] == [plain[0].relevance]
    assert search(book.connection, '"の方"', **options)[0].relevance == 0.0


def told(book, text, *, scope=True, **wanted):
    wanted_search = read_search(text, project_path=PROJECT, scope=scope, filters=Filters(**wanted))
    return list(narrowing(book.connection, wanted_search, limit=3, config=config(), now=NOW))


def test_narrowing_tells_what_each_filter_leaves(book):
    for number in range(5):
        chunk_id = book.add("認証", f"{number}", session=f"s{number}", at=OLD if number else TODAY)
        note(book, chunk_id, tools=["Bash"])
    assert told(book, "認証", since=OLD, until=TODAY, tools=("Edit",), files=("x",)) == [
        ("", 3),
        ("since", 3),
        ("until", 3),
        ("tools", 0),
    ]
    assert told(book, "在庫", since=OLD) == [("", 0)]
    assert told(book, '"の方"') == [("", 3), ("phrases", 0)]
    assert told(book, "認証 -認証", role="user") == [
        ("", 3),
        ("role", 3),
        ("any_of", 3),
        ("excluded_words", 0),
    ]


def test_findings_carry_how_telling_each_word_is(book):
    chunk_id = book.add("認証", "JWT")
    wanted = read_search("認証 JWT", project_path=PROJECT, scope=True)
    rarities = find(book.connection, wanted, limit=5, config=config(), now=NOW).rarities[chunk_id]
    assert set(rarities) == {"認証", "jwt", "auth", "authentication"}
    # No memory holds any of three of them; a word of the same meaning says less than the one asked for.
    assert rarities["auth"] == rarities["authentication"] == ALTERNATIVE * 1.0
    assert ALTERNATIVE < rarities["jwt"] == rarities["認証"] < 1.0


def test_what_a_role_said_in_a_word_of_the_same_meaning_is_found_too(book):
    asked = book.add("How does auth work?", "セッションです。")
    book.add("どう動く？", "auth はセッションです。")
    assert ids(book, "認証", role="user") == [asked]


def test_of_equal_memories_that_of_this_project_comes_first(book):
    here = book.add("認証の方式", "JWT にします")
    there = book.add("認証の方式", "JWT にします", session="there", project=OTHER_PROJECT)
    assert ids(book, "認証の方式", scope=False) == ids(book, "認証の方式", scope="tiered") == [here, there]


def test_the_best_text_is_found_behind_many_newer_ones(book):
    best = book.add("認証", "JWT にします")
    for number in range(60):
        book.add(
            f"その{number}",
            f"{'画面の余白を直して一覧を並べ替えます。' * 8}認証は後です。",
            session=f"s{number}",
        )
    assert ids(book, "認証", limit=5)[0] == best
