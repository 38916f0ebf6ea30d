"""Forgetting a text: nothing of it is left in any file, nothing brings it back, and all else stays."""

import gzip
import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.archive.files import file_lines, write_file
from kizami_core.archive.joining import join
from kizami_core.archive.lines import read_lines
from kizami_core.archive.reading import import_archive
from kizami_core.archive.writing import export_archive
from kizami_core.config import load_config
from kizami_core.editing import delete_chunks
from kizami_core.errors import ConfigError, DatabaseBusyError
from kizami_core.forgetting.archives import ArchiveTrace
from kizami_core.forgetting.copies import claude_files_holding
from kizami_core.forgetting.erasure import Traces, find_traces, forget
from kizami_core.forgetting.logs import LogTrace
from kizami_core.forgetting.wanted import Wanted
from kizami_core.maintenance.integrity import IntegrityReport, check
from kizami_core.maintenance.retention import run_maintenance
from kizami_core.paths import append_error_line
from kizami_core.recall_log import log_entry, note_shown, read_log, write_log
from kizami_core.recall_report import RecallReport, TermReport
from kizami_core.recording import LastAnswer, save_transcript
from kizami_core.resolutions import find_resolutions
from kizami_core.retrieval import word_index
from kizami_core.retrieval.terms import index_terms
from kizami_core.searching import find, read_search
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.sessions import list_sessions
from kizami_core.storage.turn_states import TurnState
from kizami_core.storage.turns import awaited_answers
from kizami_core.timestamps import epoch_seconds
from transcripts import BEGIN, Transcript

NOW = epoch_seconds("2026-03-10 12:00:00")
SECRET = "Zanthoxylum 医院の合図"
PROJECT = "/home/dev/my-app"


class DataFolder:
    """A home with a database, its archives and logs, and Claude Code's transcripts."""

    def __init__(self, folder):
        self.env = {"HOME": str(folder)}
        self.folder = folder / ".local" / "share" / "kizami"
        self.transcripts = folder / ".claude" / "projects" / "-home-dev-my-app"
        self.database = self.folder / "memory.db"
        self.config = load_config(str(folder / "none.json"), self.env)[0]

    def open(self, **options):
        return closing(open_database(str(self.database), **options))

    def save(self, *transcripts):
        with self.open() as connection:
            for transcript in transcripts:
                path = transcript.write(self.transcripts)
                save_transcript(connection, path, config=self.config, now=NOW)

    def forget(self, text=SECRET, *, project=None, with_backups=False):
        with self.open() as connection:
            return forget(
                connection,
                Wanted(text, project),
                with_backups=with_backups,
                config=self.config,
                env=self.env,
                now=NOW,
            )

    def find(self, text=SECRET, *, project=None):
        with self.open(read_only=True) as connection:
            return find_traces(connection, Wanted(text, project), env=self.env)

    def contents(self):
        with self.open() as connection:
            return [
                row[0]
                for row in connection.execute("SELECT content FROM chunks ORDER BY session_id, chunk_index")
            ]

    def files(self):
        """Return the bytes of every file, decompressed where it is compressed."""
        found = {}
        shared = (
            "-shm",
            "-wal",
        )  # made by whoever opens the database; the log counts where it holds something
        for place, _, names in os.walk(self.folder):
            for name in names:
                data = open_bytes(os.path.join(place, name))
                if name.endswith(shared) and (name.endswith("-shm") or not data):
                    continue
                found[os.path.relpath(os.path.join(place, name), self.folder)] = (
                    gzip.decompress(data) if name.endswith(".gz") else data
                )
        return found

    def holding(self, text):
        """Return the files whose bytes hold a text, or a word of it, in any case."""
        forms = {text, *text.split(), json.dumps(text)[1:-1]}
        return sorted(
            name
            for name, data in self.files().items()
            if any(form.lower().encode() in data.lower() for form in forms)
        )


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def data(tmp_path):
    return DataFolder(tmp_path)


def other():
    return Transcript("other").ask("Why does the build fail?").answer("A header of zlib is missing.")


def told():
    """A session that holds the text in a prompt, in an answer, and in neither."""
    return (
        Transcript("told")
        .ask(f"Note this: {SECRET}")
        .answer("Noted.")
        .ask("Which port does the relay use?")
        .answer("It uses 2525.")
        .ask("And once more?")
        .answer(f"It is ＺＡＮＴＨＯＸＹＬＵＭ\n{SECRET[-6:]} as you said.")
    )


def full(data):
    """Let a text stand wherever Kizami can put it."""
    old = Transcript("old", begin=BEGIN.replace(year=2025)).ask(f"Was it {SECRET}?").answer("Yes.")
    old.ask("Which colour has the door?").answer("It is green.")
    data.save(old, told(), other())
    with data.open() as connection:
        run_maintenance(connection, config=data.config, now=NOW)
        path = Transcript("waits").ask("Say it again").write(data.transcripts)
        save_transcript(
            connection, path, config=data.config, now=NOW, last_answer=LastAnswer(f"It was {SECRET}.")
        )
    terms = tuple(TermReport(term, 1, 0.5) for term in index_terms(SECRET))
    report = RecallReport("silent", 0.2, 2, terms, (), 0, {})
    empty = report.replace(terms=())
    for prompt, told_report in ((f"what of {SECRET}", empty), ("cut off", report), ("the relay", empty)):
        entry = log_entry(prompt, told_report, session_id="s", project_path=PROJECT, now=NOW)
        write_log(str(data.folder / "recalls.jsonl"), entry)
    with open(data.folder / "recalls.jsonl", "a", encoding="utf-8") as log:
        log.write(f'{{"prompt": "torn {SECRET}\n[]\n{{"report": {{"terms": 1}}}}\n')
    shutil.copy(data.folder / "recalls.jsonl", data.folder / "recalls.jsonl.1")
    note_shown(str(data.folder / "shown"), "s", [1, 2])
    for line in (
        f"2026-03-01T00:00:00Z stop: no such file: {SECRET.lower()}",
        "2026-03-01T00:00:00Z stop: full",
    ):
        append_error_line(str(data.folder / "error.log"), line)


def test_nothing_of_a_forgotten_text_is_left_in_any_file(data):
    full(data)
    assert {name.partition("/")[0] for name in data.holding(SECRET)} >= {
        "archive", "error.log", "memory.db", "recalls.jsonl", "recalls.jsonl.1",
    }  # fmt: skip
    found = data.find()
    assert len(found.chunks) == 3
    assert [(os.path.basename(trace.path), trace.chunks) for trace in found.archives] == [
        ("20260310-120000-deleted-001.jsonl.gz", 1)
    ]
    assert [(os.path.basename(trace.path), trace.lines) for trace in found.logs] == [
        ("recalls.jsonl", 3), ("recalls.jsonl.1", 3), ("error.log", 1),
    ]  # fmt: skip
    assert data.forget() == found
    assert data.holding(SECRET) == []
    assert data.find() == Traces((), (), (), (), found.claude_files, ())
    assert [entry.prompt for entry in read_log(str(data.folder / "recalls.jsonl"))] == ["the relay"] * 2


def test_no_term_and_no_trigram_of_it_is_left_in_the_indexes(data):
    data.save(told(), other())
    terms = {*index_terms(SECRET), "zan", "xyl", "の合図"}

    def indexed(connection):
        connection.executescript(
            """
            CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, chunks_words, 'row');
            CREATE VIRTUAL TABLE temp.trigrams USING fts5vocab(main, chunks_fts, 'row');
            """
        )
        rows = connection.execute("SELECT term FROM temp.words UNION SELECT term FROM temp.trigrams")
        return terms & {row[0] for row in rows}

    with data.open() as connection:
        assert indexed(connection) == terms
    data.forget()
    with data.open() as connection:
        assert indexed(connection) == set()


def test_what_only_free_pages_indexes_and_queues_hold_goes_too(data):
    session = Transcript("gone")
    for number in range(150):
        session.ask(f"{number} {SECRET}").answer("I will remember it. " * 60)
    data.save(session, other())
    with data.open() as connection:  # as another program does
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM chunks WHERE session_id = 'gone' AND chunk_index < 140")
        word_index.refresh(connection)
        connection.execute("DELETE FROM chunks WHERE session_id = 'gone'")
        assert connection.execute("SELECT count(*) FROM word_queue").fetchone() == (10,)
    rest = b"anthoxylum"  # an index leaves out what a term shares with the one before it
    before = data.files()["memory.db"]
    assert SECRET.encode() in before
    assert rest in before
    assert data.forget().chunks == ()
    assert rest not in data.files()["memory.db"].lower()
    assert len(data.contents()) == 1


@pytest.mark.parametrize("reading", ["dropped", "settled"])
def test_an_awaited_answer_that_one_side_gave_up_does_not_come_back_by_joining(reading):
    is_deleted = reading == "settled"
    holding = TurnState("u", "s", "", 0, reading, 5, 1, SECRET, 1, is_deleted, frozenset(), {})
    without = holding.replace(awaited_answer="")
    assert join(holding, without) == join(without, holding) == without


def test_other_memories_stay_and_are_found(data):
    full(data)
    data.forget()
    with data.open() as connection:
        assert check(connection) == IntegrityReport((), ())
        found = find(
            connection,
            read_search("relay port", project_path=PROJECT, scope=True),
            limit=5,
            config=data.config,
            now=NOW,
        )
        assert [session.session_id for session in list_sessions(connection)] == ["told", "other"]
    assert [hit.chunk.content.splitlines()[1] for hit in found.hits] == ["Which port does the relay use?"]
    assert data.contents() == [
        "[User]\nWhy does the build fail?\n\n[Assistant]\nA header of zlib is missing.",
        "[User]\nWhich port does the relay use?\n\n[Assistant]\nIt uses 2525.",
    ]


def test_neither_saving_nor_importing_brings_it_back(data, tmp_path):
    full(data)
    export = str(tmp_path / "export.jsonl.gz")
    with data.open() as connection:
        write_file(export, export_archive(connection))
    shutil.copytree(data.folder / "archive", tmp_path / "copies")
    copies = [str(path) for path in (tmp_path / "copies").iterdir()]
    data.forget()
    with data.open() as connection:
        for path in (export, *copies):
            import_archive(connection, read_lines(file_lines(path), path), now=NOW)
        for path in sorted(data.transcripts.iterdir()):
            save_transcript(connection, str(path), config=data.config, now=NOW, from_start=True)
    assert data.holding(SECRET) == []
    # Of the archive what does not hold the text comes back.
    assert "[User]\nWhich colour has the door?\n\n[Assistant]\nIt is green." in data.contents()


def test_a_turn_that_is_not_saved_yet_is_never_saved(data):
    data.save(other())
    path = told().write(data.transcripts)
    agents = Transcript("agent-1").ask(f"Look for {SECRET}", isSidechain=True).answer("No.")
    agents.write(data.transcripts / "told" / "subagents")
    data.forget()
    with data.open() as connection:
        save_transcript(connection, path, config=data.config, now=NOW)
        agent = str(data.transcripts / "told" / "subagents" / "agent-1.jsonl")
        save_transcript(connection, agent, config=data.config, now=NOW)
    assert [content.splitlines()[1] for content in data.contents()] == [
        "Why does the build fail?",
        "Which port does the relay use?",
    ]
    assert data.holding(SECRET) == []


def test_a_turn_that_grows_by_the_text_keeps_what_it_had(data):
    growing = Transcript("grows").ask("Where is it?").answer("I look.")
    data.save(growing)
    path = growing.answer(f"There: {SECRET}").write(data.transcripts)
    data.forget()
    with data.open() as connection:
        save_transcript(connection, path, config=data.config, now=NOW)
    assert data.contents() == ["[User]\nWhere is it?\n\n[Assistant]\nI look."]


def test_a_transcript_that_cannot_be_read_as_one_is_left_alone(data):
    data.save(other())
    data.transcripts.joinpath("broken.jsonl").write_text(f"{SECRET}\n", encoding="utf-8")
    found = data.forget()
    assert [os.path.basename(path) for path in found.claude_files] == ["broken.jsonl"]


def test_a_text_that_was_cut_between_two_chunks_goes_with_both(data):
    numbers = " ".join(f"{number * 7919 % 99991:05}" for number in range(600))
    data.save(Transcript("long").ask("Recite").answer(numbers), other())
    with data.open() as connection:
        rows = connection.execute("SELECT id, content FROM chunks WHERE session_id = 'long' ORDER BY id")
        (one, first), (two, second), *rest = rows.fetchall()
    text = f"{first[-5:]} {second.split()[1]}"
    assert text in numbers
    assert not any(text in content for content in data.contents())
    assert data.forget(text).chunks == (one, two)
    assert len(data.contents()) == len(rest) + 1


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("exactly here", {1: "cut exactly", 2: "[Assistant]\nhere it goes"}, {1, 2}),
        ("secret", {1: "a sec", 2: "ret", 5: "none"}, {1, 2}),
        ("secret", {1: "secret", 2: "none"}, {1}),
        ("secret", {1: "none", 2: "secret"}, {2}),
        ("x", {1: "a", 2: "b"}, set()),
    ],
)
def test_pieces_hold_a_text_alone_or_together(text, pieces, expected):
    assert Wanted(text).places(pieces) == expected


def test_what_only_a_failed_command_holds_goes_with_its_turn(data):
    output = "\n".join(
        [*(f"line {number}" for number in range(40)), f"Error: {SECRET}", *map(str, range(40))]
    )
    session = Transcript("fails").ask("Run it").call("t1", "Bash", command="make relay")
    session.result("t1", output, is_error=True).ask("Again").call("t2", "Bash", command="make relay")
    data.save(session.result("t2", "ok"), other())
    with data.open() as connection:
        connection.execute("UPDATE resolutions SET error = ?", (f"Error: {SECRET}",))
        assert len(find_resolutions(connection, "", project_path=None, limit=9)) == 1
    assert not any(SECRET in content for content in data.contents())
    found = data.forget()
    with data.open() as connection:
        assert connection.execute("SELECT count(*) FROM resolutions").fetchone() == (0,)
    assert len(found.chunks) == 1
    assert data.holding(SECRET) == []


@pytest.mark.parametrize("is_in_turn", [True, False])
def test_what_an_archive_keeps_of_failed_commands_goes_too(data, is_in_turn):
    command = f"make {SECRET}" if is_in_turn else "make relay"
    session = Transcript("fails", begin=BEGIN.replace(year=2025)).ask("Run it")
    session.call("t1", "Bash", command=command).result("t1", "Error: no rule", is_error=True)
    session.call("t2", "Bash", command=command).result("t2", "ok")
    session.ask("And now?").call("t3", "Bash", command="false").result("t3", "Error: 1", is_error=True)
    data.save(session.ask("So?").call("t4", "Bash", command="false").result("t4", "ok"), other())
    with data.open() as connection:
        if not is_in_turn:
            connection.execute("UPDATE resolutions SET error = ? WHERE command <> 'false'", (SECRET,))
        run_maintenance(connection, config=data.config, now=NOW)
    (archive,) = (data.folder / "archive").iterdir()
    (trace,) = data.forget().archives
    assert trace == ArchiveTrace(str(archive), 1)
    assert data.holding(SECRET) == []
    kinds = [json.loads(line).get("type") for line in file_lines(str(archive))]
    assert kinds == [None, "session", "turn", "turn", "turn", "resolution", "end"]


def test_an_answer_that_a_hook_told_goes_with_a_deleted_chunk(data):
    path = Transcript("waits").ask("Say it").write(data.transcripts)
    with data.open() as connection:
        save_transcript(connection, path, config=data.config, now=NOW, last_answer=LastAnswer(SECRET))
        assert [answer.text for answer in awaited_answers(connection, "waits").values()] == [SECRET]
        delete_chunks(connection, ["1"], now=NOW)
        assert awaited_answers(connection, "waits") == {}
        exported = "".join(export_archive(connection))
    assert SECRET not in exported
    assert data.holding(SECRET) == []


def test_an_answer_told_for_chunks_that_do_not_hold_it_takes_them_along(data):
    path = Transcript("waits").ask("Say it").write(data.transcripts)
    with data.open() as connection:
        save_transcript(connection, path, config=data.config, now=NOW, last_answer=LastAnswer("Later."))
        connection.execute("UPDATE turns SET awaited_answer = ?", (SECRET,))
    assert data.forget().chunks == (1,)
    assert data.holding(SECRET) == []


def test_file_names_and_errors_in_metadata_count(data):
    session = Transcript("names").ask("Read it").call("t1", "Read", file_path="/srv/Zanthoxylum/plan.md")
    data.save(session.result("t1", "text"), other())
    with data.open() as connection:
        connection.execute("UPDATE chunks SET content = 'elsewhere' WHERE session_id = 'names'")
    assert len(data.forget("zanthoxylum").chunks) == 1
    assert data.holding("Zanthoxylum") == []


def test_what_another_program_left_in_the_row_of_a_session_goes_too(data):
    data.save(told(), other())
    with data.open() as connection:
        connection.execute("UPDATE chunks SET content = 'elsewhere' WHERE session_id = 'told'")
        word_index.refresh(connection)
    assert "memory.db" in data.holding(SECRET)
    assert data.forget().chunks == ()
    assert data.holding(SECRET) == []


def test_looking_changes_no_byte(data):
    full(data)
    before = data.files()
    data.find()
    assert data.files() == before


def test_one_project_alone_is_looked_in_where_it_is_named(data):
    data.save(told(), Transcript("there", cwd="/home/dev/there").ask(f"{SECRET}?").answer("Yes."))
    for project in (PROJECT, "/home/dev/there"):
        report = RecallReport("silent", 0.2, 2, (), (), 0, {})
        entry = log_entry(SECRET, report, session_id="s", project_path=project, now=NOW)
        write_log(str(data.folder / "recalls.jsonl"), entry)
    with data.open() as connection:
        connection.execute("UPDATE turns SET started_at = '2025-01-01 00:00:00'")
        connection.execute("UPDATE chunks SET created_at = '2025-01-01 00:00:00' WHERE id <> 2")
        run_maintenance(connection, config=data.config, now=NOW)
        (archive,) = (data.folder / "archive").iterdir()
    found = data.forget(project="/home/dev/there")
    assert (found.chunks, found.archives) == ((), (ArchiveTrace(str(archive), 1),))
    assert found.logs == (LogTrace(str(data.folder / "recalls.jsonl"), 1),)
    assert data.find().archives == (ArchiveTrace(str(archive), 2),)
    assert data.find().logs == (LogTrace(str(data.folder / "recalls.jsonl"), 1),)


def test_backups_are_named_and_deleted_on_a_word(data):
    data.save(told(), other())
    backup = data.folder / "memory.db.schema1.backup"
    with data.open() as connection, closing(sqlite3.connect(backup)) as copy:
        connection.backup(copy)
    without = data.folder / "memory.db.schema1.backup2"
    with closing(sqlite3.connect(without)) as copy:
        copy.execute("CREATE TABLE chunks (content)")
    broken = data.folder / "memory.db.schema1.backup3"
    broken.write_bytes(b"no database" * 100)
    assert data.forget().backups == (str(backup), str(broken))
    assert backup.exists()
    assert data.forget(with_backups=True).backups == (str(backup), str(broken))
    assert not backup.exists()
    assert without.exists()
    assert data.holding(SECRET) == []


def test_a_damaged_archive_is_named_and_what_a_killed_process_left_goes(data):
    data.save(told(), other())
    (data.folder / "archive").mkdir()
    damaged = data.folder / "archive" / "20260101-000000-deleted-001.jsonl.gz"
    damaged.write_bytes(gzip.compress(b'{"kizami":"archive","version":1}\n')[:-4])
    partial = data.folder / "archive" / "20260101-000000-deleted-002.jsonl.gz.123.partial"
    partial.write_bytes(gzip.compress(SECRET.encode()))
    assert data.forget().archives == (ArchiveTrace(str(damaged), None),)
    assert not partial.exists()
    assert damaged.exists()


def test_archives_of_chunks_without_a_turn_are_cleaned_too(data):
    with data.open() as connection, transaction(connection):
        connection.executemany(
            "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, created_at)"
            " VALUES ('ts', '/p', ?, ?, 'mixed', '2025-01-01 00:00:00')",
            [(0, f"[User]\n{SECRET}"), (1, "[User]\nthe rest")],
        )
    with data.open() as connection:
        run_maintenance(connection, config=data.config, now=NOW)
        (archive,) = (data.folder / "archive").iterdir()
        shutil.copy(archive, data.folder / "archive" / "copy.jsonl.gz")
    copy = str(data.folder.parent / "copy.jsonl.gz")
    shutil.copy(archive, copy)
    assert [trace.chunks for trace in data.forget().archives] == [1, 1]
    assert data.holding(SECRET) == []
    with data.open() as connection:
        import_archive(connection, read_lines(file_lines(copy), copy), now=NOW)
    assert data.contents() == ["[User]\nthe rest"]


class Interrupted(Wanted):
    """Something else happens while the first text is looked at."""

    def __init__(self, text, meanwhile):
        super().__init__(text)
        self._meanwhile = meanwhile

    def is_held_by(self, text):
        self._meanwhile()
        self._meanwhile = lambda: None
        return super().is_held_by(text)


def test_what_is_saved_while_it_is_looked_for_goes_too(data):
    data.save(other())
    wanted = Interrupted(SECRET, lambda: data.save(told()))
    with data.open() as connection:
        found = forget(connection, wanted, with_backups=False, config=data.config, env=data.env, now=NOW)
    assert len(found.chunks) == 2
    assert data.holding(SECRET) == []


def test_an_index_of_vectors_that_nothing_here_can_open_is_dropped(data):
    data.save(told(), other())
    with data.open() as connection:
        connection.executescript(
            """
            CREATE TABLE chunks_vec_map (chunk_id INTEGER PRIMARY KEY, vec_rowid INTEGER);
            INSERT INTO chunks_vec_map SELECT id, id FROM chunks;
            CREATE TABLE vector_model (is_indexed INTEGER);
            INSERT INTO vector_model VALUES (1);
            CREATE VIRTUAL TABLE chunks_vec USING fts5(embedding);
            """
        )
    data.forget()
    with data.open() as connection:
        left = connection.execute("SELECT chunk_id FROM chunks_vec_map").fetchall()
        assert left == connection.execute("SELECT id FROM chunks").fetchall()
        assert connection.execute("SELECT is_indexed FROM vector_model").fetchone() == (0,)
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'chunks_vec*'")
        assert tables.fetchall() == [("chunks_vec_map",)]
        assert check(connection) == IntegrityReport((), ())


def test_a_reader_in_the_way_is_told_of_and_forgetting_again_completes_it(data):
    data.save(told(), other())
    with data.open(read_only=True) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM chunks").fetchone()
        with (
            open_hasty(data) as connection,
            pytest.raises(DatabaseBusyError, match="run the same command again"),
        ):
            forget(connection, Wanted(SECRET), with_backups=False, config=data.config, env=data.env, now=NOW)
        reader.execute("COMMIT")
    assert data.forget().chunks == ()
    assert data.holding(SECRET) == []


def open_hasty(data):
    return data.open(busy_timeout_ms=10)


def test_a_writer_in_the_way_is_told_of_before_anything_is_erased(data):
    data.save(told())
    with data.open() as writer, open_hasty(data) as connection:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusyError):
            forget(connection, Wanted(SECRET), with_backups=False, config=data.config, env=data.env, now=NOW)
        writer.execute("ROLLBACK")
    assert len(data.find().chunks) == 2


def test_a_path_that_holds_it_is_named(data):
    data.save(Transcript("s", cwd="/home/dev/zanthoxylum").ask("hello there").answer("Yes."))
    assert data.forget("Zanthoxylum").projects == ("/home/dev/zanthoxylum",)


def test_blank_text_is_refused():
    with pytest.raises(ConfigError, match="--matching TEXT"):
        Wanted(" \n　")


def test_files_of_claude_code_are_searched_in_every_form_of_json(tmp_path):
    env = {"HOME": str(tmp_path)}
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    text = 'say "合図"\tnow'
    forms = {
        "plain.txt": text,
        "json.jsonl": json.dumps({"text": text}, ensure_ascii=False),
        "escaped.jsonl": json.dumps({"text": text}),
        "nested.jsonl": json.dumps({"text": json.dumps({"text": text})}),
        "capitals.jsonl": json.dumps({"text": text.upper()}),
        "far.jsonl": " " * ((1 << 20) - 5) + text,
        "without.jsonl": json.dumps({"text": "say nothing"}),
    }
    for name, content in forms.items():
        (folder / name).write_text(content, encoding="utf-8")
    (tmp_path / ".claude" / "history.jsonl").write_text(text, encoding="utf-8")
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    found = [os.path.basename(path) for path in claude_files_holding(env, Wanted(text))]
    assert sorted(found) == sorted({*forms, "history.jsonl"} - {"without.jsonl"})


@given(before=st.text(), text=st.text(min_size=1), after=st.text())
def test_a_text_is_found_in_every_text_that_holds_it(before, text, after):
    try:
        wanted = Wanted(text)
    except ConfigError:
        return
    assert wanted.is_held_by(f"{before}\n{text}\n{after}")
