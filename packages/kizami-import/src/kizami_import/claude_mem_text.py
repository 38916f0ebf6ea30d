"""Rows of claude-mem as text: the observer's notes read like answers, below what a person asked."""

from __future__ import annotations

import re

from kizami_core.records import Turn
from kizami_core.transcript.injected import strip_injected
from kizami_core.transcript.rendering import render_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# What clients and claude-mem itself put into prompts and outputs; nobody said it.
_NAMES = "claude-mem-context|system_instruction|system-instruction|persisted-output|system-reminder"
_TAGGED = re.compile(rf"<({_NAMES})\b[^>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(rf"<(?:{_NAMES})\b", re.IGNORECASE)


def exchange(prompt: str, answer: str) -> str:
    """Return a prompt and what followed as the text of a turn; either may be ""."""
    turn = Turn("", "", _said(prompt), [_said(answer)] if answer else [], "", 0, 0)
    return render_turn(turn, head_lines=0, tail_lines=0)


def observation(
    *,
    title: str,
    subtitle: str,
    body: str,
    facts: Sequence[str],
    modified: Sequence[str],
    read: Sequence[str],
) -> str:
    """Return an observation: its title, what happened, the facts, the files. "" where it says nothing."""
    if not (title or subtitle or body or facts):
        return ""
    head = "\n".join(filter(None, (title, subtitle)))
    listed = "\n".join(f"- {fact}" for fact in facts)
    return "\n\n".join(filter(None, (head, body, listed, _files("Modified", modified), _files("Read", read))))


def summary(parts: Sequence[tuple[str, str]], *, modified: Sequence[str], read: Sequence[str]) -> str:
    """Return a summary: each part that holds something behind its label. "" where none does."""
    told = [f"{label}: {text}" if label else text for label, text in parts if text]
    files = (_files("Modified", modified), _files("Read", read))
    return "\n\n".join((*told, *filter(None, files))) if told else ""


def _files(label: str, paths: Sequence[str]) -> str:
    return f"{label}: {', '.join(paths)}" if paths else ""


def _said(text: str) -> str:
    text = strip_injected(text)
    return _TAGGED.sub("", text).strip() if _OPENING.search(text) else text.strip()
