"""The pages for users: their links lead somewhere, what they call exists, both languages tell the same."""

import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from kizami_cli.app import BUILT_IN, ELSEWHERE, app
from kizami_core.config import FIELDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LANGUAGES = ("en", "ja")


def read(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def fences(text: str, language: str) -> list[str]:
    """Return what the fenced blocks of a language hold."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def links(text: str) -> list[tuple[str, str]]:
    """Return file and heading of each link that stays within the repository."""
    return re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)", prose(text))


def anchors(path: Path) -> set[str]:
    """Return the names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(path.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def typed(text: str) -> list[str]:
    """Return what stands behind the prompts of the console blocks."""
    return [
        line.removeprefix("$ ")
        for block in fences(text, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def calls(text: str) -> list[list[str]]:
    """Return the arguments of each call of ``kizami``, in console blocks and in the prose."""
    quoted = [code for code in re.findall(r"`([^`\n]+)`", prose(text)) if "kizami" in code]
    found = []
    for line in [*typed(text), *quoted]:
        words = shlex.split(line.replace("…", " "))
        places = [number for number, word in enumerate(words) if word == "kizami"]
        for place in places:
            rest = words[place + 1 :]
            end = next((number for number, word in enumerate(rest) if word in {"|", ">", "&&", ";"}), None)
            found.append(rest[:end])
    return found


def unknown(arguments: list[str]) -> list[str]:
    """Return what a call names and the program doesn't have; nothing where a command's package is missing."""
    context = click.Context(app)
    names = without_options(arguments)
    if not names:
        return [word for word in arguments if word not in options(app)]
    command = app.get_command(context, names[0])
    if command is None:
        return [] if names[0] in ELSEWHERE else [names[0]]
    known = options(app) | options(command)
    if isinstance(command, click.Group) and names[1:]:
        below = command.get_command(context, names[1])
        if below is None:
            return [f"{names[0]} {names[1]}"]
        known |= options(below)
    return [word for word in arguments if word.startswith("--") and word.partition("=")[0] not in known]


def without_options(arguments: list[str]) -> list[str]:
    """Leave out options, and the values of those that every command takes."""
    with_value = {"--project", "--config"}
    before = ["", *arguments]
    return [
        word
        for word, previous in zip(arguments, before, strict=False)
        if not word.startswith("-") and previous not in with_value
    ]


def options(command: click.Command) -> set[str]:
    context = click.Context(command, help_option_names=["-h", "--help"])
    return {name for parameter in command.get_params(context) for name in parameter.opts}


def test_both_languages_have_the_same_pages():
    english, japanese = ({path.name for path in (DOCS / language).iterdir()} for language in LANGUAGES)
    assert english == japanese
    assert "index.md" in english


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_reached_from_the_index_and_the_index_from_the_readme(language):
    named = {target for target, _ in links(read(f"{language}/index.md"))}
    assert {path.name for path in (DOCS / language).iterdir()} - {"index.md"} <= named
    readme = ROOT / ("README.md" if language == "en" else "README.ja.md")
    assert (f"docs/{language}/index.md", "") in links(readme.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    here = DOCS / page
    broken = []
    for target, heading in links(read(page)):
        path = here.parent / target if target else here
        if not path.exists() or (heading and heading not in anchors(path)):
            broken.append((target, heading))
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_exists(page):
    assert [(call, missing) for call in calls(read(page)) if (missing := unknown(call))] == []


def in_both(page: str, pattern: str) -> tuple[list[str], list[str]]:
    english, japanese = (
        re.findall(pattern, read(f"{language}/{page}"), flags=re.MULTILINE | re.DOTALL)
        for language in LANGUAGES
    )
    return english, japanese


@pytest.mark.parametrize("page", sorted(path.name for path in (DOCS / "en").iterdir()))
def test_both_languages_show_the_same_blocks(page):
    english, japanese = in_both(page, r"^<!-- generated: [^>]+ -->$|^```\w+$")
    assert english == japanese
    # What the program prints is in the page's language; what was typed, and programs, are the same.
    english, japanese = in_both(page, r"^\$ .*?$|^```(?!console)\w+\n.*?^```$")
    assert english == japanese


@pytest.mark.parametrize("page", sorted(path.name for path in (DOCS / "en").iterdir()))
def test_both_languages_have_as_many_headings_and_rows(page):
    english, japanese = (
        re.findall(r"^(?:#+|\|)", prose(read(f"{language}/{page}")), flags=re.MULTILINE)
        for language in LANGUAGES
    )
    assert english == japanese


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_has_a_section_with_its_help_and_what_it_prints(language):
    # A page's own headings stand behind an empty line; what a program prints may begin with # as well.
    parts = re.split(r"(?:^|\n)\n##+ (?=[^\n]+\n\n)", read(f"{language}/commands.md"))
    sections = {
        name: text for name, _, text in (part.partition("\n") for part in parts) if "generated:" in text
    }
    sections.pop("# Commands" if language == "en" else "# コマンド")
    assert set(sections) == {*BUILT_IN, *ELSEWHERE}
    for name, section in sections.items():
        blocks = re.findall(
            r"^<!-- generated: (.+) -->\n```console\n\$ [^\n]*kizami", section, flags=re.MULTILINE
        )
        assert f"help {name}" in blocks, name
        assert set(blocks) != {f"help {name}"}, name


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_setting_stands_in_the_reference(language):
    named = re.findall(r"^\| `(\w+\.\w+)` \|", read(f"{language}/configuration.md"), flags=re.MULTILINE)
    core = [".".join(key) for key in FIELDS]
    assert named[: len(core)] == core
    assert all(name.startswith("embedding.") for name in named[len(core) :])


@pytest.mark.parametrize("page", PAGES)
def test_links_to_pages_of_others_are_addresses(page):
    for address in re.findall(r"\]\((\w+:[^)\s]*)\)", prose(read(page))):
        parts = urlsplit(address)
        assert (parts.scheme, bool(parts.hostname and "." in parts.hostname)) == ("https", True)


def test_the_example_of_the_library_prints_what_the_page_shows(tmp_path, monkeypatch):
    (program,), (output,) = fences(read("en/library.md"), "python"), fences(read("en/library.md"), "text")
    demo = files("kizami_cli").joinpath("data", "demo_session.jsonl").read_bytes()
    (tmp_path / "session.jsonl").write_bytes(demo)
    # The session is of a fixed day: maintenance would delete it once that is long past.
    settings = tmp_path / "kizami" / "config.json"
    settings.parent.mkdir()
    settings.write_text('{"maintenance": {"enabled": false}}', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", output)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Run `kizami serch redis`.", ["serch"]),
        ("Run `kizami search redis --limitt 3`.", ["--limitt"]),
        ("Run `kizami project renam A B`.", ["project renam"]),
        ("Run `kizami --project A search redis --limit 3`.", []),
        ("```console\n$ kizami doctor --repare | grep --count ok\n```", ["--repare"]),
    ],
)
def test_what_does_not_exist_is_noticed(text, missing):
    (call,) = calls(text)
    assert unknown(call) == missing
