"""A clock that stands still, for every Python process that finds this folder on PYTHONPATH.

The moment is KIZAMI_DOCS_NOW, in seconds since the epoch. Durations come from a counter in which each look
takes the same time. ``time.monotonic`` goes on: waiting needs it.
"""

from __future__ import annotations

import datetime as dt
import itertools
import os
import time

_SECONDS_A_LOOK = 0.0003


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> _Datetime:
        return cls.fromtimestamp(time.time(), tz)


if "KIZAMI_DOCS_NOW" in os.environ:
    _looks = itertools.count(1)
    time.time = lambda: float(os.environ["KIZAMI_DOCS_NOW"])
    time.perf_counter = lambda: next(_looks) * _SECONDS_A_LOOK
    dt.datetime = _Datetime
