"""What the READMEs promise is what the code does: settings, commands, and a test behind every promise."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from kizami_cli.app import BUILT_IN, ELSEWHERE
from kizami_cli.recommended import SETTINGS
from kizami_core.config import FIELDS, parse_config

ROOT = Path(__file__).resolve().parents[2]

# The promises at the head of README.md, each with tests that fail when it is broken.
PROMISES = {
    "Nothing to do.": {
        "tests/journeys/test_first_session.py": [
            "test_a_decision_of_the_first_session_comes_back_in_the_second_and_resuming_loses_nothing",
        ],
        "tests/cli/test_hooks.py": ["test_a_session_start_tells_what_the_last_sessions_were_about"],
    },
    "It knows when to be silent.": {
        "tests/core/test_recall.py": [
            "test_silence_is_silence",
            "test_relevance_of_a_hit_does_not_depend_on_the_other_hits",
        ],
        "tests/properties/test_retrieval_properties.py": [
            "test_no_text_makes_search_raise_and_every_relevance_is_a_probability",
        ],
    },
    "Japanese works.": {
        "tests/core/test_terms.py": ["test_text_becomes_these_terms", "test_width_and_case_do_not_matter"],
        "tests/properties/test_retrieval_properties.py": ["test_index_and_query_agree"],
    },
    "Local and private.": {
        "tests/packaging/test_arrows.py": ["test_no_module_reaches_for_the_network"],
        "tests/core/test_migration.py": ["test_files_and_folders_are_private_from_birth_whatever_the_umask"],
        "tests/core/test_privacy_secrets.py": ["test_secret_value_is_masked_and_its_name_stays"],
        "tests/properties/test_redaction_properties.py": ["test_nothing_of_a_private_region_is_left"],
    },
    "Out of the way.": {
        "tests/cli/test_hooks.py": [
            "test_hooks_import_only_what_they_need",
            "test_no_input_makes_a_hook_fail",
            "test_an_error_is_one_line_with_its_time_and_its_remedy",
        ],
    },
}


@pytest.fixture(params=["README.md", "README.ja.md"])
def readme(request) -> str:
    return (ROOT / request.param).read_text(encoding="utf-8")


def settings_table(readme: str) -> dict[str, tuple[str, str]]:
    """Return default and recommended value of each setting, as the README shows them."""
    rows = re.findall(r"^\| `(\w+\.\w+)` \| ([^|]*) \| ([^|]*)\|", readme, flags=re.MULTILINE)
    return {key: (default.strip(" `"), recommended.strip(" `")) for key, default, recommended in rows}


def shown(value: object) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if is_whole else value)


def test_readme_shows_every_setting_with_its_default_and_what_setup_writes(readme):
    defaults, _ = parse_config({}, {"HOME": "/home/dev"})
    written = {(section, key): value for section, keys in SETTINGS.items() for key, value in keys.items()}
    expected = {
        f"{section}.{key}": (
            shown(getattr(defaults, name)),
            shown(written[section, key]) if (section, key) in written else "",
        )
        for (section, key), (name, _) in FIELDS.items()
    }
    expected["database.path"] = ("~/.local/share/kizami/memory.db", "")
    assert settings_table(readme) == expected


def commands_named(text: str) -> set[str]:
    return set(re.findall(r"(?:`|/|^(?:\$ )?)kizami ([a-z][a-z-]*)", text, flags=re.MULTILINE))


def commands_brought() -> dict[str, str]:
    """Return the commands that other packages bring, each with its package."""
    brought = {}
    for path in ROOT.glob("packages/*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        commands = project.get("entry-points", {}).get("kizami.commands", {})
        brought |= dict.fromkeys(commands, project["name"])
    return brought


def test_readme_shows_every_command_and_no_other(readme):
    assert commands_named(readme) == {*BUILT_IN, *commands_brought()}


def test_for_a_command_that_is_not_installed_its_package_is_named():
    assert commands_brought() == ELSEWHERE


@pytest.mark.parametrize("package", sorted({*commands_brought().values()}))
def test_readme_of_a_package_shows_every_command_that_it_brings_and_no_unknown_one(package):
    named = commands_named((ROOT / "packages" / package / "README.md").read_text(encoding="utf-8"))
    brought = commands_brought()
    assert {command for command, name in brought.items() if name == package} <= named
    assert named <= {*BUILT_IN, *brought}


def test_readme_of_the_vectors_shows_their_settings_with_their_defaults():
    settings = pytest.importorskip("kizami_hybrid.settings", reason="kizami-hybrid is not installed")
    defaults, _ = settings.parse_settings({}, {"HOME": "/home/dev"})
    text = (ROOT / "packages/kizami-hybrid/README.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+?)`? \|", text, flags=re.MULTILINE)) == {
        "model": defaults.model,
        "quantized": shown(defaults.is_quantized),
        "dimensions": shown(defaults.dimensions),
        "cacheDir": "$XDG_CACHE_HOME/kizami/models",
    }


def test_every_promise_of_the_readme_has_tests():
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    japanese = (ROOT / "README.ja.md").read_text(encoding="utf-8")
    promises = re.findall(r"^- \*\*(.+?)\*\*", english, flags=re.MULTILINE)
    assert promises == list(PROMISES)
    assert len(re.findall(r"^- \*\*(.+?)\*\*", japanese, flags=re.MULTILINE)) == len(promises)


@pytest.mark.parametrize("promise", PROMISES)
def test_the_tests_behind_a_promise_exist(promise):
    for path, names in PROMISES[promise].items():
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert set(names) <= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
