"""The section ``embedding`` of the configuration: which model, and where its files lie.

Read by the hooks too, so nothing here imports more than core does (ARCHITECTURE.md, "The hook path").
"""

from __future__ import annotations

import os

from kizami_core.config import ConfigProblem, Setting, UnfitValue
from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_core.paths import expand_user, home_dir
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_MODEL = "sirasagi62/ruri-v3-30m-ONNX"
_MAX_DIMENSIONS = 8192


class EmbeddingSettings(Record):
    """Every setting of the section, checked.

    ``model`` is a repository of the Hugging Face hub, ``revision`` what stood after an ``@`` ("" for none).
    """

    model: str
    revision: str
    is_quantized: bool
    dimensions: int
    cache_dir: str

    @property
    def model_dir(self) -> str:
        """The directory that holds the files of this model and their manifest."""
        precision = "int8" if self.is_quantized else "fp32"
        return os.path.join(self.cache_dir, self.model.replace("/", "--"), precision)


def load_settings(path: str, env: Mapping[str, str]) -> tuple[EmbeddingSettings, list[ConfigProblem]]:
    """Read the section from the configuration file; what can't be used is its default, and a problem.

    A file that can't be read is no problem of this section: core's loader tells of it.
    """
    try:
        with open(path, "rb") as file:
            data = parse(file.read().decode("utf-8").removeprefix("\ufeff"))  # as core reads it
    except (OSError, ValueError):
        data = {}
    section = data.get("embedding", {}) if isinstance(data, dict) else {}
    return parse_settings(section, env)


def known_settings(env: Mapping[str, str]) -> list[Setting]:
    """Return the section's settings for `kizami config` (the entry points ``kizami.settings``)."""

    def reader(key: str) -> Callable[[object], object]:
        def read(value: object) -> object:
            if wanted := _unmet(key, value):
                raise UnfitValue(wanted)
            return value

        return read

    return [Setting(f"embedding.{key}", default, reader(key)) for key, default in _defaults(env).items()]


def parse_settings(section: object, env: Mapping[str, str]) -> tuple[EmbeddingSettings, list[ConfigProblem]]:
    """Check the parsed section; see ``load_settings``."""
    defaults = _defaults(env)
    problems: list[ConfigProblem] = []
    if not isinstance(section, dict):
        problems.append(ConfigProblem("embedding", Message("is not an object; it is ignored.")))
        section = {}
    values = dict(defaults)
    for key, value in section.items():
        if key not in defaults:
            message = Message("is no setting of Kizami; it is ignored.")
            problems.append(ConfigProblem(f"embedding.{key}", message, is_unknown=True))
        elif wanted := _unmet(key, value):
            message = Message("must be {wanted}; the default is used.", wanted=wanted)
            problems.append(ConfigProblem(f"embedding.{key}", message))
        else:
            values[key] = value
    model, _, revision = str(values["model"]).partition("@")
    settings = EmbeddingSettings(
        model=model,
        revision=revision,
        is_quantized=bool(values["quantized"]),
        dimensions=int(values["dimensions"]),  # type: ignore[call-overload]  # passed its check
        cache_dir=expand_user(str(values["cacheDir"]), env),
    )
    return settings, problems


def _defaults(env: Mapping[str, str]) -> dict[str, object]:
    return {
        "model": DEFAULT_MODEL,
        "quantized": True,
        "dimensions": 256,
        "cacheDir": _default_cache_dir(env),
    }


def _unmet(key: str, value: object) -> str:
    """Return what a value should have been, "" when it is that."""
    if key == "quantized":
        return "" if isinstance(value, bool) else Message("true or false")
    if key == "dimensions":
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_DIMENSIONS:
            return ""
        return Message("a whole number from {low} to {high}", low=1, high=_MAX_DIMENSIONS)
    if not isinstance(value, str) or not value.strip():
        return Message("a text")
    is_fit = key != "model" or _is_repository(value)
    return "" if is_fit else Message('a repository such as "owner/name"')


def _is_repository(value: str) -> bool:
    """Tell whether a name is ``owner/name`` or ``owner/name@revision``, which can't lead out of the cache."""
    owner, slash, name = value.partition("@")[0].partition("/")
    return bool(slash) and all(
        part.isascii() and part.translate({ord(mark): None for mark in "-_."}).isalnum()
        for part in (owner, name)
    )


def _default_cache_dir(env: Mapping[str, str]) -> str:
    base = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification says that a relative value is to be ignored
        base = os.path.join(home_dir(env), ".cache")
    return os.path.join(base, "kizami", "models")
