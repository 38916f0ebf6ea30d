"""A person's file replaced in one step, with a backup beside it."""

from __future__ import annotations

import os
import stat
import tempfile
import time

from kizami_core.messages import Message
from kizami_core.paths import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.errors import KizamiError

_NEW_FILE_MODE = 0o600


class _FileChangedError(Exception):
    """Another program changed the file since it was read."""


def replace_file(
    path: str, original: bytes | None, data: bytes, now: float, *, refusal: type[KizamiError]
) -> str:
    """Replace a file; return the backup's path ("" when there was no file).

    The file's permissions stay, and a symbolic link stays a link.

    Args:
        path: the file; the folder is made if need be.
        original: what was read of it, None for no file.
        data: what it shall hold.
        now: epoch seconds, for the backup's name.
        refusal: the error that is raised where the file holds something else than ``original`` by now, or
            can't be written. Nothing was changed then.
    """
    try:
        return _replace(path, original, data, now)
    except _FileChangedError as error:
        raise refusal(
            Message("{path} was changed by another program just now. Run it again.", path=path)
        ) from error
    except OSError as error:
        raise refusal(
            Message(
                "{path} can't be written ({reason}); it was left as it is. "
                "Free space or mend the permissions of its directory, then try again.",
                path=path,
                reason=error.strerror,
            )
        ) from error


def _replace(path: str, original: bytes | None, data: bytes, now: float) -> str:
    target = os.path.realpath(path)
    make_private_dir(os.path.dirname(target))
    mode = _NEW_FILE_MODE if original is None else stat.S_IMODE(os.stat(target).st_mode)
    temporary = _write_beside(target, data, mode)
    try:
        if _present(target) != original:
            raise _FileChangedError
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
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _back_up(target: str, original: bytes, mode: int, now: float) -> str:
    stem = f"{target}.kizami-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}"
    backup, number = stem, 1
    while os.path.lexists(backup):
        number += 1
        backup = f"{stem}-{number}"
    os.replace(_write_beside(target, original, mode), backup)
    return backup
