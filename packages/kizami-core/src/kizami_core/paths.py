"""Where things stand on disk. Every function takes the environment, so nothing here is fixed at import.

Paths are ``str`` and handled by ``os.path``: ``pathlib`` costs 10 ms on the hook path.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def home_dir(env: Mapping[str, str]) -> str:
    """Return the user's home directory (``HOME``, on Windows ``USERPROFILE``)."""
    names = ("USERPROFILE", "HOME") if os.name == "nt" else ("HOME",)
    for name in names:
        if env.get(name):
            return env[name]
    return os.path.expanduser("~")


def _base_dir(env: Mapping[str, str], variable: str, *default: str) -> str:
    # The XDG specification says that a relative value is to be ignored.
    value = env.get(variable, "")
    return value if os.path.isabs(value) else os.path.join(home_dir(env), *default)


def config_path(env: Mapping[str, str]) -> str:
    """Return the path of Kizami's ``config.json``."""
    return os.path.join(_base_dir(env, "XDG_CONFIG_HOME", ".config"), "kizami", "config.json")


def data_dir(env: Mapping[str, str]) -> str:
    """Return the directory of the database, its backups and the error log."""
    return os.path.join(_base_dir(env, "XDG_DATA_HOME", ".local", "share"), "kizami")


def default_database_path(env: Mapping[str, str]) -> str:
    """Return the database path when the configuration names none."""
    return os.path.join(data_dir(env), "memory.db")


def error_log_path(env: Mapping[str, str]) -> str:
    """Return the file that hooks append their one-line errors to."""
    return os.path.join(data_dir(env), "error.log")


def claude_config_dir(env: Mapping[str, str]) -> str:
    """Return Claude Code's own directory: ``CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home_dir(env), ".claude")


def expand_user(path: str, env: Mapping[str, str]) -> str:
    """Expand a leading ``~`` by the given environment and make the path absolute."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = home_dir(env) + path[1:]
    return os.path.abspath(path)


def make_private_dir(path: str) -> None:
    """Create a directory (and its parents) that only its owner can enter, mode 0700 from birth."""
    if os.path.isdir(path):
        return
    make_private_parents = os.path.dirname(path)
    if make_private_parents and make_private_parents != path:
        make_private_dir(make_private_parents)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def append_error_line(path: str, line: str, *, max_bytes: int = 1_000_000) -> None:
    """Append one line to the error log, mode 0600; beyond ``max_bytes`` the older half is dropped.

    Never raises: the log is the last thing that may get in the way of a prompt.
    """
    try:
        make_private_dir(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as log:
            log.write(line.replace("\n", " ").encode("utf-8", "replace") + b"\n")
            size = log.tell()
        if size > max_bytes:
            with open(path, "rb") as log:
                log.seek(size - max_bytes // 2)
                log.readline()
                kept = log.read()
            temporary = f"{path}.{os.getpid()}"
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
                log.write(kept)
            os.replace(temporary, path)
    except OSError:
        return
