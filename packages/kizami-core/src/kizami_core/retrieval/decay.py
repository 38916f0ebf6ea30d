"""Time decay: newer memories come first (spec: 時間減衰)."""

from __future__ import annotations

SECONDS_PER_DAY = 86_400.0


def decay(age_seconds: float, half_life_days: float) -> float:
    """Return 2^(−age / half-life), in (0, 1]; a time in the future counts as now.

    Beyond a thousand half-lives the result is 0.0.
    """
    half_lives = max(0.0, age_seconds) / (half_life_days * SECONDS_PER_DAY)
    return 0.0 if half_lives > 1000 else 0.5**half_lives  # noqa: PLR2004 - floats underflow there anyway


def freshness(age_seconds: float, half_life_days: float) -> float:
    """Return the factor that orders hits: (1 + decay) / 2.

    Age alone may halve a hit but never bury it: the only answer to a question is often months old.
    """
    return (1.0 + decay(age_seconds, half_life_days)) / 2.0
