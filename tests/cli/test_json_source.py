import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_cli import json_source

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@settings(max_examples=100)
@given(value=JSON, layout=LAYOUTS, ascii_only=st.booleans())
def test_parse_agrees_with_the_json_module(value, layout, ascii_only):
    text = json.dumps(value, indent=layout, ensure_ascii=ascii_only)
    node = json_source.parse(f"\n{text} \r\n")
    assert (node.value, node.start, node.end) == (json.loads(text), 1, 1 + len(text))


@settings(max_examples=100)
@given(value=st.dictionaries(st.text(), JSON, max_size=4), layout=LAYOUTS, added=JSON)
def test_removing_what_was_appended_gives_the_text_back(value, layout, added):
    value.pop("added", None)
    text = json.dumps(value, indent=layout, ensure_ascii=False) + "\n"
    longer = json_source.append(text, json_source.parse(text), added, key="added")
    assert json.loads(longer) == {**value, "added": added}
    root = json_source.parse(longer)
    assert json_source.remove(longer, root, len(root.children) - 1) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: a value is expected where the line ends"),
        ('{"a": 1,\n}', "line 2: a key in double quotes is expected where '}' stands"),
        (
            '{\n  // a remark\n  "a": 1\n}',
            "line 2: a key in double quotes is expected where '// a remark' stands",
        ),
        ("[1,]", "line 1: a value is expected where ']' stands"),
        ('{"a" 1}', "line 1: \":\" is expected where '1}' stands"),
        ("[1 2]", 'line 1: "," or "]" is expected where \'2]\' stands'),
        (
            "{'a': 1}",
            "line 1: a key in double quotes is expected where \"{'a': 1}\"".replace("{'a", "'a") + " stands",
        ),
        ('{"a": 1} x', "line 1: the end of the file is expected where 'x' stands"),
        ('{"a": 1, "a": 2}', 'line 1: the key "a" stands twice in one object'),
        ("[NaN]", "line 1: a value is expected where 'NaN]' stands"),
        ('["a\tb"]', "line 1: a value is expected where '\"a\\tb\"]' stands"),
        ("[01]", 'line 1: "," or "]" is expected where \'1]\' stands'),
        ("[" * 300, "it is nested more than 200 levels deep"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text, message):
    with pytest.raises(ValueError) as caught:
        json_source.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, 2]}', '{"a": [1, 2, 3]}'),
        ('{"a": [1,2]}', '{"a": [1,2,3]}'),
        ('{"a": [1]}', '{"a": [1, 3]}'),
        ('{"a": []}', '{"a": [3]}'),
        ('{\n  "a": []\n}', '{\n  "a": [\n    3\n  ]\n}'),
        ('{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}', '{\r\n\t"a": [\r\n\t\t1,\r\n\t\t3\r\n\t]\r\n}'),
    ],
)
def test_an_item_takes_the_layout_of_its_list(text, expected):
    items = json_source.parse(text).member("a")
    assert json_source.append(text, items, 3) == expected


def test_a_replaced_value_takes_the_layout_of_the_old_one():
    text = '{\n  "a": {\n    "b": 1\n  },\n  "c": {"d": 1.50}\n}'
    shorter = json_source.replace(text, json_source.parse(text).member("c"), {"é": [1]})
    assert shorter == '{\n  "a": {\n    "b": 1\n  },\n  "c": {"é": [1]}\n}'
    longer = json_source.replace(text, json_source.parse(text).member("a"), {"é": [1]})
    assert longer == '{\n  "a": {\n    "é": [\n      1\n    ]\n  },\n  "c": {"d": 1.50}\n}'


@pytest.mark.parametrize(
    ("index", "expected"),
    [(0, '{"b": 2,\n "c": 3}'), (1, '{"a": 1,\n "c": 3}'), (2, '{"a": 1, "b": 2}')],
)
def test_a_member_goes_with_one_comma(index, expected):
    text = '{"a": 1, "b": 2,\n "c": 3}'
    assert json_source.remove(text, json_source.parse(text), index) == expected
