"""The section ``embedding`` of the configuration."""

import json

import pytest

from kizami_core.config import ConfigProblem
from kizami_hybrid.settings import EmbeddingSettings, load_settings, parse_settings

ENV = {"HOME": "/home/dev"}
DEFAULT = EmbeddingSettings(
    model="sirasagi62/ruri-v3-30m-ONNX",
    revision="",
    is_quantized=True,
    dimensions=256,
    cache_dir="/home/dev/.cache/kizami/models",
)


def test_defaults_are_those_of_the_specification():
    assert parse_settings({}, ENV) == (DEFAULT, [])
    assert DEFAULT.model_dir == "/home/dev/.cache/kizami/models/sirasagi62--ruri-v3-30m-ONNX/int8"


def test_every_setting_is_taken():
    section = {"model": "me/mine@v2", "quantized": False, "dimensions": 64, "cacheDir": "~/models"}
    settings = EmbeddingSettings(
        model="me/mine", revision="v2", is_quantized=False, dimensions=64, cache_dir="/home/dev/models"
    )
    assert parse_settings(section, ENV) == (settings, [])
    assert settings.model_dir == "/home/dev/models/me--mine/fp32"


@pytest.mark.parametrize(
    ("base", "wanted"), [("/var/cache", "/var/cache/kizami/models"), ("relative", DEFAULT.cache_dir)]
)
def test_cache_lies_where_the_system_says(base, wanted):
    assert parse_settings({}, ENV | {"XDG_CACHE_HOME": base})[0].cache_dir == wanted


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("model", "plain", 'a repository such as "owner/name"'),
        ("model", "../../etc", 'a repository such as "owner/name"'),
        ("model", "owner/..", 'a repository such as "owner/name"'),
        ("model", 7, "a text"),
        ("quantized", "yes", "true or false"),
        ("dimensions", 0, "a whole number from 1 to 8192"),
        ("dimensions", True, "a whole number from 1 to 8192"),
        ("dimensions", "256", "a whole number from 1 to 8192"),
        ("cacheDir", " ", "a text"),
    ],
)
def test_value_that_can_not_be_used_is_its_default_and_a_problem(key, value, wanted):
    problem = ConfigProblem(f"embedding.{key}", f"must be {wanted}; the default is used.")
    assert parse_settings({key: value}, ENV) == (DEFAULT, [problem])


def test_unknown_settings_are_problems():
    problem = ConfigProblem("embedding.size", "is no setting of Kizami; it is ignored.", is_unknown=True)
    assert parse_settings({"size": 1}, ENV) == (DEFAULT, [problem])
    problem = ConfigProblem("embedding", "is not an object; it is ignored.")
    assert parse_settings([], ENV) == (DEFAULT, [problem])


def test_section_is_read_from_the_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"search": {}, "embedding": {"dimensions": 128}}), encoding="utf-8")
    assert load_settings(str(path), ENV) == (DEFAULT.replace(dimensions=128), [])


@pytest.mark.parametrize("data", [None, b"", b"[]", b"\xff", b"{"])
def test_file_that_can_not_be_read_gives_the_defaults(tmp_path, data):
    path = tmp_path / "config.json"
    if data is not None:
        path.write_bytes(data)
    assert load_settings(str(path), ENV) == (DEFAULT, [])
