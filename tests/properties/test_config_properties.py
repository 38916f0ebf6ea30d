import json

from hypothesis import given
from hypothesis import strategies as st

from kizami_core.config import FIELDS, load_config, parse_config
from kizami_core.json_text import parse, quote, string_lists

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
_SECTIONS = sorted({section for section, _ in FIELDS})
_KEYS = sorted({key for _, key in FIELDS})
_SETTINGS = st.dictionaries(st.sampled_from(_KEYS), JSON, max_size=4)
CONFIG = st.dictionaries(st.sampled_from(_SECTIONS), _SETTINGS | JSON)
ENV = {"HOME": "/home/dev"}


@given(CONFIG | st.dictionaries(st.text(max_size=10), JSON, max_size=4))
def test_any_configuration_gives_usable_settings(data):
    config, problems = parse_config(data, ENV)
    assert config.recall_limit >= 0
    assert config.time_decay_half_life_days > 0
    assert 0 <= config.cross_project_penalty <= 1
    assert 0 <= config.min_relevance_score <= 1
    assert config.project_scope in (True, False, "tiered")
    assert all(problem.message for problem in problems)


@given(st.binary(max_size=60) | JSON.map(json.dumps).map(str.encode))
def test_loading_any_bytes_never_raises(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "config.json"
    path.write_bytes(data)
    config, _ = load_config(str(path), ENV)
    assert config.database_path.endswith("memory.db")


@given(JSON)
def test_parse_reads_what_json_writes(value):
    text = json.dumps(value)
    assert repr(parse(text)) == repr(json.loads(text))


@given(st.text())
def test_quoted_text_is_read_back(text):
    assert json.loads(quote(text)) == text
    assert json.loads(string_lists({text: [text, text]})) == {text: [text, text]}
