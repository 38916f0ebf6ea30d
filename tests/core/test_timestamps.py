import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.errors import ConfigError
from kizami_core.timestamps import epoch_seconds, format_utc, local_weeks, parse_since, parse_until
from memories import NOW

needs_tzset = pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system can't change its zone")


@pytest.fixture
def in_zone(monkeypatch):
    def change(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield change
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


@needs_tzset
@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-11-01", "2026-10-31 15:00:00", "2026-11-01 15:00:00"),
        ("2026-11-01T12:00", "2026-11-01 03:00:00", "2026-11-01 03:01:00"),
        ("2026-11-01 12:00:30", "2026-11-01 03:00:30", "2026-11-01 03:01:00"),
        ("2026-11-01T12:00Z", "2026-11-01 12:00:00", "2026-11-01 12:01:00"),
        ("7d", "2025-12-25 00:00:00", "2025-12-25 00:00:00"),
        ("12h", "2025-12-31 12:00:00", "2025-12-31 12:00:00"),
        (" 2W ", "2025-12-18 00:00:00", "2025-12-18 00:00:00"),
        ("9999-12-31", "9999-12-30 15:00:00", "9999-12-31 23:59:59"),
    ],
)
def test_dates_are_local_and_the_last_day_or_minute_is_wanted_whole(in_zone, text, since, until):
    in_zone("Asia/Tokyo")
    assert (parse_since(text, NOW), parse_until(text, NOW)) == (since, until)


@needs_tzset
def test_a_day_of_25_hours_is_wanted_whole(in_zone):
    in_zone("America/New_York")
    assert parse_since("2026-11-01", NOW) == "2026-11-01 04:00:00"
    assert parse_until("2026-11-01", NOW) == "2026-11-02 05:00:00"


@pytest.mark.parametrize("parse", [parse_since, parse_until])
@pytest.mark.parametrize("text", ["soon", "7m", "2026-13-01", "", "0001-01-01T00:00+14:00"])
def test_what_is_no_time_is_refused_with_what_to_write(parse, text):
    with pytest.raises(ConfigError, match=r"neither an age nor a date\. Write 12h, 90d, 6w or 2024-01-31\."):
        parse(text, NOW)


@given(st.datetimes(timezones=st.just(UTC)))
def test_stored_times_are_read_like_datetime_reads_them(moment):
    moment = moment.replace(microsecond=0)
    assert epoch_seconds(moment.replace(tzinfo=None).isoformat(sep=" ")) == moment.timestamp()


@pytest.mark.parametrize(
    "text",
    [
        *("2023-02-29 00:00:00", "2024-13-01 00:00:00", "2024-04-31 00:00:00", "2024-01-01 24:00:00"),
        *("0000-01-01 00:00:00", "2024-00-01 00:00:00", "２024-01-01 00:00:00", "2024:01:01 00-00-00", ""),
    ],
)
def test_what_is_no_time_has_no_seconds(text):
    assert epoch_seconds(text) is None


def test_other_forms_of_a_time_are_read_too():
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp()
    forms = ("2024-02-29 12:00:00", "2024-02-29T12:00:00Z", "2024-02-29T21:00:00+09:00")
    assert [epoch_seconds(form) for form in forms] == [noon] * 3


@needs_tzset
def test_weeks_begin_on_monday_midnight_where_the_machine_stands(in_zone):
    in_zone("Asia/Tokyo")  # where NOW is Thursday, 9 o'clock
    assert [format_utc(begin) for begin in local_weeks(NOW, 3)] == [
        "2025-12-14 15:00:00",
        "2025-12-21 15:00:00",
        "2025-12-28 15:00:00",
    ]


@needs_tzset
def test_a_week_with_an_hour_more_or_less_begins_at_midnight_too(in_zone):
    in_zone("Europe/Berlin")
    april = epoch_seconds("2026-04-01 12:00:00")
    assert [format_utc(begin) for begin in local_weeks(april, 2)] == [
        "2026-03-22 23:00:00",
        "2026-03-29 22:00:00",
    ]
