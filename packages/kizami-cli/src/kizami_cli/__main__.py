"""Where the `kizami` program starts: a hook, or the command line.

``sys.argv`` is looked at before anything else is imported, because `kizami recall --stdin` runs before
every prompt that a person sends; click and rich together cost more than the whole recall (ARCHITECTURE.md,
"The hook path").
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_HOOKS = ("recall", "save", "inject")
# Allocations between two searches for garbage in cycles, of which a hook makes next to none.
_GARBAGE_THRESHOLD = 100_000
_PIPE_BYTES = 65_536
_OPTIONS_WITH_VALUE = ("--config", "--project", "--lang", "--plugin")


def hook_name(arguments: Sequence[str]) -> str:
    """Return which hook these arguments start ("" for none): its name, anywhere with ``--stdin``."""
    if "--stdin" not in arguments:
        return ""
    is_value = False
    for argument in arguments:
        if not is_value and not argument.startswith("-"):
            return argument if argument in _HOOKS else ""
        is_value = argument in _OPTIONS_WITH_VALUE
    return ""


def main() -> None:
    """Run the program. A hook always ends with exit code 0: code 2 would erase the person's prompt."""
    arguments = sys.argv[1:]
    hook = hook_name(arguments)
    if not hook:
        _run_command()
        return
    gc.set_threshold(_GARBAGE_THRESHOLD)
    try:
        if os.environ.get("KIZAMI_DISABLE", "0") not in ("", "0"):
            from kizami_cli.hooks import leave_session_out

            leave_session_out(hook, os.environ)
        elif not _is_done_elsewhere(hook, arguments):
            from kizami_cli.hooks import run_hook

            run_hook(hook, arguments, os.environ)
    except BaseException as error:  # noqa: BLE001 - even a broken installation must not cost the prompt
        if sys.stderr is not None:
            sys.stderr.write(f"kizami {hook}: {type(error).__name__}: {error}\n")
    finally:
        # Not sys.exit: Python would flush stdout once more, and a reader that has gone makes that code 120.
        os._exit(0)


def _is_done_elsewhere(hook: str, arguments: Sequence[str]) -> bool:
    """Tell whether this is a hook of the plugin (``--plugin EVENT``) that a settings file runs as well."""
    if "--plugin" not in arguments[:-1]:
        return False
    from kizami_cli.standing_aside import stands_aside

    if not stands_aside(arguments[arguments.index("--plugin") + 1], hook, os.environ):
        return False
    # Read all the same: a client that writes to a closed pipe would report an error.
    while sys.stdin is not None and os.read(sys.stdin.fileno(), _PIPE_BYTES):
        pass
    return True


def _run_command() -> None:
    try:
        from kizami_cli.app import app

        app(prog_name="kizami")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
