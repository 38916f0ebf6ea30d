"""Entries → turns: where a turn begins and ends, and what belongs to it."""

import json

import pytest

from kizami_core.errors import TranscriptError
from kizami_core.records import ReadReport, ToolCall, Turn
from kizami_core.transcript import turns
from kizami_core.transcript.names import is_agent_transcript, session_id_of
from kizami_core.transcript.rendering import render_turn
from kizami_core.transcript.resume import ResumePoint
from kizami_core.transcript.turns import TranscriptReader

T = "2026-01-01T00:00:00Z"


def user(text, **fields):
    return {"type": "user", "message": {"content": text}, "timestamp": T, **fields}


def says(*blocks, message_id=None, **fields):
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"type": "assistant", "message": {"id": message_id, "content": content}, "timestamp": T, **fields}


def call(call_id, name="Bash", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id, content, *, is_error=False, **fields):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return user([block], **fields)


def queue(operation, content=None):
    return {"type": "queue-operation", "operation": operation, "content": content, "timestamp": T}


def queued(text, **fields):
    attachment = {"type": "queued_command", "prompt": text, "commandMode": "prompt"}
    return {"type": "attachment", "attachment": attachment, "timestamp": T, **fields}


@pytest.fixture
def read(tmp_path):
    def read_records(*records, start=0):
        path = tmp_path / "session.jsonl"
        path.write_bytes(
            b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)
        )
        return list(TranscriptReader(str(path), resume=ResumePoint(start)))

    return read_records


def shape(read_turns):
    return [(turn.prompt, list(turn.parts)) for turn in read_turns]


def test_a_turn_is_a_prompt_and_everything_until_the_next_one(tmp_path):
    records = [
        user("認証方式は?", uuid="u1", cwd="/home/dev/proj"),
        says("確認します。", call("t1", command="ls"), uuid="a1"),
        result("t1", "src", uuid="r1", cwd="/home/dev/proj/src"),
        says("JWTです。", uuid="a2"),
        user("続けて", uuid="u2"),
    ]
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"".join(lines))
    reader = TranscriptReader(str(path))
    second = sum(map(len, lines[:4]))
    assert list(reader) == [
        Turn(
            "u1",
            "2026-01-01 00:00:00",
            "認証方式は?",
            ("確認します。", ToolCall("t1", "Bash", {"command": "ls"}, "src"), "JWTです。"),
            "/home/dev/proj",
            0,
            second,
        ),
        Turn("u2", "2026-01-01 00:00:00", "続けて", (), "/home/dev/proj", second, second + len(lines[4])),
    ]
    assert reader.report() == ReadReport(5, 2, {}, 0)
    assert len(list(reader)) == 2
    assert reader.report() == ReadReport(5, 2, {}, 0)


def test_records_of_one_response_are_joined_in_file_order_and_repeated_blocks_count_once(read):
    assert shape(
        read(
            user("go"),
            says(call("t1", command="a"), message_id="m1"),
            {"type": "progress", "data": {}},
            result("t1", "A"),
            says("一", message_id="m1"),
            says("一", "二", call("t1", command="a"), message_id="m1"),
            says("二", message_id="m2"),
            says("無名"),
            says("無名"),
        )
    ) == [("go", [ToolCall("t1", "Bash", {"command": "a"}, "A"), "一", "二", "二", "無名", "無名"])]


def test_results_of_parallel_calls_find_their_calls_whatever_their_parents(read):
    (turn,) = read(
        user("go"),
        says(call("t1", command="a"), uuid="x", message_id="m"),
        says(call("t2", command="b"), uuid="y", parentUuid="x", message_id="m"),
        result("t2", "B", parentUuid="y"),
        result(
            "t1",
            [{"type": "text", "text": "A"}],
            is_error=True,
            parentUuid="nowhere",
            toolUseResult="Error: A",
        ),
        result("t1", "late repetition"),
        result("t9", "no such call"),
    )
    assert turn.parts == (
        ToolCall("t1", "Bash", {"command": "a"}, "A", is_error=True),
        ToolCall("t2", "Bash", {"command": "b"}, "B"),
    )


def test_compaction_and_sidechains_do_not_cut_a_turn(read):
    assert shape(
        read(
            user("go", uuid="u1"),
            says("一", uuid="a1"),
            {"type": "system", "subtype": "compact_boundary", "parentUuid": None},
            user("This session is being continued from a previous conversation that…", isCompactSummary=True),
            user("This session is being continued from a previous conversation that…"),
            user("go", uuid="u1"),
            says("一", uuid="a1"),
            user("Warmup", isSidechain=True),
            says("sub-agent", isSidechain=True),
            says("二", uuid="a2"),
        )
    ) == [("go", ["一", "二"])]


def test_a_fork_of_a_compacted_session_leaves_the_answers_that_it_kept_to_the_first_file(read):
    compaction = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "c1",
        "compactMetadata": {"trigger": "manual", "preservedMessages": {"uuids": ["a1"]}},
    }
    summary = user("This session is being continued from a previous conversation…", isCompactSummary=True)
    fork = [
        says("一", uuid="a1"),
        says("二", uuid="a2"),
        user("固定間隔の案も", uuid="u2"),
        says("三", uuid="a3"),
    ]
    assert shape(read(compaction, summary, *fork)) == [("固定間隔の案も", ["三"])]
    # In the first file they belong to the turn that was compacted.
    assert shape(read(user("再試行", uuid="u1"), compaction, summary, *fork)) == [
        ("再試行", ["一", "二"]),
        ("固定間隔の案も", ["三"]),
    ]
    # A compaction that kept nothing copies nothing.
    assert shape(read({**compaction, "compactMetadata": {"trigger": "auto"}}, summary, *fork)) == [
        ("", ["一", "二"]),
        ("固定間隔の案も", ["三"]),
    ]


def test_an_edited_prompt_after_a_rewind_keeps_both_branches_in_file_order(read):
    assert shape(
        read(
            user("Reactで", uuid="u1", parentUuid="p"),
            says("React案"),
            user("Vueで", uuid="u2", parentUuid="p"),
            says("Vue案"),
        )
    ) == [("Reactで", ["React案"]), ("Vueで", ["Vue案"])]


def test_a_turn_without_a_uuid_is_named_by_session_and_offset(read):
    first, second = read(user("一"), user("二"))
    assert (first.uuid, second.uuid) == ("session:0", f"session:{second.start_offset}")


def test_reading_again_from_a_turns_offset_gives_that_turn(read):
    records = [user("一", uuid="u1"), says("1"), user("二"), says("2")]
    everything = read(*records)
    assert read(*records, start=everything[1].start_offset) == everything[1:]


def test_an_answer_before_any_prompt_is_a_turn(read):
    records = [says("続きから", uuid="a1"), says("もう一つ"), user("次", uuid="u1")]
    everything = read(*records)
    assert shape(everything) == [("", ["続きから", "もう一つ"]), ("次", [])]
    assert everything[0].uuid == "a1"


def test_a_plan_is_the_models_part_of_the_turn(read):
    assert shape(read(user("Implement the following plan:\nJWT", planContent="JWT"), says("完了"))) == [
        ("Implement the following plan:", ["JWT", "完了"])
    ]


def test_a_notification_goes_on_with_the_turn(read):
    note = "<task-notification>\n<status>completed</status>\n</task-notification>"
    assert shape(read(user("調査して"), says("開始"), user(note), says("結果"))) == [
        ("調査して", ["開始", "結果"])
    ]


def test_a_prompt_delivered_mid_turn_begins_a_turn_where_it_was_delivered(read):
    assert shape(
        read(
            user("go", uuid="u1"),
            queue("enqueue", "急いで"),
            says("一"),
            queue("remove"),
            queued("急いで", uuid="q1"),
            says("二"),
        )
    ) == [("go", ["一"]), ("急いで", ["二"])]


def test_before_2_1_97_the_queue_itself_tells_of_a_prompt_delivered_mid_turn(read):
    first, second = read(
        user("go", uuid="u1", cwd="/p"),
        says(call("t1", command="sleep 5")),
        queue("enqueue", "急いで"),
        queue("remove"),
        result("t1", "done"),
        says("急ぎます"),
    )
    assert (first.prompt, first.parts) == ("go", (ToolCall("t1", "Bash", {"command": "sleep 5"}, "done"),))
    assert (second.prompt, second.parts, second.cwd) == ("急いで", ("急ぎます",), "/p")
    assert second.uuid == f"session:{second.start_offset}"


def test_a_delivery_is_known_only_when_the_model_goes_on(read):
    # Until then a later record may bring the same prompt with an identity of its own.
    assert shape(read(user("go"), queue("enqueue", "急いで"), queue("remove"))) == [("go", [])]


def test_the_same_prompt_as_a_record_of_its_own_counts_once(read):
    delivered = [user("go"), queue("enqueue", "急いで"), queue("remove")]
    assert shape(read(*delivered, user("急いで", uuid="u2"), says("はい"))) == [
        ("go", []),
        ("急いで", ["はい"]),
    ]
    after = [says("はい"), user("急いで", uuid="u2"), says("完了")]
    assert shape(read(*delivered, *after)) == [("go", []), ("急いで", ["はい", "完了"])]
    assert shape(read(user("ok"), says("a"), user("ok"), says("b"))) == [("ok", ["a"]), ("ok", ["b"])]


def test_queued_prompts_that_were_sent_or_taken_back_begin_no_turn_of_their_own(read):
    assert shape(
        read(
            queue("dequeue"),
            queue("enqueue", "一"),
            queue("dequeue"),
            user("一"),
            queue("enqueue", "二"),
            queue("popAll", "二"),
            queue("popAll", "別"),
            queue("enqueue", "/model"),
            queue("remove"),
            queue("remove"),
            says("答え"),
        )
    ) == [("一", ["答え"])]


def test_two_prompts_delivered_together_are_two_turns(read):
    start = [user("go"), queue("enqueue", "一"), queue("enqueue", "二"), queue("remove"), queue("remove")]
    assert shape(read(*start, says("答え"))) == [("go", []), ("一", []), ("二", ["答え"])]
    assert shape(read(*start, queued("一"), queued("二"), says("答え"))) == [
        ("go", []),
        ("一", []),
        ("二", ["答え"]),
    ]


def test_a_result_that_comes_after_the_next_prompt_goes_to_its_call(read):
    assert shape(
        read(
            user("一"),
            says(call("t1")),
            queued("二"),
            result("t1", "遅れた"),
            says("答え"),
            user("三"),
            user("四"),
        )
    ) == [("一", [ToolCall("t1", "Bash", {}, "遅れた")]), ("二", ["答え"]), ("三", []), ("四", [])]


def test_a_call_that_never_gets_its_result_stays_without_output(read):
    assert shape(
        read(user("長い作業"), says(call("t1", command="sleep 20")), user("次"), user("その次"))
    ) == [
        ("長い作業", [ToolCall("t1", "Bash", {"command": "sleep 20"})]),
        ("次", []),
        ("その次", []),
    ]


def test_long_output_and_input_are_held_in_part_and_rendered_as_if_they_were_whole(read, monkeypatch):
    monkeypatch.setattr(turns, "_FULL_TURN_BYTES", 100_000_000)
    output = "\n".join(f"{number} " + "あ" * 3000 for number in range(500))
    content = "\n".join(f"line {number}" for number in range(200_000))
    edits = [{"new_string": "x" * 200_000, "old": {"deep": {"er": [[[[["too deep"]]]]]}, "n": 1}}]
    records = [
        user("go"),
        says(call("t1", command="cat"), call("t2", "Write", file_path="/a", content=content)),
        says(call("t3", "MultiEdit", file_path="/b", edits=edits, count=3)),
        result("t1", output),
    ]
    (turn,) = read(*records)
    bash, write, edit = turn.parts
    assert len(bash.output) < 81_000
    assert len(write.input["content"]) < 81_000
    assert len(edit.input["edits"][0]["new_string"]) == 1600
    assert edit.input["edits"][0]["old"] == {"deep": {"er": [[[[None]]]]}, "n": 1}
    whole = turn.replace(
        parts=(
            bash.replace(output=output),
            write.replace(input={"file_path": "/a", "content": content}),
            edit,
        )
    )
    assert render_turn(turn, head_lines=20, tail_lines=5) == render_turn(whole, head_lines=20, tail_lines=5)


def test_a_turn_full_of_output_holds_of_more_what_rendering_keeps(read, monkeypatch):
    monkeypatch.setattr(turns, "_FULL_TURN_CHARS", 10_000)
    output = "\n".join("い" * 900 for _ in range(80))
    (turn,) = read(user("go"), says(call("t1"), call("t2")), result("t1", output), result("t2", output))
    first, second = turn.parts
    assert (first.output, len(second.output) < 10_100) == (output, True)
    whole = turn.replace(parts=(first, second.replace(output=output)))
    assert render_turn(turn, head_lines=20, tail_lines=5) == render_turn(whole, head_lines=20, tail_lines=5)


@pytest.mark.parametrize(
    ("path", "session_id", "is_agent"),
    [
        ("/home/dev/.claude/projects/-p/6ab6c41b.jsonl", "6ab6c41b", False),
        (r"C:\Users\太郎\.claude\projects\C--p\6ab6.jsonl", "6ab6", False),
        ("agent-12.jsonl", "agent-12", True),
        ("/x/-p/6ab6/subagents/agent-aa.jsonl", "agent-aa", True),
        ("/x/-p/6ab6/subagents/workflows/wf_1/journal.jsonl", "journal", True),
        (r"C:\x\6ab6\subagents\other.jsonl", "other", True),
        ("/home/dev/subagents/.claude/projects/-p/6ab6.jsonl", "6ab6", False),
    ],
)
def test_what_a_path_says_of_its_session(path, session_id, is_agent):
    assert (session_id_of(path), is_agent_transcript(path)) == (session_id, is_agent)


def test_a_file_that_cannot_be_opened_says_what_to_do(tmp_path):
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(TranscriptError, match=r"can't be read .*Check the path and its permissions"):
            list(TranscriptReader(str(path)))


def test_copies_of_records_are_told_whatever_their_ids_look_like(read):
    ids = ["x" * 36, "y" * 36, "a-1", "a1", "0b1c2d3e-0000-4000-8000-000000000001"]
    records = [user(f"prompt {number}", uuid=uuid) for number, uuid in enumerate(ids)]
    assert [turn.uuid for turn in read(*records, *records)] == ids


def test_an_empty_file_has_no_turns(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    reader = TranscriptReader(str(path))
    assert (list(reader), reader.report()) == ([], ReadReport(0, 0, {}, 0))


def test_a_prefix_of_a_transcript_gives_turns_that_only_grow(tmp_path):
    records = [
        queue("enqueue", "一"),
        queue("dequeue"),
        user("一", uuid="u1"),
        says("a", call("t1")),
        queue("enqueue", "二"),
        queue("remove"),
        result("t1", "out"),
        says("b"),
        user("三", uuid="u3"),
        says("c"),
    ]
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    whole = {turn.uuid: turn for turn in TranscriptReader(str(path))}
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        for turn in TranscriptReader(str(path)):
            later = whole[turn.uuid]
            assert (turn.prompt, turn.start_offset) == (later.prompt, later.start_offset)
            assert len(turn.parts) <= len(later.parts)
    assert [turn.prompt for turn in whole.values()] == ["一", "二", "三"]


@pytest.mark.shared
def test_every_real_transcript_reads_without_an_exception(shared):
    folder = shared / "data" / "transcripts"
    read_turns = broken = 0
    for path in sorted(folder.rglob("*.jsonl")):
        reader = TranscriptReader(str(path))
        found = list(reader)
        if "_codex" in path.parts:
            assert found == [], path
        assert [turn.start_offset for turn in found] == sorted(turn.start_offset for turn in found), path
        assert all(turn.uuid and (turn.prompt or turn.parts) for turn in found), path
        read_turns += len(found)
        broken += reader.report().broken_lines
    assert read_turns > 300
    assert broken == 12


@pytest.mark.shared
def test_the_sessions_of_the_real_client_give_their_prompts(shared):
    folder = shared / "data" / "transcripts" / "client-2.1.332"
    prompts = {
        path.stem[:8]: [(turn.prompt, len(turn.parts)) for turn in TranscriptReader(str(path))]
        for path in folder.rglob("*.jsonl")
        if not is_agent_transcript(str(path))
    }
    start = [("認証方式はJWTにする。理由を記録して", 1), ("有効期限は? [[bash echo exp=15m]]", 3)]
    assert prompts == {
        "59e43d1c": start,
        "fde5269c": [*start, ("分岐: Cookieにした場合は?", 1), ("分岐の続き", 1)],
        "60aa6802": [("長い作業 [[bash sleep 20]]", 2)],
        "6ab6c41b": [("調査して [[task Find where the form lives]]", 3)],
        "b04a2d8a": [("React formはuseStateとReact Hook Formどちらがいい?", 1)],
        "be5c5985": [
            (
                (
                    "テストを実行して [[bash printf 'line %s\\n' 1 2 3; "
                    "echo 'Error: ENOENT no such file src/app.ts' >&2; exit 2]]"
                ),
                3,
            ),
            ("続き: フォームの設計はどうする?", 1),
        ],
        "c61ca4cd": [],
    }
