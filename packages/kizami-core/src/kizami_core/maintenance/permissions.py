"""Permissions: what Kizami keeps is for its owner's eyes alone, 0700 for directories and 0600 for files."""

from __future__ import annotations

import glob
import os
import stat

from kizami_core.maintenance.findings import Finding
from kizami_core.messages import Message
from kizami_core.paths import data_dir, error_log_path, run_stamp_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OTHERS = 0o077


def check_permissions(env: Mapping[str, str], *, config: str, database: str) -> list[Finding]:
    """Look at everything that Kizami keeps; on Windows, where the home is the owner's, only for writing."""
    findings = []
    if too_open := _too_open(env, config, database):
        names = ", ".join(f"{path} ({stat.S_IMODE(os.stat(path).st_mode):04o})" for path, _ in too_open)
        found = Message("open to others: {names}", names=names)
        findings.append(Finding("permissions", "warning", found, Message("Run: kizami doctor --repair")))
    for directory in dict.fromkeys((data_dir(env), os.path.dirname(database))):
        if os.path.exists(directory) and not (os.path.isdir(directory) and os.access(directory, os.W_OK)):
            found = Message("{path} can't be written to, so nothing can be saved there", path=directory)
            remedy = Message(
                "Make it a directory of yours that can be written to, or set another database.path."
            )
            findings.append(Finding("permissions", "problem", found, remedy))
    if os.path.exists(database) and not os.access(database, os.W_OK):
        found = Message("{path} can't be written to, so nothing can be saved", path=database)
        remedy = Message("Give yourself the right to write to it.")
        findings.append(Finding("permissions", "problem", found, remedy))
    return findings or [Finding("permissions", "ok", Message("only you can read what is kept"))]


def mend_permissions(env: Mapping[str, str], *, config: str, database: str) -> list[Message]:
    """Close to others what is open to them; return what was done."""
    done: list[Message] = []
    for path, mode in _too_open(env, config, database):
        os.chmod(path, mode)
        done.append(Message("{path}: closed to others ({mode:04o})", path=path, mode=mode))
    return done


def _too_open(env: Mapping[str, str], config: str, database: str) -> list[tuple[str, int]]:
    """Return the user's own directories and files that others may enter, read or write, with the mode due."""
    if os.name != "posix":
        return []
    log = error_log_path(env)
    stamps = os.path.dirname(run_stamp_path(env, ""))
    # Kizami's own directories, but not one of the user's that database.path or --config names.
    directories = [data_dir(env), stamps] + ([os.path.dirname(config)] if _is_kizamis(config) else [])
    files = [log, config, database, *glob.glob(glob.escape(database) + "[-.]*")]
    candidates = [(path, 0o700) for path in directories] + [(path, 0o600) for path in files]
    found = []
    for path, mode in candidates:
        try:
            status = os.stat(path)
        except OSError:
            continue
        if stat.S_IMODE(status.st_mode) & _OTHERS and status.st_uid == os.getuid():
            found.append((path, mode))
    return found


def _is_kizamis(config: str) -> bool:
    return os.path.basename(os.path.dirname(config)) == "kizami"
