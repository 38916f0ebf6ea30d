"""Which search modes this installation can run (``search.mode`` in the configuration)."""

from __future__ import annotations

_MODES = ("core",)


def mode_problem(mode: str) -> str:
    """Say why a mode can't run, "" when it can. The search itself then goes on in core mode."""
    if mode in _MODES:
        return ""
    if mode == "hybrid":
        return 'search.mode is "hybrid", but kizami-hybrid is not installed; core mode is used.'
    return f'search.mode must be "core" or "hybrid", not "{mode}"; core mode is used.'
