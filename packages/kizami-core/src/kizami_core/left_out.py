"""Sessions that a person kept to themselves by ``KIZAMI_DISABLE=1``: one empty file for each.

The hooks of such a session do nothing but leave that mark, so that what reads its transcript later leaves it
alone too. `kizami save PATH` saves it all the same and takes the mark away.
"""

from __future__ import annotations

import os

from kizami_core.paths import make_private_dir, session_file
from kizami_core.transcript.names import parent_of, session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

# A mark outlives the transcript by far: another of Claude Code's directories may still hold a copy.
_KEPT_DAYS = 400
_DAY_SECONDS = 86_400


def leave_out(folder: str, session_id: str, path: str) -> None:
    """Mark a session, by its id and by its transcript's name ("" for what is not known).

    Raises:
        OSError: the mark can't be written.
    """
    for name in {session_id, session_id_of(path)} - {""}:
        file = session_file(folder, name)
        if not os.path.lexists(file):
            make_private_dir(folder)
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))


def is_left_out(folder: str, path: str) -> bool:
    """Tell whether a transcript is that of a marked session, or of a sub-agent of one."""
    names = (session_id_of(path), parent_of(path))
    return any(name and os.path.lexists(session_file(folder, name)) for name in names)


def take_in(folder: str, path: str) -> None:
    """Take the mark away that a transcript's session has, if any."""
    try:
        os.unlink(session_file(folder, session_id_of(path)))
    except OSError:
        return


def prune(folder: str, sessions: Collection[str], now: float) -> None:
    """Take away old marks of sessions that are none of these, whose transcripts are on disk."""
    known = {session_file(folder, name) for name in sessions}
    try:
        files = {os.path.join(folder, name) for name in os.listdir(folder)}
        for file in files - known:
            if os.stat(file).st_mtime < now - _KEPT_DAYS * _DAY_SECONDS:
                os.unlink(file)
    except OSError:
        return
