"""Claude Code as the journeys see it."""

import json
import os
import site
import subprocess
import sys

import pytest


@pytest.fixture
def claude(tmp_path):
    """Stand in for Claude Code: a home with a project, and hooks run as processes."""
    home, project = tmp_path / "home", tmp_path / "home" / "shop"
    project.mkdir(parents=True)
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "CLAUDE", "KIZAMI_"))
    }
    env |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONUSERBASE": site.getuserbase()}
    env["KIZAMI_LANG"] = "en"

    def run(*arguments, fields=None):
        data = (
            b""
            if fields is None
            else json.dumps({"cwd": str(project), **fields}, ensure_ascii=False).encode()
        )
        done = subprocess.run(
            [sys.executable, "-m", "kizami_cli", *arguments],
            input=data, env=env, cwd=project, capture_output=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode("utf-8")

    run.project, run.env = project, env
    return run
