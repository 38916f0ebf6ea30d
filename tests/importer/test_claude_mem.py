"""Importing claude-mem: what becomes of its rows, and that nothing comes twice or comes back."""

import sqlite3
from contextlib import closing

import pytest

from claude_mem_databases import GENERATIONS, START, ClaudeMem, ancient
from kizami_core.editing import delete_chunks, edit_chunk
from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.foreign_turns import ForeignTurn, prepare_foreign
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.recording import save_transcript
from kizami_core.searching import search
from kizami_import.claude_mem_rows import read_rows, read_sessions
from kizami_import.snapshot import snapshot
from transcripts import rows

NOW = 1_798_761_600.0


def _fill(made):
    made.session("s1", prompt="Build the login")
    made.prompt("s1", "Build the login", at=START + 60)
    made.observation(
        "s1",
        "Login with PKCE",
        at=START + 120,
        type="feature",
        subtitle="Short-lived tokens",
        narrative="The endpoint checks the code verifier.",
        facts=["Tokens live 15 minutes", "ログインは1日1回"],
        concepts=["how-it-works", "gotcha"],
        files_read=["src/login.py", "src/pkce.py"],
        files_modified=["src/login.py"],
        prompt_number=1,
    )
    made.summary(
        "s1",
        at=START + 180,
        request="Build the login",
        learned="A lock per user is enough",
        next_steps="Rate limits",
        prompt_number=1,
    )


_PROMPT = "[User]\nBuild the login\n\n[Assistant]\n- Login with PKCE"
_OBSERVATION = """[Assistant]
Login with PKCE
Short-lived tokens

The endpoint checks the code verifier.

- Tokens live 15 minutes
- ログインは1日1回

Modified: src/login.py

Read: src/pkce.py"""
_SUMMARY = """[User]
Build the login

[Assistant]
Learned: A lock per user is enough

Next steps: Rate limits"""


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_reads_like_a_conversation(target, tmp_path, generation):
    _fill(ClaudeMem(tmp_path / "old.db", generation))
    report = target.import_claude_mem(tmp_path / "old.db")
    assert target.contents() == [_PROMPT, _OBSERVATION, _SUMMARY]
    assert (report.imported, report.skipped, report.sessions, report.chunks_written) == (
        {"observation": 1, "prompt": 1, "summary": 1},
        {},
        1,
        3,
    )
    assert check(target.connection) == IntegrityReport((), ())


def test_an_upgrade_of_claude_mem_brings_nothing_twice(target, tmp_path):
    for generation in GENERATIONS[1:]:
        _fill(ClaudeMem(tmp_path / f"{generation}.db", generation))
        target.import_claude_mem(tmp_path / f"{generation}.db")
    assert target.contents() == [_PROMPT, _OBSERVATION, _SUMMARY]


def test_types_concepts_and_files_become_metadata(target, source):
    concepts = ["pattern: what recurs", "gotcha"]
    source.observation("s1", "Race fixed", type="bugfix", concepts=concepts, files_read=["src/a.py"])
    target.import_claude_mem(source.path)
    assert target.metadata() == [
        {
            "filePaths": ["src/a.py"],
            "toolNames": [],
            "errorMessages": [],
            "types": ["bugfix"],
            "concepts": ["pattern", "gotcha"],
        }
    ]


def test_an_edit_keeps_types_and_concepts(target, source):
    source.observation("s1", "Race fixed", type="bugfix", concepts=["gotcha"])
    target.import_claude_mem(source.path)
    chunk = edit_chunk(target.connection, "1", "Race fixed for good", now=NOW)
    assert (chunk.metadata.types, chunk.metadata.concepts) == (("bugfix",), ("gotcha",))
    assert chunk.as_dict()["metadata"]["types"] == ["bugfix"]


def test_version_3_is_imported_too(target, tmp_path):
    ancient(tmp_path / "ancient.db")
    target.import_claude_mem(tmp_path / "ancient.db")
    assert target.contents() == [
        "[User]\nBuild the login",
        "[Assistant]\nAuth uses JWT\n\n認証はJWTを使う\n\n- 15 minutes\n\nRead: auth.py",
        "[Assistant]\nThe login was built.",
    ]
    assert target.metadata()[1]["concepts"] == ["decision", "auth", "jwt"]


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        ('["first", "cut o', ["- first", "- cut o"]),
        ("one fact, not JSON", ["- one fact, not JSON"]),
        ('{"key": "value", "n": 1}', ["- key: value", "- n: 1"]),
        (
            '["text", 42, null, ["nested"], {"a": 1}, true]',
            ["- text", "- 42", "- nested", "- a: 1", "- true"],
        ),
        ("null", []),
        ('"alone"', ["- alone"]),
        ("[]", []),
        ('["nul\\u0000char", "half \\ud83d pair"]', ["- nulchar", "- half ? pair"]),
    ],
)
def test_facts_of_any_shape_are_read(target, source, facts, lines):
    source.observation("s1", "Title", facts=facts)
    target.import_claude_mem(source.path)
    assert target.contents() == ["\n".join(["[Assistant]", "Title", *([""] if lines else []), *lines])]


@pytest.mark.parametrize(
    ("files", "paths"),
    [
        ('["a.py"', ["a.py"]),
        ("src/a.py, src/b.py", ["src/a.py", "src/b.py"]),
        ('[1, 2, "c.py"]', ["c.py"]),
        ("null", []),
        ("{}", []),
    ],
)
def test_files_of_any_shape_are_read(target, source, files, paths):
    source.observation("s1", "Title", files_read=files)
    target.import_claude_mem(source.path)
    assert target.metadata()[0]["filePaths"] == paths


def test_rows_with_old_text_alone_are_imported_and_empty_ones_skipped(target, source):
    source.observation("s1", text="旧形式: 新しい順に並べる")
    source.observation("s1")
    source.observation("s1", " ", narrative="\n\t ", facts="[]", files_read=["a.py"])
    source.summary("s1")
    source.summary("s1", request="", learned="")
    report = target.import_claude_mem(source.path)
    assert target.contents() == ["[Assistant]\n旧形式: 新しい順に並べる"]
    assert report.skipped == {"empty": {"observation": 2, "summary": 2}}


def test_dates_are_kept_whatever_form_they_have(target, source):
    source.observation("s1", "seconds", created_at_epoch=START + 1)
    source.observation("s1", "no date", created_at="not a date", created_at_epoch=(START + 2) * 1000)
    source.observation("s1", "no epoch", created_at="2026-01-05T10:00:03+09:00", created_at_epoch=0)
    source.observation("s1", "neither", created_at="", created_at_epoch="soon")
    target.import_claude_mem(source.path)
    assert dict(zip(target.contents(), target.times(), strict=True)) == {
        "[Assistant]\nneither": "2026-01-05 01:00:00",
        "[Assistant]\nseconds": "2026-01-05 01:00:01",
        "[Assistant]\nno date": "2026-01-05 01:00:02",
        "[Assistant]\nno epoch": "2026-01-05 01:00:03",
    }


def test_rows_whose_session_is_gone_are_imported(target, source):
    source.observation("gone", "Orphan")
    source.prompt("lost", "A prompt without a session")
    source.summary("s2", request="A summary without a session")
    report = target.import_claude_mem(source.path)
    assert report.imported == {"observation": 1, "prompt": 1, "summary": 1}
    assert [session for session, _ in target.projects()] == [
        "claude-mem:gone-observer",
        "claude-mem:lost",
        "claude-mem:s2-observer",
    ]


def test_what_the_observer_did_for_itself_is_left_out(target, source):
    source.session("inner", "observer-sessions")
    source.prompt("inner", "You watch a session")
    source.observation("inner", "Observing", project="/home/me/.claude-mem/observer-sessions")
    source.prompt("s1", "<task-notification>done</task-notification>")
    source.execute("CREATE TABLE pending_messages (id INTEGER PRIMARY KEY, tool_input TEXT)")
    source.execute("INSERT INTO pending_messages VALUES (1, 'raw payload')")
    report = target.import_claude_mem(source.path)
    assert (target.contents(), report.skipped) == ([], {"internal": {"observation": 1, "prompt": 2}})


def test_private_regions_tags_and_secrets_are_masked(target, source):
    source.prompt("s1", "<private>hunter2</private>")
    source.prompt("s1", "<PRIVATE>one <private>two</private> three</private>after", 2, START + 1)
    source.observation(
        "s1",
        "A key",
        at=START + 2,
        narrative="before <claude-mem-context>old</claude-mem-context>after <private>never closed",
        facts=["password: correct-horse-battery"],
    )
    source.observation("s1", "DB", at=START + 3, facts=["password: correct-horse-battery", "port: 5432"])
    report = target.import_claude_mem(source.path)
    text = "\n".join(target.contents())
    for secret in ("hunter2", "one", "two", "three", "old", "never", "correct-horse"):
        assert secret not in text
    assert "before after [private]" in text
    assert "port: 5432" in text
    assert report.skipped == {"private": {"prompt": 1}}


def test_a_second_import_adds_nothing(target, tmp_path):
    _fill(ClaudeMem(tmp_path / "old.db"))
    target.import_claude_mem(tmp_path / "old.db")
    before = rows(target.connection)
    report = target.import_claude_mem(tmp_path / "old.db")
    assert (report.imported, report.known, report.updated, report.chunks_written) == (
        {},
        {"observation": 1, "prompt": 1, "summary": 1},
        {},
        0,
    )
    assert rows(target.connection) == before


def test_later_rows_are_picked_up_and_the_prompt_tells_of_them(target, source):
    source.prompt("s1", "Find the leak")
    target.import_claude_mem(source.path)
    source.observation("s1", "Leak in the pool", at=START + 9, prompt_number=1)
    report = target.import_claude_mem(source.path)
    assert target.contents() == [
        "[User]\nFind the leak\n\n[Assistant]\n- Leak in the pool",
        "[Assistant]\nLeak in the pool",
    ]
    assert (report.imported, report.updated) == ({"observation": 1}, {"prompt": 1})


def test_what_a_person_deleted_or_edited_stays_so(target, tmp_path):
    _fill(ClaudeMem(tmp_path / "old.db"))
    target.import_claude_mem(tmp_path / "old.db")
    delete_chunks(target.connection, ["2"], now=NOW)
    edit_chunk(target.connection, "1", "Mine now", now=NOW)
    report = target.import_claude_mem(tmp_path / "old.db")
    assert (target.contents(), report.imported) == (["Mine now", _SUMMARY], {})


def test_exact_duplicates_of_one_moment_count_once(target, source):
    source.observation("s1", "Twice")
    source.observation("s1", "Twice")
    source.observation("s1", "Twice", at=START + 60)
    report = target.import_claude_mem(source.path)
    assert (report.imported, report.skipped) == ({"observation": 2}, {"repeated": {"observation": 1}})


def test_a_dry_run_counts_and_writes_nothing(target, tmp_path):
    _fill(ClaudeMem(tmp_path / "old.db"))
    report = target.import_claude_mem(tmp_path / "old.db", dry_run=True)
    assert (report.imported, report.is_dry_run, report.chunks_written) == (
        {"observation": 1, "prompt": 1, "summary": 1},
        True,
        0,
    )
    assert rows(target.connection) == {"chunks": [], "turns": [], "sessions": [], "resolutions": []}


def test_long_narratives_are_cut_into_chunks(target, source):
    source.observation("s1", "Long", type="change", narrative="一つの段落です。\n\n" * 400)
    target.import_claude_mem(source.path)
    sizes = [row[0] for row in target.connection.execute("SELECT token_count FROM chunks")]
    assert len(sizes) > 1
    assert max(sizes) <= target.config.max_tokens_per_chunk
    assert {tuple(found["types"]) for found in target.metadata()} == {("change",)}


def test_prompts_of_a_session_saved_from_its_transcript_are_left_out(target, source, tmp_path):
    path = target.transcript("s1", tmp_path)
    save_transcript(target.connection, str(path), config=target.config, now=NOW)
    source.prompt("s1", "Hello")
    source.observation("s1", "A note")
    report = target.import_claude_mem(source.path)
    assert report.imported == {"observation": 1}
    assert report.skipped == {"saved from its transcript": {"prompt": 1}}


def test_memories_under_a_name_are_found_by_wider_searches(target, source, tmp_path):
    source.observation("s1", "Kubernetes HPA", narrative="The autoscaler needs a metrics server.")
    target.import_claude_mem(source.path)

    def found(*, scope):
        hits = search(
            target.connection,
            "autoscaler metrics server",
            project_path=str(tmp_path),
            scope=scope,
            limit=5,
            config=target.config,
            now=NOW,
        )
        return [hit.chunk.id for hit in hits]

    assert (found(scope=False), found(scope="tiered")) == ([1], [1])


def test_one_project_by_its_name_or_its_folder(target, source, tmp_path):
    folder = tmp_path / "blog"
    folder.mkdir()
    source.session("s2", "blog")
    source.observation("s1", "In the shop")
    source.observation("s2", "In the blog", project="blog")
    report = target.import_claude_mem(source.path, project="shop")
    assert target.contents() == ["[Assistant]\nIn the shop"]
    assert report.skipped == {"other project": {"observation": 1}}
    target.import_claude_mem(source.path, project=str(folder), named={"blog": str(folder)})
    assert target.contents() == ["[Assistant]\nIn the shop", "[Assistant]\nIn the blog"]
    with pytest.raises(NotFoundError, match=r"nothing of a project 'shopp'\. Its projects: 'blog', 'shop'"):
        target.import_claude_mem(source.path, project="shopp")


def test_a_folder_stands_for_the_database_in_it(target, source):
    source.observation("s1", "A note")
    target.import_claude_mem(source.path.parent)
    assert target.contents() == ["[Assistant]\nA note"]


def test_what_is_no_database_of_claude_mem_is_refused(target, tmp_path):
    with pytest.raises(NotFoundError, match="--source"):
        target.import_claude_mem(tmp_path / "absent.db")
    (tmp_path / "text.db").write_text("no database", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"no SQLite database.*--source"):
        target.import_claude_mem(tmp_path / "text.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE chunks (id INTEGER)")
    with pytest.raises(ConfigError, match="holds no memories of claude-mem"):
        target.import_claude_mem(tmp_path / "other.db")
    with pytest.raises(ConfigError, match="Kizami's own"):
        target.import_claude_mem(target.path)


def test_uuids_of_rows_do_not_depend_on_their_numbers(tmp_path):
    uuids = []
    for name, first in (("a.db", 0), ("b.db", 7)):
        made = ClaudeMem(tmp_path / name)
        made.session("s1")
        for _ in range(first):
            made.observation("s1", "Other")
        made.observation("s1", "Same", at=START + 60)
        with snapshot(str(tmp_path / name)) as connection:
            (session,) = read_sessions(connection)
            uuids.append(read_rows(connection, session)[-1].uuid)
    assert uuids[0] == uuids[1]


def test_prompts_with_nothing_but_private_regions_have_no_chunks():
    turn = ForeignTurn("u", "s", "/p", "2026-01-01 00:00:00", ("[User]\n<private>x</private>",))
    assert prepare_foreign(turn, 512).chunks == []
