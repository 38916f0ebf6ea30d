"""Values of foreign columns become text that can be stored, whatever they are."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_import.plain_text import items_of, moment_of, text_of

_VALUES = st.one_of(st.none(), st.text(), st.binary(), st.integers(), st.floats())
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=100)
@given(_VALUES)
def test_text_is_clean_and_stays_so(value):
    text = text_of(value)
    assert text_of(text) == text
    assert text.encode("utf-8").decode("utf-8") == text
    assert not any(char < " " and char not in "\t\n" for char in text)


@settings(max_examples=100)
@given(st.one_of(_VALUES, _JSON.map(json.dumps)), st.booleans())
def test_items_of_anything_are_clean_texts(value, is_list_of_names):
    items = items_of(value, is_list_of_names=is_list_of_names)
    assert all(item and text_of(item) == item for item in items)


@settings(max_examples=100)
@given(st.lists(st.text(alphabet="ab 検索.", min_size=1)))
def test_a_list_of_strings_comes_as_it_is(names):
    told = json.dumps(names)
    expected = tuple(name.strip() for name in names if name.strip())
    assert items_of(told, is_list_of_names=True) == items_of(told, is_list_of_names=False) == expected


@settings(max_examples=100)
@given(st.integers(min_value=946_684_800, max_value=4_000_000_000))
def test_a_time_is_the_same_in_seconds_and_milliseconds_and_as_text(seconds):
    moment = moment_of(seconds, None)
    assert moment_of(seconds * 1000, "not a date") == moment
    assert moment_of(None, f"{moment.replace(' ', 'T')}.000Z") == moment


@settings(max_examples=100)
@given(_VALUES, _VALUES)
def test_no_value_is_too_odd_for_a_time(epoch, text):
    assert len(moment_of(epoch, text)) in {0, 19}
