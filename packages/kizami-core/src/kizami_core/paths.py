"""Where things stand on disk. Every function takes the environment, so nothing here is fixed at import.

Paths are ``str`` and handled by ``os.path``: ``pathlib`` costs 10 ms on the hook path.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# What names a place itself; each wins over what a configuration file says.
CONFIG_VARIABLE = "KIZAMI_CONFIG"
DATA_VARIABLE = "KIZAMI_DATA_DIR"
DATABASE_VARIABLE = "KIZAMI_DATABASE"
PATH_VARIABLES = (CONFIG_VARIABLE, DATA_VARIABLE, DATABASE_VARIABLE)
_MAX_FILE_NAME = 200  # characters


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


def named_path(env: Mapping[str, str], variable: str) -> str:
    """Return the path in a variable of Kizami's own, "" unless it is absolute, as for the XDG ones."""
    value = env.get(variable, "")
    return value if os.path.isabs(value) else ""


def config_path(env: Mapping[str, str]) -> str:
    """Return the path of Kizami's ``config.json``: ``KIZAMI_CONFIG``, else by ``XDG_CONFIG_HOME``."""
    base = _base_dir(env, "XDG_CONFIG_HOME", ".config")
    return named_path(env, CONFIG_VARIABLE) or os.path.join(base, "kizami", "config.json")


def data_dir(env: Mapping[str, str]) -> str:
    """Return the directory of all that Kizami keeps: ``KIZAMI_DATA_DIR``, else by ``XDG_DATA_HOME``."""
    base = _base_dir(env, "XDG_DATA_HOME", ".local", "share")
    return named_path(env, DATA_VARIABLE) or os.path.join(base, "kizami")


def default_database_path(env: Mapping[str, str]) -> str:
    """Return the database path when the configuration names none."""
    return os.path.join(data_dir(env), "memory.db")


def error_log_path(env: Mapping[str, str]) -> str:
    """Return the file that hooks append their one-line errors to."""
    return os.path.join(data_dir(env), "error.log")


def recall_log_path(env: Mapping[str, str]) -> str:
    """Return the file that says what each recall did (``recall_log``)."""
    return os.path.join(data_dir(env), "recalls.jsonl")


def shown_dir(env: Mapping[str, str]) -> str:
    """Return the directory of what each running session was shown (``recall_log``)."""
    return os.path.join(data_dir(env), "shown")


def left_out_dir(env: Mapping[str, str]) -> str:
    """Return the directory of marks for sessions that are not to be saved (``left_out``)."""
    return os.path.join(data_dir(env), "left-out")


def session_file(folder: str, session_id: str) -> str:
    """Return a session's file in a folder. Ids are UUIDs; what may be no file's name is spelled in digits."""
    is_plain = session_id.isascii() and session_id.replace("-", "a").isalnum()
    name = session_id if is_plain else "x-" + session_id.encode("utf-8", "replace").hex()
    return os.path.join(folder, name[:_MAX_FILE_NAME])


def run_stamp_path(env: Mapping[str, str], event: str) -> str:
    """Return the file whose time says when the hook of this Claude Code event last ran to its end."""
    return os.path.join(data_dir(env), "runs", event)


def claude_config_dir(env: Mapping[str, str]) -> str:
    """Return Claude Code's own directory: ``CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home_dir(env), ".claude")


def expand_user(path: str, env: Mapping[str, str]) -> str:
    """Expand a leading ``~`` by the given environment and make the path absolute."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = home_dir(env) + path[1:]
    return os.path.abspath(path)


def make_private_dir(path: str) -> None:
    """Create a directory (and its parents) that only its owner can enter, mode 0700 from birth.

    Raises:
        OSError: it can't be made, or something else stands there.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_private_dir(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def touch_run_stamp(env: Mapping[str, str], event: str) -> None:
    """Note that the hook of a Claude Code event ran to its end: one system call but for the first time.

    Never raises; an event whose name is no plain word leaves no stamp.
    """
    if not (event.isascii() and event.isalpha()):
        return
    path = run_stamp_path(env, event)
    try:
        os.utime(path)
    except FileNotFoundError:
        try:
            make_private_dir(os.path.dirname(path))
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError:
            return
    except OSError:
        return


def begin_error_log(path: str) -> None:
    """Create the error log unless it is there: when the disk is full one day, its block holds a line."""
    if not os.path.lexists(path):
        append_error_line(path, "What goes wrong in Kizami's hooks stands here, one line each.")


def append_error_line(path: str, line: str, *, max_bytes: int = 1_000_000) -> None:
    """Append one line to the error log, mode 0600; beyond ``max_bytes`` the older half is dropped.

    On a full disk the older half makes room too. Never raises: the log is the last thing that may get in the
    way of a prompt.
    """
    data = line.replace("\n", " ").encode("utf-8", "replace") + b"\n"
    try:
        make_private_dir(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            is_written = os.write(descriptor, data) == len(data)
            size = os.fstat(descriptor).st_size
        except OSError:
            is_written, size = False, 0
        finally:
            os.close(descriptor)
        if not is_written or size > max_bytes:
            _drop_older_half(path, max_bytes, b"" if is_written else data)
    except OSError:
        return


def _drop_older_half(path: str, max_bytes: int, line: bytes) -> None:
    """Rewrite a log in its place, which takes no space: the newer half of its whole lines, then ``line``."""
    with open(path, "r+b", buffering=0) as log:
        content = log.read()
        content = content[: content.rfind(b"\n") + 1]
        newer = content[-(min(len(content), max_bytes) // 2) :]
        log.seek(0)
        log.write(newer[newer.find(b"\n") + 1 :] + line)
        log.truncate()
