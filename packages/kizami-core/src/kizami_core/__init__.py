"""Kizami's core: Claude Code transcripts into SQLite, and the few past exchanges that matter out of it.

Library users import from here; the names are loaded on first use, so that a hook which needs one module does
not pay for the others.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.errors import KizamiError
    from kizami_core.memory import Memory

__version__ = "0.1.0"
__all__ = ["KizamiError", "Memory", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Memory":
        from kizami_core.memory import Memory

        return Memory
    if name == "KizamiError":
        from kizami_core.errors import KizamiError

        return KizamiError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
