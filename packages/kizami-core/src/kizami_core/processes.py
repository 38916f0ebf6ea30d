"""Detached processes: what goes on when the process that started it, and the client above, are gone."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def spawn_detached(command: list[str], env: Mapping[str, str], *, stdin: int | None = None) -> None:
    """Start a process in a session of its own, with nothing of this one but its environment.

    Args:
        command: a program's path and its arguments.
        env: its environment.
        stdin: a descriptor that it reads from; None for nothing.

    Raises:
        OSError: no process can be started.
    """
    if os.name == "posix":
        source = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        try:
            os.posix_spawn(
                command[0],
                command,
                env,
                file_actions=[
                    source if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,
            )
        except RuntimeError:  # musl's posix_spawn, for one, makes no session, which subprocess does itself
            has_started = False
        else:
            has_started = True
        if has_started:
            return
    import subprocess

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    # Not waited for: when this process has ended it belongs to the system.
    subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(env),
        close_fds=sys.platform == "win32",  # elsewhere what is not meant for others is not inherited anyway
        start_new_session=True,
        creationflags=flags,
    )
