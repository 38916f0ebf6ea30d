"""An error is fixed in one session. When it comes up again, what fixed it is there first."""

import json

SESSION = "3f2a91bc-0000-4000-8000-000000000002"
ERROR = "ImportError: cannot import name 'url_quote' from 'werkzeug.urls'"


class _Session:
    """The transcript of a session, growing record by record."""

    def __init__(self, path, project):
        self._path = path
        self._project = project
        self._count = 0

    def add(self, role, content):
        self._count += 1
        record = {
            "type": role,
            "uuid": f"{SESSION}-{self._count}",
            "timestamp": f"2099-01-01T09:{self._count:02}:00.000Z",
            "sessionId": SESSION,
            "cwd": str(self._project),
            "message": {"role": role, "content": content},
        }
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def run_tests(self, name, output, *, is_error):
        use = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "pytest -q"}}
        self.add("assistant", [use])
        result = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": is_error}
        self.add("user", [result])

    def say(self, text):
        self.add("assistant", [{"type": "text", "text": text}])


def test_what_fixed_an_error_comes_first_when_a_later_prompt_quotes_it(claude, tmp_path):
    claude("setup")
    path = tmp_path / f"{SESSION}.jsonl"
    session = _Session(path, claude.project)
    save = {"session_id": SESSION, "transcript_path": str(path)}

    # The tests fail; the turn ends and is saved. Nothing has been fixed yet.
    session.add("user", "テストを流して")
    session.run_tests("t1", f"Exit code 2\nTraceback (most recent call last):\n{ERROR}", is_error=True)
    session.say("テストが落ちました。")
    claude("save", "--stdin", fields={**save, "hook_event_name": "Stop"})
    assert json.loads(claude("resolutions", "--json")) == []

    # Something else, then the fix in a turn that does not repeat the error.
    session.add("user", "ところで README の誤字も直して")
    session.say("README の誤字を直しました。" * 3)
    session.add("user", "さっきの件、お願い")
    session.say("requirements.txt で Werkzeug を 2.3.8 に固定します。Flask 2.2 は 3.0 と合いません。")
    edit = {"file_path": "requirements.txt", "old_string": "a", "new_string": "Werkzeug==2.3.8"}
    session.add("assistant", [{"type": "tool_use", "id": "e1", "name": "Edit", "input": edit}])
    session.add("user", [{"type": "tool_result", "tool_use_id": "e1", "content": "ok", "is_error": False}])
    session.run_tests("t2", "41 passed", is_error=False)
    session.say("全部通りました。")
    claude("save", "--stdin", fields={**save, "hook_event_name": "SessionEnd"})

    # Weeks later, in another session, the same error.
    prompt = {"session_id": "another", "prompt": f"また {ERROR} が出た。前はどうやって直した？"}
    block = claude("recall", "--stdin", fields=prompt)
    assert "Werkzeug==2.3.8" in block
    assert block.index("requirements.txt") < block.index("url_quote")
    assert claude("recall", "--stdin", fields={**prompt, "prompt": "週末の東京の天気を教えて"}) == ""

    (found,) = json.loads(claude("resolutions", "url_quote werkzeug", "--json"))
    assert (found["command"], found["error"], found["files"]) == ("pytest -q", ERROR, ["requirements.txt"])
    assert "Werkzeug==2.3.8" in claude("show", str(found["resolved_chunk"]))

    # What is deleted is not known any more, and does not come back.
    claude("delete", "--chunk", str(found["resolved_chunk"]), "--yes")
    claude("save", "--stdin", fields={**save, "hook_event_name": "SessionEnd"})
    assert json.loads(claude("resolutions", "--json")) == []
