"""Points in time: stored as UTC text in the one form that SQLite's ``datetime('now')`` writes.

Texts of this form sort like the times they name. ``now`` is passed around as seconds since the epoch.
"""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta

from kizami_core.errors import ConfigError

# No "m": it would be minutes to one person and months to another, and what it deletes does not come back.
_DAYS_IN = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_MAX_DIGITS = 6
_LAST_SECOND = 253_402_300_799.0  # of the year 9999, the last one that the form can hold


def format_utc(seconds: float) -> str:
    """Return an epoch time as UTC ``YYYY-MM-DD HH:MM:SS``, without its fraction, clamped to 1970–9999."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(min(max(seconds, 0.0), _LAST_SECOND)))


def parse_age(text: str) -> float:
    """Read an age such as ``12h``, ``90d`` or ``6w`` as days.

    Raises:
        ConfigError: it is no such text.
    """
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    if unit not in _DAYS_IN or not (number.isascii() and number.isdigit()) or len(number) > _MAX_DIGITS:
        raise ConfigError(f"{text!r} is no age. Write a whole number of hours, days or weeks: 12h, 90d, 6w.")
    return int(number) * _DAYS_IN[unit]


def parse_date(text: str) -> str:
    """Read a date, or a date and a time, as UTC ``YYYY-MM-DD HH:MM:SS``.

    What names no zone is local time, as a person means it: ``2024-01-01`` is the first moment of that day
    where this machine stands. ``2024-01-01T00:00Z`` and ``2024-01-01T00:00+09:00`` are taken as written.

    Raises:
        ConfigError: it is neither.
    """
    try:
        moment = datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"{text!r} is no date. Write 2024-01-31, or 2024-01-31T09:30+09:00.") from None
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")


def parse_since(text: str, now: float) -> str:
    """Read an age, a date, or a date and a time, as the moment (UTC text) from which on something is wanted.

    An age counts back from ``now``, epoch seconds; for the rest see ``parse_date``.

    Raises:
        ConfigError: it is none of these.
    """
    days = _age_or_none(text)
    if days is not None:
        return format_utc(now - days * 86_400)
    try:
        return parse_date(text)
    except ConfigError:
        raise ConfigError(
            f"{text!r} is neither an age nor a date. Write 12h, 90d, 6w or 2024-01-31."
        ) from None


def parse_until(text: str, now: float) -> str:
    """Do the same for the first moment that is no longer wanted: the named day or minute is wanted whole.

    Raises:
        ConfigError: it is no such text.
    """
    begin = parse_since(text, now)
    if _age_or_none(text) is not None:
        return begin
    try:
        try:
            # Counted in local time, where a day may have 23 or 25 hours.
            return parse_date((date.fromisoformat(text.strip()) + timedelta(days=1)).isoformat())
        except ValueError:
            minute = datetime.fromisoformat(begin).replace(second=0) + timedelta(minutes=1)
            return minute.isoformat(sep=" ", timespec="seconds")
    except OverflowError:
        return format_utc(_LAST_SECOND)


def _age_or_none(text: str) -> float | None:
    try:
        return parse_age(text)
    except ConfigError:
        return None


def epoch_seconds(text: str) -> float | None:
    """Return the epoch time of a stored text (UTC unless it names a zone), None for what is no time."""
    moment = _moment(text)
    return None if moment is None else moment.timestamp()


def local_date(text: str) -> str:
    """Return the day of a stored text, ``YYYY-MM-DD`` where this machine stands; no time: as it is."""
    moment = _moment(text)
    return text[:10] if moment is None else moment.astimezone().strftime("%Y-%m-%d")


def local_minute(seconds: float) -> str:
    """Return an epoch time as ``YYYY-MM-DD HH:MM`` where this machine stands."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
