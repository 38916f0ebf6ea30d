"""A person's first days with Kizami, through the hooks alone."""

import json


def record(project, session, number, role, content):
    message = {"role": role, "content": content}
    if role == "assistant":
        message = {"id": f"msg_{number}", "role": role, "content": [{"type": "text", "text": content}]}
    return {
        "type": role,
        "uuid": f"{session}-{number}-{role}",
        "timestamp": f"2099-01-01T09:{number:02}:00.000Z",
        "sessionId": session,
        "cwd": str(project),
        "message": message,
    }


def write(path, project, session, turns):
    lines = [
        json.dumps(record(project, session, number, role, content), ensure_ascii=False)
        for number, turn in enumerate(turns)
        for role, content in zip(("user", "assistant"), turn, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_decision_of_the_first_session_comes_back_in_the_second_and_resuming_loses_nothing(
    claude, tmp_path
):
    claude("setup")
    transcript = tmp_path / "3f2a91bc-0000-4000-8000-000000000001.jsonl"
    first = {"session_id": transcript.stem, "transcript_path": str(transcript)}
    turns = [
        (
            "会員登録フォームの入力チェック、何で書くのがいい？",
            "入力チェックは zod のスキーマに集約し、src/schemas/member.ts に置きます。サーバー側も同じです。",
        ),
        (
            "Where do we keep the feature flags?",
            "In the table feature_flags, cached for 60 seconds; no LaunchDarkly.",
        ),
    ]
    question = {
        "session_id": "second",
        "prompt": "登録画面の入力チェックを直したい。スキーマはどこにあった？",
    }

    # While the first session runs, nothing is known yet.
    assert claude("inject", "--stdin", fields={"session_id": transcript.stem, "source": "startup"}) == ""
    assert claude("recall", "--stdin", fields={**question, "session_id": transcript.stem}) == ""
    write(transcript, claude.project, transcript.stem, turns)
    assert claude("save", "--stdin", fields=first) == ""

    # The second one is told about it, and asks in other words.
    assert "会員登録フォーム" in claude(
        "inject", "--stdin", fields={"session_id": "second", "source": "startup"}
    )
    block = claude("recall", "--stdin", fields=question)
    assert "src/schemas/member.ts" in block
    assert "LaunchDarkly" not in block
    assert claude("recall", "--stdin", fields={**question, "prompt": "はい"}) == ""
    assert claude("recall", "--stdin", fields={**question, "prompt": "週末の東京の天気を教えて"}) == ""

    # The first one is resumed, grows and ends again: each turn is there once.
    turns.append(("フラグの名前の付け方は？", "名前は領域.機能 の形 (checkout.apple_pay) に統一します。"))
    write(transcript, claude.project, transcript.stem, turns)
    assert claude("save", "--stdin", fields=first) == ""
    assert claude("save", "--stdin", fields=first) == ""
    (session,) = json.loads(claude("list", "--json"))
    assert (session["chunk_count"], session["last_message"]) == (3, "フラグの名前の付け方は？")
    assert "checkout.apple_pay" in claude(
        "recall",
        "--stdin",
        fields={**question, "prompt": "フィーチャーフラグの名前の付け方、checkout はどうした？"},
    )
    # Its own turns are never put before its own prompts.
    assert claude("recall", "--stdin", fields={**question, "session_id": transcript.stem}) == ""
