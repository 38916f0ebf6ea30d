"""What kind of memory lies at a path."""

from __future__ import annotations

import os

from kizami_core.errors import StorageError
from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_import.claude_mem_rows import is_claude_mem
from kizami_import.snapshot import is_sqlite, snapshot
from kizami_import.typescript_rows import is_typescript
from kizami_import.typescript_store import is_record, store_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["claude-mem", "typescript"]

_FIRST_LINES = 20


def detect(path: str) -> Kind | None:
    """Return whose memory a file or folder is; None for one that nothing here can import.

    A database is copied to be looked at: one that Kizami has open itself must not be asked about.

    Raises:
        StorageError: it can't be read.
    """
    if os.path.isdir(path):
        if os.path.exists(os.path.join(path, "claude-mem.db")):
            return "claude-mem"
        return "typescript" if any(map(_is_store_file, store_files(path))) else None
    if not is_sqlite(path):
        return "typescript" if _is_store_file(path) else None
    with snapshot(path) as connection:
        if is_claude_mem(connection):
            return "claude-mem"
        return "typescript" if is_typescript(connection) else None


def _is_store_file(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            lines = [file.readline() for _ in range(_FIRST_LINES)]
    except OSError as error:
        raise StorageError(
            Message(
                "{path} can't be read ({reason}). Mend its permissions.", path=path, reason=error.strerror
            )
        ) from error
    for line in filter(bytes.strip, lines):
        try:
            record = parse(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        if is_record(record):
            return True
    return False
