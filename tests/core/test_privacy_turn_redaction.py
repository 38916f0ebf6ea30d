import subprocess
import sys

import pytest

from kizami_core.privacy import redact, redact_for_display, redact_turn
from kizami_core.privacy.private_tags import PRIVATE_MARKER as P
from kizami_core.privacy.secret_names import is_secret_name
from kizami_core.privacy.secrets import SECRET_MARKER as M
from kizami_core.records import ToolCall, Turn

TOKEN = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"


def a_turn(prompt="", *parts):
    return Turn("u1", "2026-01-02 03:04:05", prompt, parts, "/home/dev/x", 0, 100)


def test_redact_removes_private_regions_and_secrets():
    assert redact(f"a <private>b</private> {TOKEN}") == f"a {P} {M}"


def test_every_text_of_a_turn_is_redacted():
    turn = a_turn(
        f"use {TOKEN}",
        "my password is hunter2",
        ToolCall(
            "t1",
            "Bash",
            {"command": f"deploy --key {TOKEN}", "timeout": 5, "run_in_background": True},
            "token: abc123d",
        ),
        ToolCall("t2", "Bash", {"command": "ls"}),
    )
    assert redact_turn(turn) == a_turn(
        f"use {M}",
        f"my password is {M}",
        ToolCall(
            "t1",
            "Bash",
            {"command": f"deploy --key {M}", "timeout": 5, "run_in_background": True},
            f"token: {M}",
        ),
        ToolCall("t2", "Bash", {"command": "ls"}),
    )


def test_unclosed_private_tag_hides_the_rest_of_its_own_message_only():
    turn = a_turn(
        "a <private>b",
        "c",
        ToolCall("t", "Bash", {"command": "x <private>", "note": "d"}, "e <private>f"),
        "g",
    )
    assert redact_turn(turn) == a_turn(
        f"a {P}", "c", ToolCall("t", "Bash", {"command": f"x {P}", "note": "d"}, f"e {P}"), "g"
    )


def test_values_under_secret_keys_are_masked_whole_at_any_depth():
    call = ToolCall(
        "t",
        "mcp__db__connect",
        {
            "password": "x",
            "host": "db",
            "options": {
                "api_key": "plain words",
                "token": 1234,
                "pin_secret": 1234,
                "ssl": True,
                "auth_token": None,
            },
            "users": [{"name": "bob", "db_pass": "string"}, ["ok", TOKEN]],
            "secret": ["a", "b", ""],
            "max_tokens": 5,
        },
    )
    redacted = redact_turn(a_turn("", call)).parts[0]
    assert redacted.input == {
        "password": M,
        "host": "db",
        "options": {"api_key": M, "token": 1234, "pin_secret": M, "ssl": True, "auth_token": None},
        "users": [{"name": "bob", "db_pass": M}, ["ok", M]],
        "secret": [M, M, ""],
        "max_tokens": 5,
    }


def test_input_nested_deeper_than_any_real_one_is_masked_as_a_whole():
    nested = "x"
    for _ in range(5000):
        nested = [nested]
    redacted = redact_turn(a_turn("", ToolCall("t", "T", {"a": nested}))).parts[0].input["a"]
    for _ in range(101):
        redacted = redacted[0]
    assert redacted == M


def test_output_of_reading_an_environment_file_keeps_only_its_names():
    call = ToolCall(
        "t", "Read", {"file_path": "/app/.env"}, "     1→PORT=3000\n     2→# c\n     3→NAME=plain"
    )
    assert redact_turn(a_turn("", call)).parts == (
        call.replace(output=f"     1→PORT={M}\n     2→# c\n     3→NAME={M}"),
    )


def test_output_of_reading_another_file_keeps_its_values():
    call = ToolCall("t", "Read", {"file_path": "/app/.env.example"}, "PORT=3000")
    assert redact_turn(a_turn("", call)).parts == (call,)


def test_what_is_written_into_an_environment_file_is_masked():
    edit = ToolCall(
        "t", "Edit", {"file_path": "/a/.env", "old_string": "A=1", "new_string": "A=2", "replace_all": False}
    )
    edits = ToolCall(
        "t", "MultiEdit", {"file_path": "/a/.env", "edits": [{"old_string": "A=1", "new_string": "A=2"}]}
    )
    bash = ToolCall("t", "Bash", {"command": "cat > .env <<EOF\nPORT=3000\nEOF", "description": "PORT=3000"})
    assert redact_turn(a_turn("", edit, edits, bash)).parts == (
        edit.replace(
            input={
                "file_path": "/a/.env",
                "old_string": f"A={M}",
                "new_string": f"A={M}",
                "replace_all": False,
            }
        ),
        edits.replace(
            input={"file_path": "/a/.env", "edits": [{"old_string": f"A={M}", "new_string": f"A={M}"}]}
        ),
        bash.replace(input={"command": f"cat > .env <<EOF\nPORT={M}\nEOF", "description": "PORT=3000"}),
    )


def test_command_that_only_uses_an_environment_file_stays_readable():
    call = ToolCall("t", "Bash", {"command": "NODE_ENV=test node --env-file .env app.js"}, "ok")
    assert redact_turn(a_turn("", call)).parts == (call,)


def test_output_that_is_one_secret_variable_is_masked_whole():
    call = ToolCall("t", "Bash", {"command": "printenv API_KEY"}, "plain\n")
    empty = call.replace(output="\n")
    assert redact_turn(a_turn("", call, empty)).parts == (call.replace(output=M), empty)


def test_long_private_key_is_masked_before_its_output_is_cut():
    lines = "\n".join(["MIIEpAIBAAKCAQEA0a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t0u1v2w3x"] * 60)
    begin, end = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    call = ToolCall("t", "Bash", {"command": "cat key"}, f"{begin}\n{lines}\n{end}\n")
    assert redact_turn(a_turn("", call)).parts == (call.replace(output=f"{begin}\n{M}\n{end}\n"),)


def test_redacting_a_turn_twice_is_redacting_it_once():
    call = ToolCall("t", "Bash", {"command": "cat .env", "password": "x"}, "A=b\nC='d'")
    once = redact_turn(a_turn(f"x <private>y</private> {TOKEN}", call))
    assert redact_turn(once) == once


@pytest.mark.parametrize(
    "name", ["password", "DB_PASS", "apiKey", "AWS_SECRET_ACCESS_KEY", "x-auth-token", "pwd", "api key"]
)
def test_secret_names_are_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "token_count",
        "PWD",
        "bypass",
        "compass",
        "key",
        "primary_key",
        "passwordless",
        "secrets",
        "",
    ],
)
def test_other_names_are_not_secret(name):
    assert not is_secret_name(name)


def test_rows_are_redacted_when_shown():
    assert redact_for_display(f"old row <private>x</private> with {TOKEN}") == f"old row {P} with {M}"
    assert redact_for_display("plain row") == "plain row"


def imported_by(code):
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    return set(done.stdout.split())


def test_showing_a_row_without_secrets_imports_no_regular_expressions():
    imported = imported_by(
        "from kizami_core.privacy import redact_for_display\nredact_for_display('a plain row')"
    )
    assert (
        imported
        == {"__future__", "kizami_core", "kizami_core.privacy", "kizami_core.privacy.triggers"} & imported
    )
    assert "kizami_core.privacy.triggers" in imported


def test_saving_imports_nothing_slow_but_regular_expressions():
    imported = imported_by("import re\nbefore |= set(sys.modules)\nimport kizami_core.privacy.turn_redaction")
    slow = {"json", "typing", "dataclasses", "pathlib", "logging", "inspect", "argparse", "asyncio", "base64"}
    assert imported & slow == set()


@pytest.mark.parametrize("tool", ["Bash", "PowerShell"])
def test_what_kizami_itself_is_asked_and_prints_is_not_stored_again(tool):
    line = "kizami forget --yes --matching='ACME deal'"
    asked = ToolCall("t1", tool, {"command": line}, "#42 the ACME deal")
    assert redact_turn(a_turn("go on", asked)).parts == (
        ToolCall("t1", tool, {"command": "kizami forget"}, ""),
    )
    running = ToolCall("t2", tool, {"command": "kizami search 'ACME'"})
    assert redact_turn(a_turn("", running)).parts == (ToolCall("t2", tool, {"command": "kizami search"}),)


@pytest.mark.parametrize(
    "command", ["kizami", "kizami doctor --json", "kizami-import x", "./kizami show 1", ""]
)
def test_other_commands_are_stored(command):
    call = ToolCall("t1", "Bash", {"command": command}, "printed")
    assert redact_turn(a_turn("", call)).parts == (call,)
