"""Detached processes: what takes longer than a hook may goes on when the hook and the client are gone."""

from __future__ import annotations

import os
import sys

from kizami_core.json_text import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The key that tells a detached process from a hook; nothing that Claude Code sends has a name like this.
FINISH = "kizami_finish"


def start_detached(fields: Mapping[str, str], options: Sequence[str], env: Mapping[str, str]) -> None:
    """Start a process that finishes what a hook found to do, and return at once.

    It is `kizami save --stdin` with ``FINISH`` among its fields, in a session of its own and with nothing of
    this process's but its environment, so that no end of the client reaches it.

    Args:
        fields: the hook's input as far as it is needed: a few kilobytes of paths.
        options: options of the command line to go with it.
        env: the environment.

    Raises:
        OSError: no process can be started.
    """
    command = [sys.executable, "-P", "-m", "kizami_cli", "save", "--stdin", *options]
    pairs = {**fields, FINISH: "1"}.items()
    data = ("{" + ",".join(f"{quote(key)}:{quote(value)}" for key, value in pairs) + "}").encode()
    reader, writer = os.pipe()
    try:
        os.write(writer, data)
        _spawn(command, reader, env)
    finally:
        os.close(writer)
        os.close(reader)


def _spawn(command: list[str], reader: int, env: Mapping[str, str]) -> None:
    if os.name == "posix":
        try:
            os.posix_spawn(
                command[0],
                command,
                env,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reader, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,
            )
        except NotImplementedError:  # this system's C library can't make a session in one step
            pass
        else:
            return
    import subprocess

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    # Not waited for: when this process has ended it belongs to the system.
    subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(env),
        close_fds=sys.platform == "win32",  # elsewhere what is not meant for others is not inherited anyway
        start_new_session=True,
        creationflags=flags,
    )
