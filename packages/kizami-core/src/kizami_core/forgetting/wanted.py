"""The text that is to be forgotten, and where something holds it."""

from __future__ import annotations

from itertools import pairwise

from kizami_core.errors import ConfigError
from kizami_core.messages import Message
from kizami_core.retrieval.normalize import fold
from kizami_core.retrieval.search_syntax import comparable
from kizami_core.retrieval.terms import index_terms
from kizami_core.transcript.rendering import MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Of the characters of a text so many make one of its comparable form, beside white space.
_RAW_SHARE = 4
_MOST_SPACE = 200  # that is looked through where two pieces meet


class Wanted:
    """A text, found wherever it stands, within words too; width, case and white space don't matter.

    Args:
        text: the text.
        project_path: the project to keep to, None for all.

    Raises:
        ConfigError: there is nothing in the text to look for.
    """

    def __init__(self, text: str, project_path: str | None = None) -> None:
        self.text = text.strip()
        self.project_path = project_path
        self._phrase = comparable(text)
        if not self._phrase:
            raise ConfigError(Message("There is no text to forget. Give some: --matching TEXT"))
        self._first_word = self._phrase.partition(" ")[0]
        self._terms = frozenset(index_terms(self.text))

    def is_held_by(self, text: str) -> bool:
        """Tell whether a text holds it."""
        folded = fold(text)
        # Most texts hold nothing of it: the rest of the work is left undone for them.
        return self._first_word in folded and self._phrase in " ".join(folded.split())

    def is_told_by(self, terms: frozenset[str]) -> bool:
        """Tell whether search terms say all of it."""
        return bool(self._terms) and self._terms <= terms

    def is_of(self, project_path: str | None) -> bool:
        """Tell whether a project is one to look in."""
        return self.project_path in (None, project_path)

    def places(self, texts: Mapping[int, str]) -> set[int]:
        """Return which pieces of one turn, given in order by their place, hold it.

        Where a turn was cut in the middle of it, both pieces do.
        """
        found = {place for place, text in texts.items() if self.is_held_by(text)}
        for (before, first), (after, second) in pairwise(texts.items()):
            if not found.issuperset((before, after)) and self._is_at_seam(first, second):
                found |= {before, after}
        return found

    def _is_at_seam(self, first: str, second: str) -> bool:
        reach = len(self._phrase) - 1  # what a piece holds alone is no matter of the seam
        if not reach:
            return False
        # A piece that goes on with a section begins with the section's mark.
        continued = second.partition("\n")[2] if second.startswith(MARKS) else second
        raw = reach * _RAW_SHARE + _MOST_SPACE
        tail, head = comparable(first[-raw:])[-reach:], comparable(continued[:raw])[:reach]
        return any(self._phrase in tail + between + head for between in ("", " "))
