"""Scenes of kizami-hybrid: where it is missing, where only its model is, and where both are there."""

from __future__ import annotations

import os
import sys

from terminal import Terminal

from kizami_cli.app import CommandTable
from kizami_core.paths import config_path
from kizami_hybrid.manifest import Manifest, write_manifest
from kizami_hybrid.settings import load_settings

_HYBRID = "kizami_hybrid"


class _NoHybrid:
    """Finds modules as where kizami-hybrid is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 - Python's
        """Say that the package is not there, and of others nothing."""
        if name.partition(".")[0] == _HYBRID:
            raise ModuleNotFoundError(name=_HYBRID)


def without_hybrid(terminal: Terminal) -> None:
    """Meet what a person meets who has not installed kizami-hybrid."""
    commands = sys.modules[CommandTable.__module__]
    finder = _NoHybrid()
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == _HYBRID}
    brought = commands._entry_points
    for name in hidden:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    commands._entry_points = dict
    try:
        terminal.show("no hybrid", "kizami setup --hybrid", "kizami embedder status")
    finally:
        sys.meta_path.remove(finder)
        commands._entry_points = brought
        sys.modules.update(hidden)


def with_model(terminal: Terminal) -> None:
    """Use the model that lies in the home."""
    terminal.set_up()
    terminal.show("model setup", "kizami setup --hybrid --model-dir ~/ruri-v3-30m", answers="n\n")
    terminal.show("model embed", "kizami embed --dry-run", "kizami embed --backfill")
    terminal.show(
        "model process",
        "kizami embedder start",
        "kizami embedder stop",
        "kizami embedder status",
        ("kizami doctor", "-8:"),
    )


def install_model() -> None:
    """Note a model as installed: enough for what is shown without loading it."""
    settings = load_settings(config_path(os.environ), os.environ)[0]
    os.makedirs(settings.model_dir)
    write_manifest(settings.model_dir, Manifest(settings.model, "df0caf677b97abdc", "", "model.onnx", {}))
