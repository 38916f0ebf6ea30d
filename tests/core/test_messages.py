"""Sentences that remember their template and fields."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.errors import NotFoundError
from kizami_core.messages import Excerpt, Message, listed, part

NOT_FOUND = Message("There is no session {session!r}. `kizami list` shows them.", session="a{b}")


def test_message_is_its_english_sentence():
    assert NOT_FOUND == "There is no session 'a{b}'. `kizami list` shows them."


def test_message_remembers_what_it_was_made_of():
    assert NOT_FOUND.template == "There is no session {session!r}. `kizami list` shows them."
    assert NOT_FOUND.fields == {"session": "a{b}"}


def test_without_fields_braces_stand_for_themselves():
    assert Message('Write {"hooks": {}}.') == 'Write {"hooks": {}}.'


def test_a_field_may_have_any_name_and_hold_a_message():
    nested = Message("{template}, {self}", template=Message("no {name}", name="model"), self=1_024)
    assert nested == "no model, 1024"


def test_numbers_take_the_format_of_the_template():
    assert Message("{bytes:,} bytes", bytes=1_204) == "1,204 bytes"


@given(st.text(), st.text())
def test_values_are_put_in_as_they_are(first, second):
    assert Message("{first}|{second}", first=first, second=second) == f"{first}|{second}"


@pytest.mark.parametrize(
    "of",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],
    ids=["copy", "deep", "pickle"],
)
def test_copy_of_an_error_still_has_its_message(of):
    message = of(NotFoundError(NOT_FOUND)).args[0]
    assert (type(message), message, message.template, message.fields) == (
        Message,
        NOT_FOUND,
        NOT_FOUND.template,
        NOT_FOUND.fields,
    )


def test_listed_texts_stay_messages():
    missing = Message("{name} is missing", name="chunks")
    several = listed([missing, "page 3 is {damaged}"])
    assert several == "chunks is missing; page 3 is {damaged}"
    assert list(several.fields.values()) == [missing, "page 3 is {damaged}"]


def test_last_sentence_of_a_message_is_its_remedy():
    assert part(NOT_FOUND) == ("There is no session 'a{b}'.", "`kizami list` shows them.")


def test_one_sentence_is_a_remedy_alone():
    assert part(Message("Run: kizami setup")) == ("", "Run: kizami setup")
    assert part("Run it again.") == ("", "Run it again.")


def test_halves_are_found_in_a_translation_too():
    found, remedy = part(NOT_FOUND)
    assert isinstance(found, Excerpt)
    assert isinstance(remedy, Excerpt)
    translation = "セッション {b} はありません。`kizami list` で確かめてください。"
    assert found.whole is remedy.whole is NOT_FOUND
    assert found.of(translation) == "セッション {b} はありません。"
    assert remedy.of(translation) == "`kizami list` で確かめてください。"


def test_text_that_is_no_message_is_parted_into_texts():
    halves = part("It failed. Try again.")
    assert [type(half) for half in halves] == [str, str]
    assert halves == ("It failed.", "Try again.")
