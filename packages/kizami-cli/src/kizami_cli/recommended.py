"""The recommended settings, which `kizami setup` writes where there is no configuration (spec: 推奨設定).

The defaults in code stay the specification's table; these suit most people better.
"""

from __future__ import annotations

import json
import os

from kizami_core.config import FIELDS, parse_config
from kizami_core.errors import ConfigError
from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_core.paths import make_private_dir
from kizami_core.retrieval.relevance import RECOMMENDED_GATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS: Mapping[str, Mapping[str, object]] = {
    "search": {"mode": "core", "projectScope": "tiered", "crossProjectPenalty": 0.3},
    "hooks": {"recallLimit": 3, "minRelevanceScore": RECOMMENDED_GATE},
}


def write_recommended(path: str, search_mode: str = "core") -> bool:
    """Write the recommended settings, with this mode, unless there is a file; tell whether that was so.

    A file that is there keeps every byte.

    Raises:
        ConfigError: what is there is not JSON, or nothing can be written there.
    """
    try:
        with open(path, "rb") as file:
            parse(file.read().decode("utf-8-sig"))
    except FileNotFoundError:
        pass
    except ValueError as error:
        raise ConfigError(
            Message(
                "{path} is not JSON ({reason}). Repair or delete it, then try again.", path=path, reason=error
            )
        ) from error
    except OSError as error:
        raise ConfigError(
            Message(
                "{path} can't be read ({reason}). Mend its permissions.", path=path, reason=error.strerror
            )
        ) from error
    else:
        return False
    try:
        make_private_dir(os.path.dirname(path))
        # "x": of two setups at once, or behind a dangling link, none overwrites.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            search = {**SETTINGS["search"], "mode": search_mode}
            file.write(json.dumps({**SETTINGS, "search": search}, indent=2) + "\n")
    except OSError as error:
        raise ConfigError(
            Message(
                "{path} can't be written ({reason}). Mend the permissions.", path=path, reason=error.strerror
            )
        ) from error
    return True


def unset(path: str) -> list[str]:
    """Return what the file at ``path`` leaves at a default that is not recommended, as ``key = value``."""
    with open(path, "rb") as file:
        data = parse(file.read().decode("utf-8-sig"))
    defaults, _ = parse_config({}, {})
    found = []
    for section, keys in SETTINGS.items():
        present = data.get(section) if isinstance(data, dict) else None
        for key, value in keys.items():
            is_set = isinstance(present, dict) and key in present
            if not is_set and getattr(defaults, FIELDS[section, key][0]) != value:
                found.append(f"{section}.{key} = {json.dumps(value)}")
    return found
