"""Detached processes: what takes longer than a hook may goes on when the hook and the client are gone."""

from __future__ import annotations

import os
import sys

from kizami_core.json_text import quote
from kizami_core.processes import spawn_detached

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
        spawn_detached(command, env, stdin=reader)
    finally:
        os.close(writer)
        os.close(reader)
