"""The gate in config.json: one number is set, every other character stays."""

from __future__ import annotations

from kizami_cli.config_edit import write_setting


def write_gate(path: str, gate: float, now: float) -> str:
    """Set ``hooks.minRelevanceScore``, from 0 to 1; see ``write_setting``."""
    return write_setting(path, "hooks", "minRelevanceScore", gate, now)
