import pytest

from kizami_core.config import parse_config
from kizami_core.editing import delete_chunks, delete_session, edit_chunk
from kizami_core.maintenance.retention import prune, run_maintenance
from kizami_core.recall import recall
from kizami_core.recording import save_transcript
from kizami_core.resolutions import MAX_EXPLANATION_CHARS, Resolution, find_resolutions
from kizami_core.searching import search
from kizami_core.storage.connection import open_database
from memories import MemoryBook, config
from transcripts import BEGIN, Transcript, rows

_NOW = BEGIN.timestamp() + 86_400
_DAY = 86_400
_ERROR = "src/agent.ts(217,9): error TS2322: Type 'press' is not assignable to type 'click'."
_FAILURE = f"Exit code 2\n> tsc\n\n{_ERROR}"


@pytest.fixture
def connection(tmp_path):
    opened = open_database(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


def _save(connection, transcript, folder, *, lines=None):
    path = transcript.write(folder, lines=lines)
    save_transcript(connection, path, config=parse_config({}, {})[0], now=_NOW)


def _build(transcript, number, output=_FAILURE, *, is_error=True, command="npm run build"):
    transcript.call(f"b{number}", "Bash", command=command)
    return transcript.result(f"b{number}", output, is_error=is_error)


def _edit(transcript, number, path):
    transcript.call(f"e{number}", "Edit", file_path=path, old_string="a", new_string="b")
    return transcript.result(f"e{number}", "ok")


def _two_turns(session_id="session-1", **options):
    """A build fails in one turn and succeeds in the next, after two edits."""
    transcript = _build(Transcript(session_id, **options).ask("ビルドして"), 1)
    transcript.answer("型が合っていません。")
    transcript.ask("直して").answer("The union lacks 'press'. I add it to the type.")
    _edit(transcript, 1, "src/types.ts")
    _edit(transcript, 2, "src/agent.ts")
    transcript.answer("Now I run the build again:")
    return _build(transcript, 2, "built", is_error=False).answer("通りました。")


def _find(connection, text="", **options):
    return find_resolutions(connection, text, **{"project_path": None, "limit": 10, **options})


def _pairs(connection):
    return [(found.command, found.failed_chunk, found.resolved_chunk) for found in _find(connection)]


def test_a_resolution_tells_the_error_and_what_fixed_it(connection, tmp_path):
    _save(connection, _two_turns(), tmp_path)
    assert _find(connection) == [
        Resolution(
            command="npm run build",
            error=_ERROR,
            files=("src/types.ts", "src/agent.ts"),
            explanation="The union lacks 'press'. I add it to the type.",
            failed_at="2026-03-04 05:07:07",
            resolved_at="2026-03-04 05:11:07",
            session_id="session-1",
            project_path="/home/dev/my-app",
            failed_chunk=1,
            resolved_chunk=2,
        )
    ]


def test_a_failure_that_nothing_resolved_is_none(connection, tmp_path):
    transcript = _build(Transcript().ask("build"), 1)
    _build(transcript, 2, "ok", is_error=False, command="npm run build -- --force")
    _save(connection, transcript, tmp_path)
    _save(connection, _build(Transcript("session-2").ask("b"), 1, "ok", is_error=False), tmp_path)
    assert _find(connection) == []


def test_fix_and_failure_in_one_turn_are_told_from_what_else_the_turn_did(connection, tmp_path):
    transcript = Transcript().ask("build")
    _build(_edit(transcript, 1, "before.ts"), 1, "ok", is_error=False)
    _build(transcript, 2)
    transcript.answer("A type is missing.")
    transcript.call("x", "Edit", file_path="failed.ts", new_string="b")
    transcript.result("x", "String to replace not found.", is_error=True)
    _build(_edit(transcript, 2, "fix.ts"), 3, "", is_error=False)
    _edit(transcript.answer("Something else."), 3, "after.ts")
    _save(connection, transcript, tmp_path)
    (found,) = _find(connection)
    assert (found.files, found.explanation) == (("fix.ts",), "A type is missing.")


def test_what_lies_between_may_be_whole_turns_and_no_edit(connection, tmp_path):
    transcript = _build(
        Transcript().ask("push"), 1, "error: failed to push", command="git push\n  origin main"
    )
    transcript.ask("pull first").answer("Got it!   I rebase\nonto origin first. Then I push. And so on.")
    transcript.call("p", "Bash", command="git pull --rebase").result("p", "ok")
    transcript.ask("and now?")
    _build(transcript, 2, "done", is_error=False, command="git push\n  origin main")
    _save(connection, transcript, tmp_path)
    (found,) = _find(connection)
    assert (found.files, found.explanation) == ((), "Got it! I rebase onto origin first. Then I push.")
    assert (found.failed_chunk, found.resolved_chunk) == (1, 3)


def test_the_chunks_named_are_those_of_the_two_calls(connection, tmp_path):
    """Each output is long enough for several chunks, which begin with the line of the call they continue."""
    transcript = Transcript().ask("build")
    noise = "\n".join(f"compiled module number {n} of the application {'x' * 300}" for n in range(25))
    transcript.answer("first " * 600)
    _build(transcript, 1, f"{noise}\n{_ERROR}")
    transcript.answer("middle " * 900)
    _build(_edit(transcript, 1, "fix.ts"), 2, noise, is_error=False).answer("last " * 900)
    _save(connection, transcript, tmp_path)
    (found,) = _find(connection)
    contents = dict(connection.execute("SELECT id, content FROM chunks"))
    assert "[Tool: Bash] npm run build → Error: " in contents[found.failed_chunk]
    assert "[Tool: Bash] npm run build → compiled module number 0 " in contents[found.resolved_chunk]
    assert (found.files, found.explanation[:13]) == (("fix.ts",), "middle middle")
    assert len(found.explanation) <= MAX_EXPLANATION_CHARS


@pytest.mark.parametrize("lines", range(1, 15))
def test_a_failure_saved_earlier_meets_its_success_in_a_later_save(connection, tmp_path, lines):
    transcript = _two_turns()
    once = open_database(str(tmp_path / "once.db"))
    _save(once, transcript, tmp_path)
    for cut in (lines, None, lines, None):
        _save(connection, transcript, tmp_path, lines=cut)
    assert rows(connection)["resolutions"] == rows(once)["resolutions"] != []
    assert _find(connection) == _find(once)
    once.close()


def test_the_first_later_success_counts_and_every_failing_turn_is_resolved_by_it(connection, tmp_path):
    transcript = Transcript()
    for number, output in enumerate([_FAILURE, _FAILURE, "ok", "ok"]):
        _build(transcript.ask(f"try {number}"), number, output, is_error=output != "ok")
    _save(connection, transcript, tmp_path)
    assert _pairs(connection) == [("npm run build", 2, 3), ("npm run build", 1, 3)]


@pytest.mark.parametrize("order", ["parent first", "fork first"])
def test_a_failure_is_resolved_in_the_session_in_which_it_first_stood(connection, tmp_path, order):
    """A fork holds the failing turn as a copy and fixes it in its own way."""
    parent = _build(Transcript("parent").ask("build"), 1)
    fork = Transcript("fork", begin=BEGIN.replace(hour=9))
    mark = '"sessionId": "fork", "forkedFrom": {"sessionId": "parent"}'
    fork.lines += [line.replace('"sessionId": "parent"', mark) for line in parent.lines]
    _build(_edit(fork.ask("fix it so"), 1, "fork.ts"), 2, "ok", is_error=False)
    _build(_edit(parent.ask("fix it"), 1, "parent.ts"), 2, "ok", is_error=False)
    for transcript in (parent, fork) if order == "parent first" else (fork, parent):
        _save(connection, transcript, tmp_path)
    assert [(found.session_id, found.files) for found in _find(connection)] == [("parent", ("parent.ts",))]


def test_the_latest_comes_first_and_a_text_ranks_by_the_words_of_the_error(connection, tmp_path):
    for number, (command, error) in enumerate(
        [
            ("pytest", "E   fixture 'db' not found\nFAILED tests/test_a.py"),
            ("npm run build", _ERROR),
            ("make", "エラー: 接続プールが枯渇しました"),
        ]
    ):
        transcript = Transcript(f"session-{number}").ask("go")
        _build(transcript, 1, error, command=command)
        _save(connection, _build(transcript, 2, "ok", is_error=False, command=command), tmp_path)

    def commands(text="", **options):
        return [found.command for found in _find(connection, text, **options)]

    assert commands() == ["make", "npm run build", "pytest"]
    assert commands(limit=2) == ["make", "npm run build"]
    assert commands("  ") == ["make", "npm run build", "pytest"]
    assert commands("TS2322 が出る") == ["npm run build"]
    assert commands("接続プールの枯渇") == ["make"]
    assert commands("fixture not found in pytest, error") == ["pytest", "npm run build"]
    assert commands("まったく関係のない話") == []
    assert commands("ok") == []


def test_a_project_sees_its_own_and_sub_agents_only_on_demand(connection, tmp_path):
    _save(connection, _two_turns(), tmp_path)
    _save(connection, _two_turns("session-2", cwd="/home/dev/other"), tmp_path)
    assert [found.session_id for found in _find(connection, project_path="/home/dev/other")] == ["session-2"]
    connection.execute("UPDATE sessions SET parent_session_id = 'session-1' WHERE session_id = 'session-2'")
    assert [found.session_id for found in _find(connection)] == ["session-1"]
    assert len(_find(connection, include_agents=True)) == 2


@pytest.mark.parametrize("chunk", ["1", "2"])
def test_deleting_a_chunk_of_either_turn_removes_the_resolution_for_good(connection, tmp_path, chunk):
    _save(connection, _two_turns(), tmp_path)
    delete_chunks(connection, [chunk], now=_NOW)
    _save(connection, _two_turns(), tmp_path)
    assert _find(connection) == []
    assert connection.execute("SELECT count(*) FROM resolutions").fetchone() == (0,)


def test_deleting_the_session_and_retention_remove_it(connection, tmp_path):
    for session_id in ("session-1", "session-2"):
        _save(connection, _two_turns(session_id), tmp_path)
    delete_session(connection, "session-1", now=_NOW)
    assert [found.session_id for found in _find(connection)] == ["session-2"]
    prune(connection, older_than_days=0.1, now=_NOW)
    assert connection.execute("SELECT count(*) FROM resolutions").fetchone() == (0,)


def test_an_edit_keeps_it(connection, tmp_path):
    _save(connection, _two_turns(), tmp_path)
    edit_chunk(connection, "2", "[User]\n直して\n\n[Assistant]\n型に press を足した。", now=_NOW)
    (found,) = _find(connection)
    assert (found.error, found.files, found.explanation) == (_ERROR, (), "型に press を足した。")
    assert (found.failed_chunk, found.resolved_chunk) == (1, 2)


def test_a_failure_is_not_waited_for_for_ever(connection, tmp_path):
    _save(connection, _two_turns(), tmp_path)
    _save(connection, _build(Transcript("session-2").ask("build"), 1), tmp_path)
    settings = parse_config({}, {})[0]

    def stored():
        return [row[0] for row in connection.execute("SELECT session_id FROM resolutions ORDER BY 1")]

    run_maintenance(connection, config=settings, now=_NOW + 20 * _DAY)
    assert stored() == ["session-1", "session-2"]
    # A clock that jumps ages nothing by more than a week, so the days pass in steps.
    for day in (27, 34, 41):
        run_maintenance(connection, config=settings, now=_NOW + day * _DAY)
    assert stored() == ["session-1"]


def test_what_is_stored_of_a_failure_is_redacted(connection, tmp_path):
    transcript = _build(Transcript().ask("go"), 1, "Error: token=ghp_" + "a1B2" * 9)
    _save(connection, _build(transcript, 2, "ok", is_error=False), tmp_path)
    assert [found.error for found in _find(connection)] == ["Error: token=[redacted]"]


def test_a_row_whose_chunks_another_program_deleted_is_passed_over(connection, tmp_path):
    _save(connection, _two_turns(), tmp_path)
    connection.execute("DELETE FROM chunks")
    assert _find(connection) == []


# ---- recall ----


@pytest.fixture
def book(tmp_path):
    made = MemoryBook(tmp_path / "memory.db")
    made.add_noise(project="/home/dev/my-app")
    yield made
    made.connection.close()


def _recall(connection, prompt, *, gate=0.3, session_id="now"):
    settings = config(min_relevance_score=gate, project_scope="tiered")
    return recall(
        connection, prompt, session_id=session_id, project_path="/home/dev/my-app", config=settings, now=_NOW
    )


def _ask(connection, prompt, **options):
    return _recall(connection, prompt, **options).block


def _hits(connection, query):
    return search(
        connection, query, project_path="/home/dev/my-app", scope=True, limit=5, config=config(), now=_NOW
    )


def _apart(transcript):
    """Keep the failing and the resolving turn apart, so that they are no neighbours."""
    return transcript.ask("別の話です").answer("わかりました。" * 3)


_PROMPT = "npm run build で error TS2322: Type 'press' is not assignable to type が出る"


def _session_with_an_unlike_fix():
    transcript = _build(Transcript().ask("ビルドして"), 1).answer("失敗しました。")
    _apart(transcript).ask("直して").answer("合併型に 'press' を足します。")
    return _build(_edit(transcript, 1, "src/union.ts"), 2, "ok", is_error=False)


def test_a_prompt_that_quotes_an_error_brings_the_turn_that_resolved_it_first(book, tmp_path):
    _save(book.connection, _session_with_an_unlike_fix(), tmp_path)
    block = _ask(book.connection, _PROMPT)
    assert "src/union.ts" in block
    assert block.index("src/union.ts") < block.index("TS2322")
    assert block.count("src/union.ts") == 1


def test_the_resolving_turn_takes_the_relevance_of_the_failing_one(book, tmp_path):
    _save(book.connection, _session_with_an_unlike_fix(), tmp_path)
    first, second = _hits(book.connection, _PROMPT)[:2]
    assert "src/union.ts" in first.chunk.content
    assert _ERROR in second.chunk.content
    assert (first.score, first.relevance) == (second.score, second.relevance)


def test_a_neighbour_is_shown_once(book, tmp_path):
    _save(book.connection, _two_turns(), tmp_path)
    block = _ask(book.connection, _PROMPT)
    assert "src/types.ts" in block
    assert "Exit code 2" not in block


def test_within_one_turn_the_chunk_of_the_success_is_preferred(book, tmp_path):
    transcript = _build(Transcript().ask("ビルドして"), 1)
    transcript.answer("調べます。" * 400)
    _build(_edit(transcript, 1, "src/union.ts"), 2, "ok", is_error=False)
    _save(book.connection, transcript.answer("終わりました。" * 5), tmp_path)
    assert "src/union.ts" in _hits(book.connection, _PROMPT)[0].chunk.content


def test_a_prompt_about_something_else_in_the_failing_turn_changes_nothing(book, tmp_path):
    transcript = _build(Transcript().ask("決済の冪等キーは Redis に置く方針でビルドして"), 1)
    _apart(transcript).ask("直して")
    _build(_edit(transcript, 1, "src/union.ts"), 2, "ok", is_error=False)
    _save(book.connection, transcript, tmp_path)
    block = _ask(book.connection, "決済の冪等キーは Redis に置く方針だった？")
    assert "冪等キー" in block
    assert "src/union.ts" not in block


def test_an_error_brings_back_nothing_where_its_turn_would_not_come_back(book, tmp_path):
    _save(book.connection, _session_with_an_unlike_fix(), tmp_path)
    (error,) = book.connection.execute("SELECT id FROM chunks WHERE content LIKE '%TS2322%'").fetchone()
    candidates = _recall(book.connection, _PROMPT).report.candidates
    (failing,) = (candidate.relevance for candidate in candidates if candidate.chunk_id == error)
    assert _ask(book.connection, _PROMPT, gate=failing - 0.001) != ""
    assert _ask(book.connection, _PROMPT, gate=failing + 0.001) == ""
    assert _ask(book.connection, _PROMPT, session_id="session-1") == ""


def test_an_unresolved_error_is_shown_as_before(book, tmp_path):
    _save(book.connection, _session_with_an_unlike_fix(), tmp_path, lines=5)
    (hit, *_) = _hits(book.connection, _PROMPT)
    assert _ERROR in hit.chunk.content


def test_when_the_success_is_not_found_in_the_text_the_last_chunk_of_its_turn_counts(book, tmp_path):
    _save(book.connection, _session_with_an_unlike_fix(), tmp_path)
    ((chunk,),) = book.connection.execute("SELECT id FROM chunks WHERE content LIKE '%union.ts%'")
    edit_chunk(book.connection, str(chunk), "合併型に足した。", now=_NOW)
    assert _hits(book.connection, _PROMPT)[0].chunk.id == chunk


def test_prompts_without_a_resolution_read_nothing_more(book, tmp_path):
    """The price of looking: one statement for a prompt that has hits, none for one without."""
    _save(book.connection, _session_with_an_unlike_fix(), tmp_path)
    statements = []
    book.connection.set_trace_callback(statements.append)
    assert _ask(book.connection, "週末の東京の天気を教えて") == ""
    assert [text for text in statements if "resolutions" in text] == []
    assert _ask(book.connection, "別の話です、わかりました") == ""
    book.connection.set_trace_callback(None)
    plan = book.connection.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM resolutions"
        " WHERE failed_turn IN (1, 2) AND resolved_turn IS NOT NULL"
    ).fetchall()
    assert "SCAN" not in plan[0][3]
