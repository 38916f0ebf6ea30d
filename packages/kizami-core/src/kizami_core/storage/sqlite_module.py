"""CPython's SQLite module without what `import sqlite3` loads besides, which takes 4 ms of every prompt.

The package `sqlite3` adds the reading of dates. Its C module asks ``functools``, which loads ``collections``
and six more, for ``lru_cache`` alone, and that is built in.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType


def _import_alone() -> ModuleType:
    """Import the C module, with a stand-in for ``functools`` where that is not loaded yet.

    A process that has threads has it, so nobody else ever meets the stand-in.

    Raises:
        ImportError: this Python lacks one of the two built-in modules.
        AttributeError: its C module wants more of ``functools``.
    """
    if "functools" in sys.modules:
        import _sqlite3

        return _sqlite3
    from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]  # not in typeshed

    stand_in = type(sys)("functools")
    stand_in.lru_cache = lambda size: lambda made: _lru_cache_wrapper(made, size, False, tuple)  # type: ignore[attr-defined]  # noqa: FBT003
    sys.modules["functools"] = stand_in
    try:
        import _sqlite3
    finally:
        del sys.modules["functools"]
    return _sqlite3


if not TYPE_CHECKING:
    try:
        sqlite3 = _import_alone()
    except (ImportError, AttributeError):  # pragma: no cover - only in Pythons other than CPython
        import sqlite3

__all__ = ["sqlite3"]
