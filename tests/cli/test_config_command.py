"""`kizami config`: the settings, where each comes from, and one of them changed."""

import json
import os
import re

import pytest

from kizami_cli.settings_table import installed_settings
from kizami_core.config import FIELDS

KEYS = [".".join(key) for key in FIELDS]
_MODULE = """
from kizami_core.config import Setting, UnfitValue

def known_settings(env):
    def read(value):
        if value not in ("red", "青"):
            raise UnfitValue('"red" or "青"')
        return value
    return [Setting("color.ink", "red", read)]
"""


@pytest.fixture
def neighbour(tmp_path):
    """The environment in which another package brings a setting."""
    about = tmp_path / "packages" / "neighbour-1.0.dist-info"
    about.mkdir(parents=True)
    (about.parent / "neighbour.py").write_text(_MODULE, encoding="utf-8")
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: neighbour\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(
        "[kizami.settings]\ncolor = neighbour:known_settings\n", encoding="utf-8"
    )
    path = os.pathsep.join(filter(None, (str(about.parent), os.environ.get("PYTHONPATH", ""))))
    return {"PYTHONPATH": path, "PYTHONUTF8": "1"}


def listed(done):
    """Return value and origin of each setting in the plain output of ``list``."""
    rows = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    return {key: (value, origin) for key, value, origin in rows}


# --- get ---


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search.fusion", "score"),
        ("hooks.minRelevanceScore", "0"),
        ("search.crossProjectPenalty", "0.3"),
        ("hooks.autoRecall", "true"),
        ("privacy.excludeProjects", "[]"),
    ],
)
def test_a_setting_that_is_not_set_prints_its_default_and_says_so(kizami, home, key, value):
    done = kizami("config", "get", key)
    assert (done.exit_code, done.stdout) == (0, f"{value}\n")
    assert done.stderr == f"This is the default: {home.config} does not set {key}.\n"


def test_a_setting_of_the_file_prints_what_it_counts_as(kizami, home):
    home.write_config(
        search={"crossProjectPenalty": 7, "projectScope": "tiered"}, database={"path": "~/x.db"}
    )
    done = [kizami("config", "get", key) for key in ("search.crossProjectPenalty", "search.projectScope")]
    assert [(one.stdout, one.stderr) for one in done] == [("1\n", ""), ("tiered\n", "")]
    assert kizami("config", "get", "database.path").stdout == f"{home.path / 'x.db'}\n"
    assert json.loads(kizami("config", "get", "search.projectScope", "--json").stdout) == {
        "key": "search.projectScope",
        "value": "tiered",
        "origin": "file",
        "default": True,
    }


def test_what_cant_be_used_in_the_file_is_said_with_the_default(kizami, home):
    home.write_config(search={"projectScope": "tierd", "fusion": "rrf"}, color={})
    done = kizami("config", "get", "search.projectScope")
    problem = 'search.projectScope must be true, false or "tiered"; the default is used.'
    assert (done.stdout, done.stderr) == ("true\n", f"Configuration: {problem}\n")
    assert kizami("config", "get", "search.fusion").stderr == ""


@pytest.mark.parametrize("words", [["get"], ["unset"], ["set", "x"]])
@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("search.projectscope", "Did you mean search.projectScope?"),
        ("hooks.recalLimit", "Did you mean hooks.recallLimit?"),
        ("recallLimit", "Did you mean hooks.recallLimit?"),
        ("search.recallLimit", "Did you mean hooks.recallLimit?"),
        ("xyzzy", "`kizami config list` shows them."),
    ],
)
def test_an_unknown_key_gets_a_suggestion(kizami, home, words, key, meant):
    verb, *value = words
    done = kizami("config", verb, key, *value)
    assert done.exit_code == 2
    assert f"There is no setting '{key}'. {meant}" in done.stderr
    assert not home.config.exists()


# --- set and unset ---


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("search.mode", "core", "core"),
        ("search.projectScope", "tiered", "tiered"),
        ("search.projectScope", '"tiered"', "tiered"),
        ("search.projectScope", "false", False),
        ("hooks.minRelevanceScore", "0.2", 0.2),
        ("hooks.recallLimit", "0", 0),
        ("database.path", "~/記憶.db", "~/記憶.db"),
        ("privacy.excludeProjects", '["~/顧客/**", "secret-*"]', ["~/顧客/**", "secret-*"]),
    ],
)
def test_a_value_is_json_where_it_parses_and_text_otherwise(kizami, home, key, text, value):
    done = kizami("config", "set", key, text)
    section, name = key.split(".")
    assert (done.exit_code, json.loads(home.config.read_text(encoding="utf-8"))) == (
        0,
        {section: {name: value}},
    )
    assert home.config.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("key", "text", "wanted"),
    [
        ("search.projectScope", "tierd", 'must be true, false or "tiered"'),
        ("hooks.autoRecall", "yes", "must be true or false"),
        ("hooks.recallLimit", "2.5", "must be a whole number from 0 to 20"),
        ("hooks.minRelevanceScore", '"0.2"', "must be a number from 0 to 1"),
        ("hooks.minRelevanceScore", "NaN", "must be a number from 0 to 1"),
        ("database.path", "3", "must be a text"),
        (
            "privacy.excludeProjects",
            "~/clients/**",
            'must be a list of folders or patterns such as ["~/clients/**"]',
        ),
    ],
)
def test_a_value_that_loading_would_refuse_is_refused(kizami, home, key, text, wanted):
    done = kizami("config", "set", key, text)
    assert done.exit_code == 2
    assert f"{key} {wanted}. Nothing was changed." in done.stderr
    assert not home.config.exists()


def test_everything_else_in_the_file_stays_and_what_it_was_is_kept(kizami, home):
    before = (
        '\ufeff{\r\n\t"embedding": {"dimensions": 2.560e2},\r\n'
        '\t"search": {"fusion": "rrf"}, "\\u672a": [1,2]\r\n}\r\n'
    )
    home.config.parent.mkdir(parents=True)
    home.config.write_bytes(before.encode())
    home.config.chmod(0o640)
    done = kizami("config", "set", "search.fusion", "score")
    assert home.config.read_bytes().decode() == before.replace("rrf", "score")
    assert home.config.stat().st_mode & 0o777 == 0o640
    backup = done.stdout.splitlines()[1].removeprefix("What the file was before: ")
    with open(backup, "rb") as file:
        assert file.read().decode() == before
    kizami("config", "unset", "search.fusion")
    assert home.config.read_bytes().decode() == before.replace('"fusion": "rrf"', "")


@pytest.mark.parametrize("verb", [("set", "search.fusion", "rrf"), ("unset", "search.fusion")])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{ // mine\n}", "is not JSON"),
        ("[]", "the file is not an object"),
        ('{"search": 3}', '"search" is not an object'),
    ],
)
def test_a_file_that_cant_be_understood_is_left_as_it_is(kizami, home, verb, text, why):
    home.config.parent.mkdir(parents=True)
    home.config.write_text(text, encoding="utf-8")
    done = kizami("config", *verb)
    assert done.exit_code == 1
    assert why in done.stderr
    assert "Repair it" in done.stderr or "Repair or delete it" in done.stderr
    assert home.config.read_text(encoding="utf-8") == text
    assert os.listdir(home.config.parent) == ["config.json"]


def test_unsetting_says_what_applies_now(kizami, home):
    done = kizami("config", "unset", "hooks.recallLimit")
    assert (done.stdout, done.stderr) == (
        "",
        f"{home.config} does not set hooks.recallLimit; nothing was changed.\n",
    )
    home.write_config(hooks={"recallLimit": 5}, search={})
    assert kizami("config", "unset", "hooks.recallLimit").stdout.startswith(
        "hooks.recallLimit is at its default, 3\n"
    )
    assert json.loads(home.config.read_text(encoding="utf-8")) == {"hooks": {}, "search": {}}


def test_a_mode_that_there_is_not_is_refused(kizami, home):
    done = kizami("config", "set", "search.mode", "hybird")
    assert done.exit_code == 2
    assert 'search.mode must be "core" or "hybrid". Nothing was changed.' in done.stderr
    assert not home.config.exists()


# --- list and path ---


def test_the_list_shows_every_setting_once_with_where_it_comes_from(kizami, home):
    home.write_config(
        hooks={"recallLimit": 5, "minRelevanceScore": 2}, privacy={"excludeProjects": ["~/顧客/**"]}
    )
    done = kizami("config", "list")
    rows = listed(done)
    assert [key for key in rows if not key.startswith("embedding.")] == KEYS
    assert rows["hooks.recallLimit"] == ("5", "file")
    assert rows["hooks.minRelevanceScore"] == ("0", "default")
    assert rows["privacy.excludeProjects"] == ('["~/顧客/**"]', "file")
    assert rows["database.path"] == (str(home.database), "default")
    assert f"Configuration  {home.config}\n" in done.stdout
    assert done.stderr.splitlines() == [
        "Configuration: hooks.minRelevanceScore must be a number from 0 to 1; the default is used."
    ]


def test_the_list_as_json(kizami, home):
    home.write_config(serach={}, hooks={"recalLimit": 5})
    report = json.loads(kizami("config", "list", "--json").stdout)
    assert [item["key"] for item in report["settings"]] == [item.key for item in installed_settings(home.env)]
    assert report["paths"] == {
        "config": str(home.config),
        "data": str(home.database.parent),
        "database": str(home.database),
    }
    assert report["kept_out"] == []
    assert {problem["key"]: problem["message"].rpartition(". ")[2] for problem in report["problems"]} == {
        "serach": "Did you mean search?",
        "hooks.recalLimit": "Did you mean hooks.recallLimit?",
    }


def test_the_environment_is_named_where_it_wins(kizami, home, tmp_path, monkeypatch):
    file, data = tmp_path / "named.json", tmp_path / "データ"
    file.write_text('{"database": {"path": "/elsewhere.db"}, "hooks": {"recallLimit": 1}}', encoding="utf-8")
    for name, value in {"CONFIG": file, "DATA_DIR": data, "DATABASE": data / "m.db"}.items():
        monkeypatch.setenv(f"KIZAMI_{name}", str(value))
    assert kizami("config", "path").stdout == f"{file}\n"
    done = kizami("config", "list")
    assert listed(done)["database.path"] == (str(data / "m.db"), "KIZAMI_DATABASE")
    assert f"Configuration  {file} (KIZAMI_CONFIG)\nData           {data} (KIZAMI_DATA_DIR)\n" in done.stdout
    done = kizami("config", "get", "database.path")
    assert (done.stdout, done.stderr) == (f"{data / 'm.db'}\n", "KIZAMI_DATABASE says so.\n")
    done = kizami("config", "set", "database.path", str(tmp_path / "other.db"))
    assert done.stderr == "KIZAMI_DATABASE is set and wins over it.\n"
    other = tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    assert kizami("--config", str(other), "config", "path").stdout == f"{other}\n"
    assert kizami("config", "get", "hooks.recallLimit", "--config", str(other)).stdout == "3\n"


def test_a_relative_path_in_the_environment_is_ignored_and_told_with_the_remedy(home):
    env = {"KIZAMI_DATA_DIR": "kizami"}
    done = home.run("config", "list", env=env)
    assert "KIZAMI_DATA_DIR must be an absolute path; it is ignored." in done.stderr.decode()
    assert str(home.database) in done.stdout.decode()
    checks = json.loads(home.run("doctor", "--json", env=env).stdout)["checks"]
    assert [check["remedy"] for check in checks if check["check"] == "configuration"] == [
        "Set KIZAMI_DATA_DIR to an absolute path, or unset it."
    ]


def test_doctor_tells_every_problem_with_a_suggestion_and_its_remedy(home):
    home.write_config(search={"projectscope": True}, hook={}, hooks={"recallLimit": "3"})
    checks = json.loads(home.run("doctor", "--json").stdout)["checks"]
    remedy = f"Correct it in {home.config}"
    assert [(check["found"], check["remedy"]) for check in checks if check["check"] == "configuration"] == [
        (
            "search.projectscope is no setting of Kizami; it is ignored. Did you mean search.projectScope?",
            remedy,
        ),
        ("hook is no section of Kizami's configuration; it is ignored. Did you mean hooks?", remedy),
        ("hooks.recallLimit must be a whole number from 0 to 20; the default is used.", remedy),
    ]
    said = home.run("stats").stderr.decode()
    assert "Did you mean search.projectScope?" in said


def test_the_list_fits_a_terminal_of_80_columns(on_terminal, home):
    home.write_config(
        privacy={"excludeProjects": ["~/顧客/株式会社青葉歯科/**", "~/仕事/秘密のプロジェクト"]}
    )
    code, seen = on_terminal("config", "list")
    lines = re.sub(r"\x1b\[\d*m", "", seen).splitlines()
    width = max(sum(2 if ord(letter) > 0x2E7F else 1 for letter in line) for line in lines)
    assert (code, width <= 80) == (0, True)
    from_column = lines[0].index("from")
    defaults = [line for line in lines if line.endswith("default") and line.isascii()]
    assert len(defaults) > 10
    assert {line.rindex("default") for line in defaults} == {from_column}


# --- other packages ---


def test_another_packages_setting_is_one_like_the_others(home, neighbour):
    done = home.run("config", "list", env=neighbour)
    assert "color.ink\tred\tdefault" in done.stdout.decode().splitlines()
    assert home.run("config", "set", "color.ink", "青", env=neighbour).returncode == 0
    assert home.run("config", "get", "color.ink", env=neighbour).stdout.decode() == "青\n"
    done = home.run("config", "set", "color.ink", "blue", env=neighbour)
    assert (done.returncode, 'color.ink must be "red" or "青".' in done.stderr.decode()) == (2, True)
    home.write_config(color={"ink": "blue"})
    done = home.run("config", "get", "color.ink", env=neighbour)
    assert done.stdout == b"red\n"
    assert 'color.ink must be "red" or "青"; the default is used.' in done.stderr.decode()
    done = home.run("config", "get", "colour.ink", env=neighbour)
    assert "Did you mean color.ink?" in done.stderr.decode()


def test_the_settings_of_the_vectors_are_read_as_their_package_reads_them():
    settings = pytest.importorskip("kizami_hybrid.settings", reason="kizami-hybrid is not installed")
    known = {setting.key: setting for setting in settings.known_settings({"HOME": "/home/dev"})}
    assert {key: setting.default for key, setting in known.items()} == {
        "embedding.model": settings.DEFAULT_MODEL,
        "embedding.quantized": True,
        "embedding.dimensions": 256,
        "embedding.cacheDir": os.path.join("/home/dev", ".cache", "kizami", "models"),
    }
    assert known["embedding.dimensions"].read(128) == 128
    for key, value in (("dimensions", 0), ("quantized", "yes"), ("model", "../x"), ("cacheDir", "")):
        with pytest.raises(settings.UnfitValue):
            known[f"embedding.{key}"].read(value)
