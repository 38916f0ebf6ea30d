"""Projects that are kept out altogether: by ``privacy.excludeProjects`` and by files named ``.kizamiignore``.

What such a project says is not saved, nothing is put before its prompts, and what is stored of it from before
is put before no prompt elsewhere; a search still finds it until it is deleted. The rule counts as it stands
when something is saved or shown, and a turn belongs to the folder in which it began.
"""

from __future__ import annotations

import os
import sys

from kizami_core.storage.projects import resolve_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER = ".kizamiignore"
_IGNORES_CASE = sys.platform in ("win32", "darwin")


class Exclusion:
    """Which folders are kept out. What was found of one is kept: make another for a later moment.

    Args:
        patterns: those of ``Config.exclude_projects``, see ``path_patterns``.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._reasons: dict[str, str] = {"": ""}

    def reason(self, folder: str, project: str = "") -> str:
        """Return what keeps a folder out: the pattern, or the path of the marker file; "" for nothing.

        A marker counts for the folder that it lies in and for all below; it is looked for up to the home
        directory. Of a worktree the repository that it was made from is asked, too. ``project`` is the
        folder's (``resolve_project``), where that is known already.
        """
        if folder not in self._reasons:
            self._reasons[folder] = self._look(folder, project or resolve_project(folder))
        return self._reasons[folder]

    def transcript_reason(self, path: str, cwd: str = "") -> str:
        """Return what keeps a whole transcript out, "" unless each folder is kept out that its records name.

        ``cwd`` stands in where they name none.
        """
        # Only now: a prompt has no transcript to look at.
        from kizami_core.transcript.folders import working_folders

        reason = ""
        for folder in working_folders(path):
            reason = self.reason(folder)
            if not reason:
                return ""
        return reason or self.reason(cwd)

    def _look(self, folder: str, project: str) -> str:
        real = _real(folder) if os.path.isabs(folder) else folder
        if os.path.isabs(folder):
            marker = _marker_above(real)
            if not marker and not real.startswith(project):  # a worktree lies elsewhere
                marker = _marker_above(project)
            if marker:
                return marker
        return self._pattern_for({folder, real, project}) if self._patterns else ""

    def _pattern_for(self, places: set[str]) -> str:
        from kizami_core.path_patterns import covers, is_anchored, literal_folder

        for pattern in self._patterns:
            forms = {pattern: None}
            literal = literal_folder(pattern) if is_anchored(pattern) else ""
            if literal:  # the pattern may lead through a link, which the folder no longer shows
                forms[_real(literal) + pattern[len(literal) :]] = None
            if any(covers(form, place, ignore_case=_IGNORES_CASE) for form in forms for place in places):
                return pattern
        return ""


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a NUL or a lone surrogate: no file has such a name
        return path


def _marker_above(folder: str) -> str:
    """Return the marker file that is nearest to a folder, "" where there is none up to the home directory."""
    path = folder
    while not os.path.lexists(os.path.join(path, MARKER)):
        parent = os.path.dirname(path)
        if path == parent:
            return ""
        path = parent
    home = os.path.realpath(os.path.expanduser("~"))
    is_above_home = folder.startswith(home + os.sep) and not (path + os.sep).startswith(home + os.sep)
    return "" if is_above_home else os.path.join(path, MARKER)
