"""Points in time: stored as UTC text in the one form that SQLite's ``datetime('now')`` writes.

Texts of this form sort like the times they name. ``now`` is passed around as seconds since the epoch.
``datetime`` is imported where it is needed: a recall that stays silent does without (ARCHITECTURE.md, "The
hook path").
"""

from __future__ import annotations

import time

from kizami_core.errors import ConfigError
from kizami_core.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

# No "m": it would be minutes to one person and months to another, and what it deletes does not come back.
_DAYS_IN = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_MAX_DIGITS = 6
_DAY_SECONDS = 86_400
_LENGTH = len("2024-01-31 09:30:00")
# The 29th of February is left to ``datetime``.
_DAYS_OF_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_BEFORE_1970 = 719_468  # from 0000-03-01
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
        raise ConfigError(
            Message(
                "{text!r} is no age. Write a whole number of hours, days or weeks: 12h, 90d, 6w.", text=text
            )
        )
    return int(number) * _DAYS_IN[unit]


def parse_date(text: str) -> str:
    """Read a date, or a date and a time, as UTC ``YYYY-MM-DD HH:MM:SS``.

    What names no zone is local time, as a person means it: ``2024-01-01`` is the first moment of that day
    where this machine stands. ``2024-01-01T00:00Z`` and ``2024-01-01T00:00+09:00`` are taken as written.

    Raises:
        ConfigError: it is neither.
    """
    from datetime import UTC, datetime, timedelta

    try:
        written = datetime.fromisoformat(text.strip())
        try:
            moment = written.astimezone(UTC)
        except (ValueError, OverflowError):
            # At the end of the calendar Python looks for the clock's changes beyond it.
            week = timedelta(days=7 if written.year > 1 else -7)
            moment = (written - week).astimezone(UTC) + week
    except (ValueError, OverflowError):
        raise ConfigError(
            Message("{text!r} is no date. Write 2024-01-31, or 2024-01-31T09:30+09:00.", text=text)
        ) from None
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")


def parse_since(text: str, now: float) -> str:
    """Read an age, a date, or a date and a time, as the moment (UTC text) from which on something is wanted.

    An age counts back from ``now``, epoch seconds; for the rest see ``parse_date``.

    Raises:
        ConfigError: it is none of these.
    """
    days = _age_or_none(text)
    if days is not None:
        return format_utc(now - days * _DAY_SECONDS)
    try:
        return parse_date(text)
    except ConfigError:
        raise ConfigError(
            Message("{text!r} is neither an age nor a date. Write 12h, 90d, 6w or 2024-01-31.", text=text)
        ) from None


def parse_until(text: str, now: float) -> str:
    """Do the same for the first moment that is no longer wanted: the named day or minute is wanted whole.

    Raises:
        ConfigError: it is no such text.
    """
    from datetime import date, datetime, timedelta

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
    parts = (text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:])
    if len(text) == _LENGTH and text[4::3] == "-- ::" and text.isascii() and all(map(str.isdigit, parts)):
        year, month, day, hour, minute, second = map(int, parts)
        is_day = year > 0 and 0 < month <= len(_DAYS_OF_MONTHS) and 0 < day <= _DAYS_OF_MONTHS[month - 1]
        if is_day and hour < 24 and minute < 60 and second < 60:  # noqa: PLR2004
            seconds = hour * 3600 + minute * 60 + second
            return float(_days_since_1970(year, month, day) * _DAY_SECONDS + seconds)
    moment = _moment(text)
    return None if moment is None else moment.timestamp()


def _days_since_1970(year: int, month: int, day: int) -> int:
    """Count days of the Gregorian calendar, from years that begin in March, so that a leap day ends one."""
    year -= month < 3  # noqa: PLR2004
    days_of_months = (153 * ((month + 9) % 12) + 2) // 5
    leap_days = year // 4 - year // 100 + year // 400
    return year * 365 + leap_days + days_of_months + day - 1 - _DAYS_BEFORE_1970


def local_date(text: str) -> str:
    """Return the day of a stored text, ``YYYY-MM-DD`` where this machine stands; no time: as it is."""
    moment = _moment(text)
    return text[:10] if moment is None else moment.astimezone().strftime("%Y-%m-%d")


def local_minute(seconds: float) -> str:
    """Return an epoch time as ``YYYY-MM-DD HH:MM`` where this machine stands."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def local_weeks(now: float, number: int) -> list[float]:
    """Return when each of the last weeks began where this machine stands, the oldest first, this one last.

    A week begins with Monday. The times are seconds since the epoch.
    """
    from datetime import UTC, datetime, timedelta

    today = datetime.fromtimestamp(now, UTC).astimezone().date()
    monday = today - timedelta(days=today.weekday())
    # Counted in days of the calendar, because a week may have an hour more or less.
    days = (monday - timedelta(weeks=weeks) for weeks in reversed(range(number)))
    return [datetime(day.year, day.month, day.day).astimezone().timestamp() for day in days]


def _moment(text: str) -> datetime | None:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
