"""A hook of MkDocs: gather in one folder what the site shows, the pages of docs/ and some files of the root.

On the file system their links lead out of docs/ ("../../ARCHITECTURE.md"); in the gathered folder they lead
to the pages that these files became. A link to a file that is no page (a source, a package) leads to the
repository where one is named (``SITE_REPOSITORY``), else its text stands alone.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "ja")
# Pages that exist in English only, for the site of each language: page → file of the repository.
SHARED = {
    "architecture.md": "ARCHITECTURE.md",
    "archive-format.md": "docs/archive-format.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")

_OTHER_LANGUAGE = re.compile(r"\]\(\.\./(en|ja)/index\.md\)")

_gathered: list[tempfile.TemporaryDirectory[str]] = []


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Build from the gathered folder."""
    folder = tempfile.TemporaryDirectory(prefix="kizami-site-")
    _gathered.append(folder)
    for language in LANGUAGES:
        gather(Path(folder.name, language), language, os.environ.get("SITE_REPOSITORY", ""))
    config.docs_dir = folder.name
    return config


def on_shutdown() -> None:
    """Take the gathered folders away again."""
    for folder in _gathered:
        folder.cleanup()


def gather(folder: Path, language: str, repository: str) -> None:
    """Write all pages of a language into a folder, with links that hold there."""
    folder.mkdir()
    pages = {path: path.name for path in (ROOT / "docs" / language).glob("*.md")}
    pages |= {ROOT / file: name for name, file in SHARED.items()}
    for source, name in pages.items():
        text = relinked(source.read_text(encoding="utf-8"), source, pages, repository)
        (folder / name).write_text(text, encoding="utf-8")


def relinked(text: str, source: Path, pages: Mapping[Path, str], repository: str) -> str:
    """Lead each link of a page to the page of the site that its file became, which ``pages`` names."""

    def replaced(match: re.Match[str]) -> str:
        meant = (source.parent / match["target"]).resolve()
        if meant in pages:
            return f"[{match['text']}]({pages[meant]}{match['anchor'] or ''})"
        if not meant.exists():
            return match[0]  # MkDocs says that it leads nowhere
        if repository:
            return f"[{match['text']}]({repository}/blob/main/{meant.relative_to(ROOT).as_posix()})"
        return match["text"]

    # The theme has a switch of its own for the other language.
    lines = [line for line in text.split("\n") if not _OTHER_LANGUAGE.search(line)]
    return _LINK.sub(replaced, "\n".join(lines))
