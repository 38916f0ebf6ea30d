"""`kizami embed`, and what `kizami doctor` tells of the vectors, in processes of their own."""

import json
import os
import shutil
import signal
import site
import subprocess
import sys

import pytest

import small_models
from kizami_core.config import parse_config
from kizami_core.locks import ProcessLock
from kizami_hybrid import driver, vector_diagnosis
from kizami_hybrid.model_files import install_model
from kizami_hybrid.settings import load_settings
from kizami_hybrid.vector_schema import state
from vector_databases import HOME, WORK, VectorDatabase

TEXTS = ("認証トークンの更新", "在庫の引き当て", "payment retries", "検索画面の余白")
NOTHING = "Nothing to do: every chunk has a vector.\n"


class Machine:
    """A home with a model and a database of four chunks."""

    def __init__(self, folder):
        self.folder = folder / "home"
        leading_out = ("XDG_", "CLAUDE", "KIZAMI_", "LC_", "LANG", "NO_COLOR", "COLUMNS")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(leading_out)}
        self.env |= {"HOME": str(self.folder), "USERPROFILE": str(self.folder), "TZ": "UTC"}
        self.env.setdefault("PYTHONUSERBASE", site.getuserbase())
        self.config = self.folder / ".config" / "kizami" / "config.json"
        self.config.parent.mkdir(parents=True)
        self.configure()
        database = self.folder / ".local" / "share" / "kizami" / "memory.db"
        database.parent.mkdir(parents=True)
        self.book = VectorDatabase(database, driver.choose())
        self.source = small_models.write_model(folder / "repository")
        self.install()

    def configure(self, mode="core", **section):
        section = {"model": "owner/ruri-v3-small", "dimensions": small_models.SIZE, **section}
        self.config.write_text(json.dumps({"search": {"mode": mode}, "embedding": section}), encoding="utf-8")

    @property
    def settings(self):
        return load_settings(str(self.config), self.env)[0]

    def install(self):
        install_model(self.settings, self.env, model_dir=str(self.source))

    def start(self, *arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "kizami_cli", *arguments],
            env=self.env, cwd=self.folder, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            # A shell that runs the tests in the background has them ignore Ctrl-C, and children with them.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )  # fmt: skip

    def run(self, *arguments, code=0):
        """Run a command; return what it wrote to stdout, or to stderr where it is to fail."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == code, (out, err)
        return err if code else out

    def state(self):
        with self.book.core() as connection:
            found = state(connection)
        return found.vectors, found.pending, found.unindexed

    def diagnose(self, mode="hybrid"):
        config = parse_config({}, self.env)[0].replace(search_mode=mode)
        return vector_diagnosis.check(str(self.config), config, self.env)


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.book.add(*TEXTS[:3], project=HOME)
    made.book.add(TEXTS[3], project=WORK)
    return made


def test_a_dry_run_counts_and_changes_nothing(machine):
    assert machine.run("embed", "--backfill", "--dry-run") == "Would embed 4 chunks.\n"
    assert machine.run("embed", "--dry-run", "--limit", "1") == "Would embed 1 chunk.\n"
    assert json.loads(machine.run("embed", "--dry-run", "--project", WORK, "--json")) == {"chunks": 1}
    with machine.book.core() as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "chunks_vec_map" not in names


def test_a_backfill_embeds_every_chunk_once(machine):
    told = machine.run("embed", "--backfill")
    assert told.startswith("Embedded 4 chunks (")
    assert told.endswith("; 0 left.\n")
    assert machine.state() == (4, 0, 0)
    assert machine.run("embed", "--backfill") == NOTHING
    assert machine.run("embed") == NOTHING


def test_counts_are_told_as_json_and_progress_on_stderr(machine):
    with machine.start("embed", "--limit", "2", "--json") as process:
        out, err = process.communicate(timeout=60)
    counts = json.loads(out)
    counts.pop("seconds")
    assert counts == {"chunks": 2, "pending": 2}
    assert err.splitlines()[-1] == "Embedding: 100 % (2 of 2)"


def test_one_project_is_embedded_alone(machine):
    assert "Embedded 1 chunk (" in machine.run("embed", "--project", WORK)
    assert machine.state() == (1, 3, 0)


def test_without_a_model_the_remedy_is_told(machine):
    shutil.rmtree(machine.settings.model_dir)
    assert machine.run("embed", "--backfill", "--dry-run") == "Would embed 4 chunks.\n"
    assert machine.run("embed", "--backfill", code=1).rstrip().endswith("kizami setup --hybrid")


def test_without_a_database_the_remedy_is_told(machine):
    shutil.rmtree(machine.folder / ".local")
    assert "Run `kizami setup`" in machine.run("embed", code=1)
    assert not (machine.folder / ".local").exists()


def test_another_model_is_taken_only_by_a_backfill(machine):
    machine.run("embed")
    machine.configure(dimensions=8)
    machine.install()
    for arguments in (("embed",), ("embed", "--dry-run")):
        assert machine.run(*arguments, code=1).rstrip().endswith("Run: kizami embed --backfill")
    assert machine.run("embed", "--backfill", "--dry-run") == "Would embed 4 chunks.\n"
    assert machine.run("embed", "--backfill").startswith("Embedded 4 chunks (")
    assert machine.state() == (4, 0, 0)


def test_damaged_vectors_are_made_anew(machine):
    machine.run("embed")
    with machine.book.core() as connection:
        connection.execute("UPDATE chunks_vec_map SET embedding = x'00' WHERE chunk_id = 2")
    assert machine.run("embed").startswith("Embedded 1 chunk (")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C reaches a process of its own otherwise there")
def test_ctrl_c_keeps_what_was_done_and_the_next_run_goes_on(machine):
    machine.book.add(*(f"{TEXTS[number % 4]} {number}" for number in range(6_000)))
    with machine.start("embed", "--backfill") as process:
        assert process.stderr.readline() == "Embedding: 10 % (608 of 6,004)\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.rstrip().endswith("chunks embedded. Run it again to go on.")
    done, left, unindexed = machine.state()
    assert 608 <= done < 6_004
    assert (done + left, unindexed) == (6_004, 0)
    assert machine.run("embed", "--backfill").startswith(f"Embedded {left:,} chunk")
    assert machine.state() == (6_004, 0, 0)


def _told(findings):
    return [(finding.check, finding.state, finding.remedy) for finding in findings]


ALL_WELL = [
    ("vector driver", "ok", ""),
    ("embedding model", "ok", ""),
    ("embedding process", "ok", ""),
    ("vectors", "ok", ""),
]
BACKFILL = "Run: kizami embed --backfill"


def test_doctor_is_silent_where_hybrid_is_not_in_use(machine):
    assert machine.diagnose(mode="core") == []


def test_doctor_finds_all_well_after_a_backfill(machine):
    machine.run("embed")
    findings = machine.diagnose()
    assert _told(findings) == ALL_WELL
    assert "loads sqlite-vec v" in findings[0].found
    assert findings[3].found == "4 vectors, one for each chunk"


def test_doctor_tells_of_chunks_without_vectors(machine):
    assert _told(machine.diagnose()) == [*ALL_WELL[:3], ("vectors", "warning", BACKFILL)]
    machine.run("embed", "--limit", "3")
    (*_, finding) = machine.diagnose()
    assert (finding.state, finding.found) == ("warning", "3 vectors; 1 chunk without one")
    assert finding.figures == {"vectors": 3, "pending": 1, "stale": 0, "unindexed": 0, "broken": 0}


def test_doctor_tells_of_a_missing_model_and_counts_all_the_same(machine):
    machine.run("embed")
    shutil.rmtree(machine.settings.model_dir)
    driver_row, model_row, vectors_row = machine.diagnose()
    assert (model_row.state, model_row.remedy.endswith("kizami setup --hybrid")) == ("warning", True)
    assert (driver_row.state, vectors_row.state) == ("ok", "ok")


def test_doctor_tells_of_vectors_of_another_model(machine):
    machine.run("embed")
    machine.configure(dimensions=8)
    machine.install()
    (*_, finding) = machine.diagnose()
    assert (finding.state, finding.remedy) == ("warning", BACKFILL)
    assert finding.found.startswith("4 vectors of another model (owner/ruri-v3-small, 16 dimensions)")


def test_doctor_tells_of_damaged_vectors(machine):
    machine.run("embed")
    with machine.book.core() as connection:
        connection.execute("UPDATE chunks_vec_map SET embedding = x'00' WHERE chunk_id = 2")
    (*_, finding) = machine.diagnose()
    assert (finding.state, finding.remedy) == ("warning", "Run: kizami doctor --repair")
    assert finding.found == "1 of 4 vectors damaged: they are not found"


def test_doctor_tells_of_settings_that_can_not_be_used(machine):
    machine.configure(dimensions="many")
    assert _told(machine.diagnose())[0] == ("configuration", "warning", f"Correct it in {machine.config}")


def test_doctor_leaves_a_damaged_database_to_cores_checks(machine):
    path = machine.book.path
    with open(path, "r+b") as file:
        file.write(b"no database any more")
    findings = machine.diagnose()
    assert [finding.check for finding in findings][:2] == ["vector driver", "embedding model"]
    assert all(finding.state != "problem" for finding in findings)


def test_the_rows_stand_in_kizami_doctor(machine):
    machine.run("embed")
    machine.configure(mode="hybrid")
    with machine.start("doctor", "--json") as process:
        out, _ = process.communicate(timeout=60)
    rows = [(row["check"], row["state"]) for row in json.loads(out)["checks"]]
    assert [row for row in rows if row[0] in ("vector driver", "embedding model", "vectors")] == [
        ("vector driver", "ok"),
        ("embedding model", "ok"),
        ("vectors", "ok"),
    ]


def test_help_tells_of_the_common_options_too(machine):
    told = machine.run("embed", "--help")
    assert all(
        f"--{option}" in told for option in ("backfill", "dry-run", "limit", "json", "config", "project")
    )


def test_the_command_opens_the_database_by_one_sqlite_library_alone(machine):
    """POSIX locks of two of them in one process undo each other."""
    code = (
        "import sqlite3, sys\n"
        "from kizami_hybrid import driver\n"
        "is_own = driver.choose().name == 'sqlite3'\n"
        "opened = []\n"
        "connect = sqlite3.connect\n"
        "def watched(path, *arguments, **options):\n"
        "    opened.append(path)\n"
        "    return connect(path, *arguments, **options)\n"
        "sqlite3.connect = watched\n"
        "from kizami_cli.app import app\n"
        "app(['embed'], standalone_mode=False)\n"
        "opened = [path for path in opened if path != ':memory:']\n"
        "print(is_own == bool(opened))\n"
    )
    told = subprocess.check_output([sys.executable, "-c", code], env=machine.env, encoding="utf-8")
    assert told.splitlines()[-1] == "True"


def test_an_embed_waits_for_another_process_and_goes_on(machine):
    with ProcessLock(f"{machine.book.path}.embedding.lock"):
        process = machine.start("embed")
        waiting = process.stderr.readline()
    out, _ = process.communicate(timeout=60)
    assert waiting == "Another process is embedding; this one helps as soon as it can.\n"
    assert out.startswith("Embedded 4 chunks (")
