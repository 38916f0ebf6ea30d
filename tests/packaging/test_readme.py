"""The READMEs' commands are the commands that run, and their links lead somewhere."""

import re

import pytest


@pytest.fixture(params=["README.md", "README.ja.md"])
def readme(request, root) -> str:
    return (root / request.param).read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """Return the lines of the fenced blocks of a Markdown text."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_ci_runs_the_test_command_of_the_readme(root, readme):
    command = (root / ".ci/run").read_text(encoding="utf-8").splitlines()[-1]
    assert command.endswith("nox")
    assert command in commands(readme)


def test_readme_shows_how_to_run_the_demo_from_a_clone(readme):
    demo = [line for line in commands(readme) if "./packages/" in line and line.endswith("kizami demo")]
    assert len(demo) == 1


def test_both_readmes_show_the_same_demo_command(root):
    english, japanese = (
        [line for line in commands((root / name).read_text(encoding="utf-8")) if line.endswith("kizami demo")]
        for name in ("README.md", "README.ja.md")
    )
    assert english == japanese


@pytest.mark.parametrize(
    "name",
    ["README.md", "README.ja.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"],
)
def test_relative_links_lead_to_files(root, name):
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", (root / name).read_text(encoding="utf-8"))
    assert [target for target in targets if not (root / target).exists()] == []
