"""Ask for every page of others that the project's pages link to: `nox -s links`.

Nothing else in the project uses the network to look at links: a page of others may be away for an hour.
"""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\]\((https?://[^)\s#]+)")
_TIMEOUT_SECONDS = 20


def main() -> int:
    """Print what each page answers; return 1 if any doesn't answer with success."""
    failed = 0
    for url in sorted({url for page in pages() for url in _LINK.findall(page.read_text(encoding="utf-8"))}):
        answer = ask(url)
        failed += answer != "ok"
        print(f"{answer}  {url}")
    return 1 if failed else 0


def pages() -> list[Path]:
    """Return the Markdown files that people read."""
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")]


def ask(url: str) -> str:
    """Return "ok", or what is wrong with a page."""
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):
            return "ok"
    except (urllib.error.URLError, TimeoutError) as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
