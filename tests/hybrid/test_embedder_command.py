"""`kizami embedder`: what a person sees and does."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import small_models
from kizami_hybrid.commands.embedder import command
from kizami_hybrid.errors import ModelMissingError
from kizami_hybrid.resident import control


@pytest.fixture
def run(home, monkeypatch):
    """Run the command in the home; return what it printed."""
    path = Path(home.env["HOME"], "config.json")
    section = {"model": home.settings.model, "dimensions": small_models.SIZE}
    path.write_text(json.dumps({"database": {"path": home.database}, "embedding": section}), encoding="utf-8")
    monkeypatch.setattr(os, "environ", dict(home.env))

    class Invocation:
        config_path = str(path)

    def invoke(*arguments):
        result = CliRunner().invoke(command, arguments, obj=Invocation(), catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return invoke


def test_life_of_the_process(home, run):
    assert json.loads(run("status", "--json")) == {
        "state": "stopped",
        "remedy": "The next prompt starts it in hybrid mode; so does: kizami embedder start",
    }
    assert run("start").startswith("state     running\nmodel     owner/ruri-v3-small, 16 dimensions, files ")
    pid = control.ask_status(home.endpoint)["pid"]
    assert f"process   {pid}, Kizami" in run("start")
    found = json.loads(run("status", "--json"))
    assert (found["state"], found["pid"], found["waiting"]) == ("running", pid, {home.database: 0})
    assert f"waiting   0 chunks of {home.database}" in run("status")
    assert run("stop") == "The embedding process has ended.\n"
    assert run("stop") == "No embedding process was running.\n"


def test_failure_of_the_process_is_shown_with_its_remedy(home, run):
    Path(home.settings.model_dir, "tokenizer.json").write_text("{}", encoding="utf-8")
    assert home.spawn().wait() == 1
    lines = run("status").splitlines()
    assert lines[0] == "state     failed"
    assert lines[1].endswith("is not what was installed. Install the model again: kizami setup --hybrid")


def test_process_that_is_stuck_is_shown_as_such(home, run, monkeypatch):
    import signal

    pid = home.start()["pid"]
    monkeypatch.setattr(control, "_ANSWER_SECONDS", 0.0)
    os.kill(pid, signal.SIGSTOP)
    assert json.loads(run("status", "--json"))["state"] == "unresponsive"
    os.kill(pid, signal.SIGCONT)


def test_without_a_model_the_remedy_is_told(home, run):
    Path(home.settings.model_dir, "kizami-manifest.json").unlink()
    with pytest.raises(ModelMissingError, match=r"Run: kizami setup --hybrid$"):
        run("status")
