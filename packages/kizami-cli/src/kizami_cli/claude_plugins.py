"""Claude Code's plugins, as far as they run Kizami's hooks (``plugin/`` in the repository)."""

from __future__ import annotations

import json
import os
import shutil

from kizami_core.paths import claude_config_dir, home_dir
from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Plugin(Record):
    """An installed plugin that runs Kizami: its id (``kizami@kizami``), the one project it is for, or ""."""

    name: str
    project: str


def plugins_with_kizami(env: Mapping[str, str]) -> list[Plugin]:
    """Return the installed plugins that run Kizami's hooks, but for those that the person switched off."""
    claude = claude_config_dir(env)
    enabled = read_json(os.path.join(claude, "settings.json")).get("enabledPlugins")
    plugins = read_json(os.path.join(claude, "plugins", "installed_plugins.json")).get("plugins")
    found: list[Plugin] = []
    for name, places in plugins.items() if isinstance(plugins, dict) else ():
        if isinstance(enabled, dict) and enabled.get(name) is False:
            continue
        for place in places if isinstance(places, list) else [places]:
            folder = place.get("installPath") if isinstance(place, dict) else None
            if not isinstance(folder, str):
                continue
            hooks = json.dumps(read_json(os.path.join(folder, "hooks", "hooks.json")))
            plugin = Plugin(name, str(place.get("projectPath") or ""))
            if "kizami" in hooks and "--plugin" in hooks and plugin not in found:
                found.append(plugin)
    return found


def program_of_plugin(env: Mapping[str, str]) -> str:
    """Return the `kizami` that the plugin's hooks find, "" for none: on PATH or where uv and pipx put it."""
    path = os.pathsep.join((env.get("PATH", ""), os.path.join(home_dir(env), ".local", "bin")))
    return shutil.which("kizami", path=path) or ""


def read_json(path: str) -> dict[str, Any]:
    """Return the object in a JSON file, {} for a file that is not there or holds something else."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read().decode("utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
