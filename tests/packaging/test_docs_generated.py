"""What the pages show of the program is what it prints now, and the tool that makes them sees when not."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools" / "docs"


@pytest.fixture(scope="module")
def tool():
    """The module ``tools/docs/generate.py``; its neighbours are found as when it is run."""
    pytest.importorskip("kizami_hybrid", reason="the reference names the settings of kizami-hybrid")
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("docs_generate", TOOLS / "generate.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        import reference
        import wording
    finally:
        sys.path.remove(str(TOOLS))
    module.reference, module.wording = reference, wording
    return module


@pytest.mark.skipif(sys.platform != "linux", reason="the pages show what a terminal of Linux shows")
def test_the_pages_show_what_the_program_prints():
    for package in ("kizami_hybrid", "kizami_import"):
        pytest.importorskip(package, reason="the pages show the commands of all packages")
    done = subprocess.run(
        [sys.executable, TOOLS / "generate.py", "--check"],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    remedy = "Look at it, then run: uv run python tools/docs/generate.py"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), remedy


PAGE = (
    "# A\n\n<!-- generated: one -->\n```console\n$ kizami list\nid  when\n```\n<!-- /generated -->\n\nEnd.\n"
)


@pytest.mark.parametrize(
    ("printed", "stale"),
    [
        ("$ kizami list\nid  when", []),
        ("$ kizami list\nid  then", ["one"]),
        ("$ kizami list\nid  when\nmore", ["one"]),
        ("$ kizami list", ["one"]),
    ],
)
def test_a_block_that_differs_is_named_and_made_anew(tool, printed, stale):
    blocks = {"one": f"```console\n{printed}\n```"}
    assert list(tool.stale_blocks(PAGE, blocks)) == stale
    filled = tool.filled(PAGE, blocks)
    assert filled == PAGE.replace("$ kizami list\nid  when", printed)
    assert list(tool.stale_blocks(filled, blocks)) == []


def test_a_name_that_no_scene_has_is_stale(tool):
    assert list(tool.stale_blocks(PAGE, {})) == ["one"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Size  336.0 KB", "Size  1.2 MB", True),
        ("Took 3.3 ms: lookup 0.6", "Took 12.1 ms: lookup 0.6", True),
        ("python 3.11.7 at /home/dev", "python 3.14.0 at\n       /home/dev", True),
        ("9 chunks", "8 chunks", False),
        ("relevance 0.83", "relevance 0.82", False),
    ],
)
def test_sizes_times_and_versions_may_differ_and_nothing_else(tool, one, other, same):
    assert tool.is_same(one, other) is same


def test_every_environment_variable_that_is_read_is_explained(tool):
    explained = {name for names in tool.wording.VARIABLES for name in names.split(", ")}
    assert tool.reference.variables_read() <= explained
    assert explained - tool.reference.variables_read() <= {"NO_COLOR"}  # read by rich
