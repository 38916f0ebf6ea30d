"""Locks between processes: of those that would do the same work, one does it.

A lock is a file that the operating system locks; it is let go of when the process ends, however that happens.
"""

from __future__ import annotations

import os
from contextlib import suppress

from kizami_core.paths import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class ProcessLock:
    """Holds a lock for a block, if no other process holds it.

    ::

        with ProcessLock(path) as lock:
            if lock.is_held:
                ...

    Args:
        path: the file; it is made when it is wanted and taken away at the end.

    Raises:
        OSError: the file can't be made.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self.is_held = False

    def __enter__(self) -> Self:
        """Take the lock unless another process has it."""
        make_private_dir(os.path.dirname(self._path))
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        self.is_held = _try_lock(self._descriptor) and self._is_in_place()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Let go of the lock."""
        if self.is_held:
            with suppress(OSError):  # Windows keeps files that are open
                os.unlink(self._path)
        os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        """Tell whether the locked file is still that of the path: another process may just have ended."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except OSError:
            return False


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
