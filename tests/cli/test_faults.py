"""What goes wrong around a command: one line that says what to do, and nothing is lost or left behind."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="closes and limits by a POSIX shell")

TURN = ("Which queue do we use for mails?", "PostgreSQL with SKIP LOCKED.")


def in_shell(home, script, *arguments, cwd=None):
    """Run Kizami by a line of shell, in which ``"$@"`` is its command."""
    return subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "kizami_cli", *arguments],
        capture_output=True,
        encoding="utf-8",
        env=home.env,
        cwd=cwd or home.project,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_an_empty_one(home, closed):
    home.save(TURN)
    before = home.database.read_bytes()
    for arguments in (["list"], ["search", "queue"], ["show", "1"], ["stats"]):
        done = in_shell(home, f'"$@" {closed}', *arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments
    assert in_shell(home, f'"$@" {closed}', "delete", "--chunk", "1").returncode == 1
    assert not home.error_log.exists()
    assert home.database.read_bytes() == before


def test_output_that_a_full_disk_does_not_take_is_an_error_in_one_line(home):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    home.save(TURN)
    done = in_shell(home, '"$@" > /dev/full', "list", "--json")
    reason = "No space left on device"
    assert done.returncode == 1
    assert done.stderr == f"Error: {reason}. Check the free space and the permissions.\n"


def test_where_the_current_directory_was_deleted_another_one_is_asked_for(home):
    home.save(TURN)
    gone = home.path / "gone"
    gone.mkdir()
    done = in_shell(home, 'rmdir ../gone; "$@"', "list", cwd=gone)
    said = "Error: The current directory does not exist any more. Change to another one.\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_bytes_that_are_no_text_are_refused_where_they_would_be_stored_or_looked_up(home):
    home.save(TURN)
    for arguments in (["show", "\udcff"], ["edit", "1", "--content", "queue\udcff"]):
        done = in_shell(home, '"$@"', *arguments)
        assert done.returncode == 1
        assert done.stderr.endswith("holds bytes that are not UTF-8. Give it in UTF-8.\n")
        assert done.stderr.count("\n") == 1
    assert not home.error_log.exists()


@pytest.mark.parametrize("command", [["list"], ["save", "x.jsonl"], ["setup"]])
def test_a_directory_in_place_of_the_database_is_named(home, command):
    home.database.mkdir(parents=True)
    done = in_shell(home, '"$@"', *command)
    assert done.returncode == 1
    assert f"{home.database}" in done.stderr
    assert "irectory" in done.stderr
    assert "database.path" in done.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may enter every directory")
def test_a_directory_that_cant_be_entered_does_not_count_as_an_empty_one(home):
    home.save(TURN)
    home.write_config(hooks={"recallLimit": 5})
    for folder, arguments, code in (
        (home.database.parent, ["list"], 1),
        (home.config.parent, ["config", "list"], 0),
    ):
        folder.chmod(0)
        try:
            done = in_shell(home, '"$@"', *arguments)
        finally:
            folder.chmod(0o700)
        assert (done.returncode, "Permission denied" in done.stderr) == (code, True)


def test_a_configuration_that_is_no_object_is_named_with_its_file(home):
    home.save(TURN)
    home.config.parent.mkdir(parents=True, exist_ok=True)
    home.config.write_text("[1]", encoding="utf-8")
    done = in_shell(home, '"$@"', "list")
    problem = "is not a JSON object; the defaults are used. Repair or delete the file."
    assert (done.returncode, done.stderr) == (0, f"Configuration: {home.config} {problem}\n")


def test_an_export_into_a_folder_that_is_not_there_says_so_and_leaves_nothing(home):
    home.save(TURN)
    output = home.path / "gone" / "memories.json"
    done = in_shell(home, '"$@"', "export", "--output", str(output))
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: {output} can't be written (No such file or directory). "
        "Check the folder, its permissions and its free space.\n"
    )


def test_a_file_without_one_line_that_can_be_read_is_no_transcript(home):
    notes = home.path / "notes.md"
    notes.write_text("# Notes\n\nnothing of Claude's\n", encoding="utf-8")
    done = in_shell(home, '"$@"', "save", str(notes))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {notes} is no transcript of Claude Code's")


def test_a_setting_that_cant_be_written_leaves_the_file_and_no_other_behind(home):
    home.write_config(hooks={"recallLimit": 3})
    before = home.config.read_bytes()
    done = in_shell(home, 'ulimit -f 0; "$@"', "config", "set", "hooks.recallLimit", "4")
    assert done.returncode == 1
    assert "it was left as it is. Free space or mend the permissions of its directory" in done.stderr
    assert [file.name for file in home.config.parent.iterdir()] == ["config.json"]
    assert home.config.read_bytes() == before


@pytest.mark.parametrize("words", ["", "   "])
def test_nothing_is_no_word_to_search_for(home, words):
    done = in_shell(home, '"$@"', "search", words)
    assert done.returncode == 2
    assert "Missing argument 'QUERY': words to look for" in done.stderr
