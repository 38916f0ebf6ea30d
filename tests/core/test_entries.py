"""Bytes → entries: what a line is, what survives a damaged file, which records are conversation."""

import io
import json

import pytest

from kizami_core.records import ReadReport, ToolCall
from kizami_core.transcript import lines
from kizami_core.transcript.entries import Entry, ToolResult, read_entries
from kizami_core.transcript.lines import ReadTally
from kizami_core.transcript.resume import Reading, ResumePoint


def user(text, **fields):
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


def assistant(*blocks, **fields):
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}, **fields}


def to_bytes(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def read(data, *, start=0):
    tally = ReadTally()
    return list(read_entries(io.BytesIO(data), tally, Reading(ResumePoint(start), "s"))), tally


def prompts(data):
    entries, _ = read(data)
    return [entry.blocks[0] for entry in entries if entry.kind == "prompt"]


def test_an_entry_carries_the_fields_of_its_record():
    data = to_bytes(
        user("設計は?", uuid="u1", timestamp="2026-01-02T03:04:05.678Z", cwd="/home/dev/proj"),
        {
            "type": "assistant",
            "uuid": "a1",
            "timestamp": "2026-01-02T12:04:06+09:00",
            "message": {
                "id": "msg_1",
                "content": [
                    {"type": "thinking", "thinking": "…"},
                    {"type": "text", "text": "JWTにします。\r\n"},
                    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
                ],
            },
        },
    )
    first = data.index(b"\n") + 1
    assert read(data)[0] == [
        Entry("prompt", ("設計は?",), "u1", "", "2026-01-02 03:04:05", "/home/dev/proj", 0, first),
        Entry(
            "answer",
            ("JWTにします。", ToolCall("t1", "Bash", {"command": "ls"})),
            "a1",
            "msg_1",
            "2026-01-02 03:04:06",
            "",
            first,
            len(data),
        ),
    ]


def test_reading_from_an_offset_gives_the_entries_from_there_on_with_the_same_offsets():
    data = to_bytes(user("一"), user("二", uuid="u2"))
    start = data.index(b"\n") + 1
    assert read(data, start=start)[0] == read(data)[0][1:]


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01 00:00:00"),
        ("2026-01-01T09:00:00.999+09:00", "2026-01-01 00:00:00"),
        ("2026-01-01 05:06:07", "2026-01-01 05:06:07"),
        ("昨日", "2025-12-31 23:59:59"),
        ("0001-01-01T00:00:00+09:00", "2025-12-31 23:59:59"),
        (1767225600, "2025-12-31 23:59:59"),
        (None, "2025-12-31 23:59:59"),
    ],
)
def test_a_time_is_utc_and_a_missing_or_malformed_one_is_that_of_the_record_before(timestamp, expected):
    before = {"type": "user", "isMeta": True, "timestamp": "2025-12-31T23:59:59Z"}
    (entry,), _ = read(to_bytes(before, user("はい", timestamp=timestamp)))
    assert entry.timestamp == expected


def test_without_any_time_the_timestamp_is_empty():
    assert read(to_bytes(user("hi")))[0][0].timestamp == ""


def test_only_the_newline_byte_ends_a_line():
    text = "一\u2028二\u2029三\u0085四\x0b五\x0c六\r七"
    assert prompts(to_bytes(user(text))) == [text]


def test_bom_crlf_and_blank_lines_do_no_harm():
    data = b"\xef\xbb\xbf" + to_bytes(user("一"), user("二")).replace(b"\n", b"\r\n") + b"\r\n\n"
    entries, tally = read(data)
    assert [entry.blocks[0] for entry in entries] == ["一", "二"]
    assert tally.report(turns=2) == ReadReport(4, 2, {}, 0)


def test_a_broken_line_is_counted_and_the_next_one_is_read():
    data = to_bytes(user("一")) + b'{"type":"user","mess\nthis is no JSON\n' + to_bytes(user("二"))
    entries, tally = read(data)
    assert [entry.blocks[0] for entry in entries] == ["一", "二"]
    assert (tally.lines, tally.broken_lines) == (4, 2)


@pytest.mark.parametrize("line", [b"[]", b"null", b"42", b'"text"', b'[{"type":"user"}]', b"\xff\xfe"])
def test_a_line_that_is_no_object_is_broken(line):
    entries, tally = read(line + b"\n" + to_bytes(user("続き")))
    assert [entry.blocks[0] for entry in entries] == ["続き"]
    assert tally.broken_lines == 1


def test_an_object_nested_too_deeply_is_broken():
    deep = b'{"type":"user","message":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    entries, tally = read(deep + b"\n" + to_bytes(user("続き")))
    assert [entry.blocks[0] for entry in entries] == ["続き"]
    assert tally.broken_lines == 1


def test_a_torn_last_line_is_no_error_and_a_whole_one_without_newline_is_read():
    whole = to_bytes(user("一"), user("二"))
    entries, tally = read(whole[:-20])
    assert ([entry.blocks[0] for entry in entries], tally.broken_lines) == (["一"], 0)
    entries, tally = read(whole[:-1])
    assert ([entry.blocks[0] for entry in entries], tally.broken_lines) == (["一", "二"], 0)


def test_two_objects_on_one_line_are_both_read_with_their_own_offsets():
    first, second = to_bytes(user("一", uuid="u1")), to_bytes(user("二", uuid="u2"))
    data = first[:-1] + second
    entries, tally = read(data)
    assert [(entry.blocks[0], entry.start, entry.end) for entry in entries] == [
        ("一", 0, len(first) - 1),
        ("二", len(first) - 1, len(data) - 1),
    ]
    assert tally.broken_lines == 0
    assert read(data, start=len(first) - 1)[0][0].uuid == "u2"


def test_a_skipped_record_does_not_hide_one_that_is_joined_to_it():
    data = to_bytes({"type": "summary", "summary": "…"})[:-1] + to_bytes(user("二"))
    entries, tally = read(data)
    assert [entry.blocks[0] for entry in entries] == ["二"]
    assert tally.skipped == {"summary": 1}


def test_a_record_appended_to_a_torn_one_is_recovered_and_the_line_counts_as_broken():
    appended = to_bytes(user("二", parentUuid=None))
    for torn in (b'{"type":"progress","da', b'{"parentUuid":null,"message":{"type":"user","message":"x"}'):
        entries, tally = read(torn + appended)
        assert ([entry.blocks[0] for entry in entries], tally.broken_lines) == (["二"], 1)
        parent_first = to_bytes({"parentUuid": None, **user("三")})
        assert prompts(torn + parent_first) == ["三"]


def test_an_object_inside_a_torn_record_is_not_taken_for_a_record():
    torn = b'{"data":[{"type":"user","message":{"content":"inner"}},{"type":"x","y'
    assert prompts(torn + b"\n" + to_bytes(user("outer"))) == ["outer"]


def test_nul_runs_are_skipped_and_what_follows_them_is_read():
    data = to_bytes(user("一")) + b"\0" * 5000 + to_bytes(user("二")) + b"\0" * 5000
    entries, tally = read(data)
    assert [entry.blocks[0] for entry in entries] == ["一", "二"]
    assert tally.broken_lines == 0


def test_a_pretty_printed_object_is_put_together():
    data = json.dumps(user("整形\n済み", uuid="p"), indent=2, ensure_ascii=False).encode() + b"\n"
    entries, tally = read(data + to_bytes(user("次")))
    assert [(entry.blocks[0], entry.start, entry.end) for entry in entries] == [
        ("整形\n済み", 0, len(data)),
        ("次", len(data), len(data) + len(to_bytes(user("次")))),
    ]
    assert tally.broken_lines == 0


def test_a_pretty_printed_object_that_breaks_off_does_not_swallow_the_records_behind_it():
    printed = json.dumps(user("x"), indent=2).encode().splitlines(keepends=True)
    entries, tally = read(b"".join(printed[:3]) + to_bytes(user("次")))
    assert ([entry.blocks[0] for entry in entries], tally.broken_lines) == (["次"], 3)
    damaged = b"".join([*printed[:2], b"  oops\n", *printed[2:]]) + b"\n"
    entries, tally = read(damaged + to_bytes(user("次")))
    assert ([entry.blocks[0] for entry in entries], tally.broken_lines) == (["次"], len(printed) + 1)


def test_a_pretty_printed_object_at_the_torn_end_is_no_error():
    data = to_bytes(user("一")) + b'{\n  "type": "user",\n'
    entries, tally = read(data)
    assert ([entry.blocks[0] for entry in entries], tally.broken_lines) == (["一"], 0)


def test_a_line_beyond_the_bound_is_skipped(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    data = to_bytes(user("x" * 350)) + to_bytes(user("短い"))
    entries, tally = read(data)
    assert ([(entry.blocks[0], entry.end) for entry in entries], tally.broken_lines) == (
        [("短い", len(data))],
        1,
    )
    entries, tally = read(to_bytes(user("x" * 350))[:-1])
    assert (entries, tally.broken_lines) == ([], 1)


def test_lone_surrogates_and_invalid_bytes_are_replaced_and_pairs_stay():
    data = b"".join(
        [
            rb'{"type":"user","message":{"content":"a\ud83d b\uDE00 c\ud83d\ude00 d\\ud83d"}}' + b"\n",
            b'{"type":"user","message":{"content":"e\xff\xe3\x81 f"}}\n',
        ]
    )
    texts = prompts(data)
    assert texts == ["a\ufffd b\ufffd c😀 d\\ud83d", "e\ufffd\ufffd f"]
    assert [text.encode() for text in texts]


def test_nul_characters_in_a_text_are_removed():
    assert prompts(to_bytes(user("a\0b"))) == ["ab"]


def test_records_that_are_no_conversation_are_counted_by_type_and_reason():
    data = to_bytes(
        {"type": "atis-latch", "atis": ""},
        {"type": "progress", "data": {"type": "bash_progress"}},
        {"data": {"x": 1}, "type": "progress"},
        {"parentUuid": None, "type": "system", "subtype": "compact_boundary"},
        {"type": ["odd"]},
        {"no": "type"},
        {"type": "queue-operation", "operation": "sing"},
        {"type": "attachment", "attachment": {"type": "hook_success", "content": "injected"}},
        {"type": "attachment", "attachment": "odd"},
        user("…", isMeta=True),
        user("…", isSidechain=True),
        user("…", isCompactSummary=True),
        user("…", isVisibleInTranscriptOnly=True),
        user("<local-command-stdout>ok</local-command-stdout>"),
        user(None),
        {"type": "user"},
        assistant({"type": "thinking", "thinking": "…"}, "", {"type": "text", "text": 1}, 7),
        assistant({"type": "text", "text": "API Error"}, isApiErrorMessage=True),
        {
            "type": "assistant",
            "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "No"}]},
        },
    )
    entries, tally = read(data)
    assert entries == []
    assert tally.report(turns=0).skipped_types == {
        "(no type)": 2,
        "assistant: no text": 1,
        "assistant: synthetic": 2,
        "atis-latch": 1,
        "attachment": 1,
        "attachment: hook_success": 1,
        "progress": 2,
        "queue-operation": 1,
        "system": 1,
        "user: compact summary": 2,
        "user: meta": 1,
        "user: not a person's": 3,
        "user: sidechain": 1,
    }


def test_the_names_that_are_counted_are_bounded_in_number_and_length():
    _, tally = read(to_bytes(*({"type": f"{number:02}" + "x" * 1000} for number in range(100))))
    assert len(tally.skipped) == 65
    assert tally.skipped["(other types)"] == 36
    assert max(map(len, tally.skipped)) == 48


def test_a_repeated_uuid_counts_once():
    data = to_bytes(user("一", uuid="u1"), user("一", uuid="u1", gitBranch="other"), user("一"), user("一"))
    entries, tally = read(data)
    assert [entry.uuid for entry in entries] == ["u1", "", ""]
    assert tally.skipped == {"user: repeated": 1}


def test_fields_of_unexpected_types_count_as_absent():
    data = to_bytes(
        user("一", uuid=["x"], cwd={}, timestamp=[], origin=5, promptSource=[], toolUseResult="Error: no"),
        {"type": "user", "message": "本文だけ"},
        {"type": "assistant", "message": {"id": 7, "content": "文字列の回答"}},
        {"type": "assistant", "message": {"content": {"type": "text", "text": "単独のブロック"}}},
        assistant(
            {"type": "tool_use", "id": 1, "name": None, "input": None},
            {"type": "tool_use", "id": "t", "name": "X", "input": "text"},
        ),
    )
    assert [(entry.kind, entry.blocks, entry.uuid, entry.message_id) for entry in read(data)[0]] == [
        ("prompt", ("一",), "", ""),
        ("prompt", ("本文だけ",), "", ""),
        ("answer", ("文字列の回答",), "", ""),
        ("answer", ("単独のブロック",), "", ""),
        ("answer", (ToolCall("", "unknown", {}), ToolCall("t", "X", {"input": "text"})), "", ""),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, "b"], "a\n[Image]\nb"),
        ([{"type": "tool_reference", "tool_name": "TaskCreate"}], "TaskCreate"),
        ({"type": "text", "text": "alone"}, "alone"),
        (None, ""),
        (5, ""),
        ("\x1b[1mbold\x1b[0m \x1b]8;;x\x07link", "bold link"),
        ("<tool_use_error>File not found</tool_use_error>", "File not found"),
        ("out\n<system-reminder>be good</system-reminder>\n", "out"),
        ("a\n<kizami-memory>\nold\n</kizami-memory>\nb", "a\n\nb"),
        ("  indented\r\n  code\n", "  indented\n  code"),
    ],
)
def test_the_text_of_a_tool_result(content, expected):
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": True}
    (entry,), _ = read(to_bytes(user([block], toolUseResult={"stdout": "never this"})))
    assert (entry.kind, entry.blocks) == ("results", (ToolResult("t1", expected, is_error=True),))


def test_the_block_of_the_specifications_example_is_read_where_there_is_no_message():
    record = {"type": "user", "toolUseResult": {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}}
    (entry,), _ = read(to_bytes(record))
    assert entry.blocks == (ToolResult("t1", "ok", is_error=False),)


def test_a_record_with_results_and_a_persons_words_is_both():
    content = [
        {"type": "tool_result", "tool_use_id": "t", "content": "no"},
        {"type": "text", "text": "やめて"},
    ]
    entries, _ = read(to_bytes(user(content, uuid="u")))
    assert [(entry.kind, entry.uuid) for entry in entries] == [("results", "u"), ("prompt", "u")]


def test_a_prompt_without_words_shows_what_it_brought():
    data = to_bytes(
        user([{"type": "image"}, {"type": "document"}]),
        user([{"type": "text", "text": "これは?"}, {"type": "image"}]),
        user([{"type": "tool_result", "tool_use_id": "t", "content": ""}, {"type": "image"}]),
    )
    assert prompts(data) == ["[Image] [Document]", "これは?"]


@pytest.mark.parametrize(
    ("fields", "is_prompt"),
    [
        ({"origin": {"kind": "human"}}, True),
        ({"origin": "human"}, True),
        ({"origin": {"kind": "task-notification"}}, False),
        ({"origin": {"kind": "coordinator"}, "promptSource": "typed"}, False),
        ({"promptSource": "typed"}, True),
        ({"promptSource": "sdk"}, True),
        ({"promptSource": "system"}, False),
    ],
)
def test_what_a_record_says_of_its_writer_is_believed(fields, is_prompt):
    assert prompts(to_bytes(user("終わりました", **fields))) == (["終わりました"] if is_prompt else [])


def test_a_person_may_quote_a_marker_where_the_record_says_that_a_person_wrote_it():
    text = "<task-notification> って何?"
    assert prompts(to_bytes(user(text), user(text, origin={"kind": "human"}))) == [text]


@pytest.mark.parametrize(
    ("attachment", "fields", "expected"),
    [
        ({"prompt": "急いで", "commandMode": "prompt"}, {}, ["急いで"]),
        ({"prompt": [{"type": "text", "text": "急いで"}]}, {}, ["急いで"]),
        ({"prompt": [{"type": "image"}]}, {}, ["[Image]"]),
        ({"prompt": "急いで", "origin": {"kind": "human"}}, {"origin": {"kind": "coordinator"}}, ["急いで"]),
        ({"prompt": "done", "commandMode": "task-notification"}, {}, []),
        ({"prompt": [{"type": "image"}], "origin": {"kind": "task-notification"}}, {}, []),
        ({"prompt": "<task-notification>done</task-notification>"}, {}, []),
        ({"prompt": "急いで"}, {"isSidechain": True}, []),
    ],
)
def test_a_prompt_delivered_mid_turn_is_read_when_a_person_wrote_it(attachment, fields, expected):
    record = {"type": "attachment", "attachment": {"type": "queued_command", **attachment}, **fields}
    entries, _ = read(to_bytes(record))
    assert [entry.blocks[0] for entry in entries] == expected
    assert {entry.kind for entry in entries} <= {"queued_prompt"}


def test_queue_operations_carry_a_persons_text_only():
    def operation(name, content):
        return {"type": "queue-operation", "operation": name, "content": content}

    data = to_bytes(
        operation("enqueue", "急いで"),
        operation("enqueue", [{"type": "text", "text": "/init"}]),
        operation("enqueue", "<task-notification>…</task-notification>"),
        operation("dequeue", None),
        operation("remove", None),
        operation("popAll", "急いで"),
    )
    assert [(entry.kind, entry.blocks) for entry in read(data)[0]] == [
        ("enqueue", ("急いで",)),
        ("enqueue", ("",)),
        ("enqueue", ("",)),
        ("dequeue", ()),
        ("remove", ()),
        ("popAll", ("急いで",)),
    ]


def test_a_plan_is_told_from_the_prompt_that_carries_it_out():
    epilogue = "If you need specific details from before exiting plan mode (…), read …jsonl"
    plan = f"Implement the following plan:\n\n# JWT\n1. 署名\n\n\n{epilogue}"
    own = "Implement the following plan:\n- まず測る"
    data = to_bytes(
        user(plan, planContent="# JWT\n1. 署名\n"), user(plan), user(own), user("no plan", planContent="x")
    )
    assert [entry.blocks for entry in read(data)[0]] == [
        ("Implement the following plan:", "# JWT\n1. 署名"),
        ("Implement the following plan:", "# JWT\n1. 署名"),
        (own,),
        ("no plan",),
    ]


def test_the_models_text_loses_recalled_memories_only():
    text = "<system-reminder>は残す</system-reminder>\n<kizami-memory>古い話</kizami-memory>答え"
    (entry,), _ = read(to_bytes(assistant({"type": "text", "text": text})))
    assert entry.blocks == ("<system-reminder>は残す</system-reminder>\n答え",)
