import pytest

from kizami_core.privacy import redact_turn
from kizami_core.records import ToolCall, Turn
from kizami_core.transcript.outcomes import (
    MAX_COMMAND_CHARS,
    MAX_ERROR_CHARS,
    MAX_ERROR_LINES,
    Outcome,
    command_outcomes,
    error_excerpt,
)


def run(command, output="", *, is_error=False, name="Bash", **arguments):
    return ToolCall("id", name, {"command": command, **arguments}, output, is_error)


def outcomes(*parts):
    return command_outcomes(redact_turn(Turn("u", "", "prompt", parts, "/x", 0, 1)))


def failed(command, error="boom error", *, is_resolved=False, has_succeeded=False):
    return Outcome(command, error, is_resolved, has_succeeded)


def succeeded(command):
    return Outcome(command, None, is_resolved=False, has_succeeded=True)


FAILURE = run("make", "Exit code 2\nboom error", is_error=True)


def test_a_failure_and_a_later_success_of_the_same_command_are_a_resolution():
    assert outcomes(FAILURE, "I see.", run("ls", "a"), run("make", "ok")) == (
        failed("make", is_resolved=True, has_succeeded=True),
        succeeded("ls"),
    )


def test_a_success_before_the_failure_resolves_nothing():
    assert outcomes(run("make", "ok"), FAILURE) == (failed("make", has_succeeded=True),)


@pytest.mark.parametrize("other", ["make ", " make", "make -k", "MAKE", "make\n"])
def test_another_command_resolves_nothing(other):
    assert outcomes(FAILURE, run(other, "ok")) == (failed("make"), succeeded(other))


def test_the_first_of_several_errors_is_kept():
    again = run("make", "Exit code 1\nother error", is_error=True)
    assert outcomes(FAILURE, again, run("make")) == (failed("make", is_resolved=True, has_succeeded=True),)


def test_an_exit_code_in_the_output_tells_where_the_client_does_not():
    assert outcomes(run("a", "Exit code 1\nan error"), run("b", "Exit code 0\nfine")) == (
        failed("a", "an error"),
        succeeded("b"),
    )
    assert outcomes(run("c", "Exit code 1 is what I expect")) == (succeeded("c"),)


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("id", "Bash", {"command": "make"}),  # no result was seen
        run("make", "The user doesn't want to proceed with this tool use.", is_error=True),
        run("make", "[Request interrupted by user for tool use]", is_error=True),
        run("make", "Permission to use Bash with command make has been denied.", is_error=True),
        run("make", "Cancelled: parallel tool call ls errored", is_error=True),
        run("make", "cd to '/etc' was blocked. For security, …", is_error=True),
        run("make", "Command running in background with ID: b1"),
        run("make", "started", run_in_background=True),
    ],
)
def test_a_call_without_a_known_end_counts_neither_as_failure_nor_as_success(call):
    assert outcomes(call) == ()
    assert outcomes(FAILURE, call) == (failed("make"),)


def test_other_tools_and_calls_without_a_command_are_ignored():
    assert outcomes(run("x", name="Read"), ToolCall("id", "Bash", {}, "ok"), run("  "), "text") == ()
    assert outcomes(run("dir", name="PowerShell")) == (succeeded("dir"),)


def test_a_command_that_held_a_secret_is_not_compared():
    secret = "mysql --password=hunter2secret -e 'select 1'"
    assert outcomes(run(secret, "Exit code 1\nError 1045", is_error=True), run(secret)) == ()
    assert outcomes(run("echo <private>x</private>")) == ()


def test_a_very_long_command_is_not_compared():
    assert outcomes(run("x" * MAX_COMMAND_CHARS), run("y" * (MAX_COMMAND_CHARS + 1))) == (
        succeeded("x" * MAX_COMMAND_CHARS),
    )


def test_the_error_is_redacted():
    output = "Exit code 1\nError: refused, password=hunter2secret"
    assert outcomes(run("make", output, is_error=True)) == (
        failed("make", "Error: refused, password=[redacted]"),
    )


@pytest.mark.parametrize(
    ("output", "excerpt"),
    [
        (
            "Exit code 1\n> build\n> tsc\n\nsrc/a.ts(2,9): error TS2322: No.\n\nDone in 2 s",
            "src/a.ts(2,9): error TS2322: No.",
        ),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'\n",
            "KeyError: 'x'",
        ),
        ("collected 3 items\nテストに失敗しました\n3 秒", "テストに失敗しました"),
        ("│  × Unexpected any.  │\n  12 │ catch (error) {", "× Unexpected any."),
        ("10 %\r50 %\rerror: broken pipe", "error: broken pipe"),
        ("error: a\nerror: a\nerror: b", "error: a\nerror: b"),
        # Nothing looks like an error: the last lines.
        ("one\ntwo", "one\ntwo"),
        ("Exit code 137\n", "Exit code 137"),
        ("Exit code 137", "Exit code 137"),
        ("", "(no output)"),
    ],
)
def test_the_excerpt_is_what_looks_like_the_error(output, excerpt):
    assert error_excerpt(output) == excerpt


def test_the_excerpt_is_bounded_and_keeps_the_last_lines():
    assert error_excerpt("\n".join(f"error {n}" for n in range(99))) == "\n".join(
        f"error {n}" for n in range(99 - MAX_ERROR_LINES, 99)
    )
    long = error_excerpt("\n".join(f"error {n} {'x' * 5000}" for n in range(99)))
    assert MAX_ERROR_CHARS // 2 < len(long) <= MAX_ERROR_CHARS
    assert long.startswith("error 95 xxx")
    assert "error 98 xxx" in long
