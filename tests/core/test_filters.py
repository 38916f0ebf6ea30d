import pytest

from kizami_core.records import Chunk, Metadata
from kizami_core.retrieval.filters import Filters, said_by
from memories import PROJECT, TODAY

TEXT = (
    "[User]\nプールは Redis?\nsecond line\n\n[Assistant]\nPostgreSQL にします。\n\n[Tool: Bash] npm test → ok"
)


def chunk(content=TEXT, *, at=TODAY, tools=(), files=()):
    return Chunk(1, "s", PROJECT, 0, content, "mixed", Metadata(tuple(files), tuple(tools)), at, 1)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-01-01 00:00:00", True),
        ("2026-01-31 23:59:59", True),
        ("2026-01-31T23:59:59.900Z", True),
        ("2025-12-31 23:59:59", False),
        ("2026-02-01 00:00:00", False),
        ("2026-02-01T01:00:00+09:00", True),
        ("some day", False),
    ],
)
def test_times_are_from_the_first_moment_until_before_the_last(at, expected):
    wanted = Filters(since="2026-01-01 00:00:00", until="2026-02-01 00:00:00")
    assert wanted.admits(chunk(at=at)) is expected


def test_one_end_of_time_will_do():
    assert Filters(since=TODAY).admits(chunk())
    assert not Filters(until=TODAY).admits(chunk())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("bash",), True),
        (("BASH", "Edit"), True),
        (("Edit",), False),
        (("mcp__*",), True),
        (("mcp__*__list",), False),
        (("Bas",), False),
        (("B?sh",), True),
    ],
)
def test_one_of_the_tools_was_used(wanted, expected):
    used = chunk(tools=("Bash", "mcp__git__log"))
    assert Filters(tools=wanted).admits(used) is expected
    assert not Filters(tools=wanted).admits(chunk())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("pool.ts", True),
        ("db/POOL.ts", True),
        ("./src/db/pool.ts", True),
        ("/home/dev/src/db/pool.ts", True),
        ("ool.ts", False),
        ("pool", False),
        ("*.ts", True),
        ("src/*.ts", True),
        ("src/*.py", False),
        ("[id].tsx", True),
        ("[ab].md", True),
        ("util.py", True),
        (r"lib\util.py", True),
        ("設計.md", True),
    ],
)
def test_one_of_the_files_is_mentioned(wanted, expected):
    files = ("/home/dev/src/db/pool.ts", "app/[id].tsx", "b.md", r"C:\work\lib\util.py", "docs/設計.md")
    assert Filters(files=("nowhere.c", wanted)).admits(chunk(files=files)) is expected


def test_all_phrases_must_occur_and_no_exclusion():
    assert Filters(phrases=("redis? second", "postgresql に")).admits(chunk())
    assert not Filters(phrases=("redis?", "mysql")).admits(chunk())
    assert not Filters(excluded_phrases=("mysql", "ostgre")).admits(chunk())
    assert Filters(excluded_words=("ostgre",)).admits(chunk())
    assert not Filters(excluded_words=("redis",)).admits(chunk())


def test_marks_are_no_words_but_names_of_tools_are():
    assert Filters(excluded_words=("user", "assistant", "tool")).admits(chunk())
    assert not Filters(excluded_words=("bash",)).admits(chunk())


def test_a_role_is_looked_at_alone():
    assert Filters(role="user", phrases=("redis",)).admits(chunk())
    assert not Filters(role="assistant", phrases=("redis",)).admits(chunk())
    assert Filters(role="assistant", excluded_words=("redis",), phrases=("npm test",)).admits(chunk())
    assert Filters(role="user", any_of=("mysql", "プール")).admits(chunk())
    assert not Filters(role="assistant", any_of=("mysql", "プール")).admits(chunk())
    assert not Filters(role="user").admits(chunk("[Assistant]\nonly"))
    assert Filters(role="user").admits(chunk("no mark at all"))


def test_sections_belong_to_who_wrote_them():
    assert said_by("user", TEXT) == "[User]\nプールは Redis?\nsecond line"
    assert said_by("assistant", TEXT) == TEXT[TEXT.index("[Assistant]") :]
    assert said_by("assistant", f"left\n{TEXT}").startswith("left\n[Assistant]")
    assert Filters().text_of(TEXT) == TEXT


def test_steps_add_one_wish_after_the_other():
    wanted = Filters(since=TODAY, tools=("Bash",), phrases=("a",))
    assert list(wanted.steps()) == [
        ("since", Filters(since=TODAY)),
        ("tools", Filters(since=TODAY, tools=("Bash",))),
        ("phrases", wanted),
    ]
    assert list(Filters().steps()) == []


@pytest.mark.parametrize(
    ("pattern", "part"),
    [("src/*.py", "src"), ("pool.ts", "pool.ts"), ("mcp__*", "mcp__"), ("[id].tsx", ".tsx"), ("a[b", "a")],
)
def test_sql_looks_for_the_longest_plain_part_of_a_pattern(pattern, part):
    condition, parameters = Filters(files=(pattern,)).condition()
    assert parameters == {"file0": part}
    assert condition == "1 AND (c.metadata LIKE '%' || :file0 || '%')"


@pytest.mark.parametrize("pattern", ["*", "設計", "?", ""])
def test_sql_is_asked_nothing_where_a_pattern_has_no_plain_part(pattern):
    assert Filters(tools=("Bash", pattern)).condition() == ("1", {})
