"""A person's file replaced in one step, with a backup beside it."""

from __future__ import annotations

import os
import stat
import tempfile
import time

from kizami_core.paths import make_private_dir

_NEW_FILE_MODE = 0o600


class FileChangedError(Exception):
    """Another program changed the file since it was read; it was left as it is."""


def replace_file(path: str, original: bytes | None, data: bytes, now: float) -> str:
    """Replace a file; return the backup's path ("" when there was no file).

    The file's permissions stay, and a symbolic link stays a link.

    Args:
        path: the file; the folder is made if need be.
        original: what was read of it, None for no file.
        data: what it shall hold.
        now: epoch seconds, for the backup's name.

    Raises:
        FileChangedError: it holds something else than ``original`` by now.
        OSError: it can't be written; nothing was changed then.
    """
    target = os.path.realpath(path)
    make_private_dir(os.path.dirname(target))
    mode = _NEW_FILE_MODE if original is None else stat.S_IMODE(os.stat(target).st_mode)
    temporary = _write_beside(target, data, mode)
    try:
        if _present(target) != original:
            raise FileChangedError
        backup = "" if original is None else _back_up(target, original, mode, now)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    return backup


def _present(target: str) -> bytes | None:
    try:
        with open(target, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _write_beside(target: str, data: bytes, mode: int) -> str:
    descriptor, temporary = tempfile.mkstemp(prefix=".kizami-settings-", dir=os.path.dirname(target))
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
    return temporary


def _back_up(target: str, original: bytes, mode: int, now: float) -> str:
    stem = f"{target}.kizami-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}"
    backup, number = stem, 1
    while os.path.lexists(backup):
        number += 1
        backup = f"{stem}-{number}"
    os.replace(_write_beside(target, original, mode), backup)
    return backup
