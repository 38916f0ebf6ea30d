"""`kizami setup --hybrid`: the model, the mode, the vectors; and nothing at all where it can't be done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import small_models
from memories import MemoryBook

SECTION = {"dimensions": small_models.SIZE}


class Machine:
    """A home without Kizami, and a directory with the files of a model."""

    def __init__(self, folder):
        self.path = folder / "home"
        self.path.mkdir()
        leading_out = ("XDG_", "CLAUDE", "KIZAMI_", "HF_", "LANG", "LC_", "COLUMNS")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(leading_out)}
        self.env |= {"HOME": str(self.path), "USERPROFILE": str(self.path)}
        self.model_dir = str(small_models.write_model(folder / "repository"))
        self.config = self.path / ".config" / "kizami" / "config.json"
        self.database = self.path / ".local" / "share" / "kizami" / "memory.db"

    def setup(self, *arguments, **env):
        return subprocess.run(
            [sys.executable, "-m", "kizami_cli", "setup", *arguments],
            env=self.env | env,
            capture_output=True,
            check=False,
            timeout=120,
        )

    def write_config(self, text):
        self.config.parent.mkdir(parents=True)
        self.config.write_text(text, encoding="utf-8")

    def files(self):
        return {
            str(path.relative_to(self.path)): path.read_bytes()
            for path in self.path.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_setup_installs_the_model_chooses_the_mode_and_makes_the_vectors(machine):
    text = json.dumps({"embedding": SECTION, "hooks": {"recallLimit": 2}})
    machine.write_config(text)
    book = MemoryBook(machine.database)
    book.add("監査ログの保存先は？", "S3 です。")
    book.connection.close()
    done = machine.setup("--hybrid", "--model-dir", machine.model_dir, "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert b"Embedded 1 chunk" in done.stdout
    assert b"Embedding model: 100 %" in done.stderr
    # Everything that was in the file is there as it was, and the file itself beside it.
    assert machine.config.read_text(encoding="utf-8") == text[:-1] + ', "search": {"mode": "hybrid"}}'
    (backup,) = (path for path in machine.config.parent.iterdir() if path != machine.config)
    assert backup.read_text(encoding="utf-8") == text
    assert (machine.path / ".claude" / "settings.json").exists()
    before = machine.config.read_bytes(), len(list(machine.config.parent.iterdir()))
    done = machine.setup("--hybrid", "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert (machine.config.read_bytes(), len(list(machine.config.parent.iterdir()))) == before
    assert b"Embedded" not in done.stdout


def test_on_a_machine_without_configuration_the_recommended_one_says_hybrid(machine):
    size = 256
    model_dir = str(small_models.write_model(machine.path.parent / "large", size=size))
    done = machine.setup("--hybrid", "--model-dir", model_dir, "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(machine.config.read_text(encoding="utf-8"))["search"]["mode"] == "hybrid"
    assert len(list(machine.config.parent.iterdir())) == 1


def test_without_a_network_setup_names_the_way_without_one_and_changes_nothing(machine):
    # Nothing listens on the discard port.
    done = machine.setup("--hybrid", "--yes", HF_ENDPOINT="http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (1, b"")
    assert "kizami setup --hybrid --model-dir DIR" in done.stderr.decode()
    assert not (machine.path / ".claude").exists()
    assert not machine.config.exists()
    assert not machine.database.exists()


@pytest.mark.parametrize("text", ['{"search": {', '{"search": []}', "[]", '{"search": {"mode": "core",}}'])
def test_a_configuration_that_cant_be_edited_stops_everything(machine, text):
    machine.write_config(text)
    before = machine.files()
    done = machine.setup("--hybrid", "--model-dir", machine.model_dir, "--yes")
    assert (done.returncode, machine.files()) == (1, before)
    assert str(machine.config) in done.stderr.decode()


def test_files_that_are_no_model_stop_everything(machine):
    empty = machine.path.parent / "empty"
    empty.mkdir()
    done = machine.setup("--hybrid", "--model-dir", str(empty), "--yes")
    assert done.returncode == 1
    assert "holds no quantized model" in done.stderr.decode()
    assert not machine.config.exists()


def test_options_that_make_no_sense_together_are_refused(machine):
    for arguments, message in (
        (["--model-dir", machine.model_dir], "--model-dir goes with --hybrid"),
        (["--hybrid", "--status"], "--hybrid goes with neither"),
    ):
        done = machine.setup(*arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert message in done.stderr.decode()


def test_vectors_of_a_home_that_is_not_asked_are_left_to_the_background(machine):
    machine.write_config(json.dumps({"embedding": SECTION}))
    book = MemoryBook(machine.database)
    book.add("監査ログの保存先は？", "S3 です。")
    book.connection.close()
    done = machine.setup("--hybrid", "--model-dir", machine.model_dir)
    assert done.returncode == 0, done.stderr.decode()
    assert "No vector yet: 1 chunk." in done.stdout.decode()
    assert Path(machine.config).exists()
