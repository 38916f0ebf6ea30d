"""What the commands tell a person, in the language of the command line that runs them."""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.messages import Message


def told(message: Message) -> str:
    """Return a message as ``translate`` of the context's ``obj`` gives it; English where there is none."""
    context = click.get_current_context(silent=True)
    translate = getattr(context.obj if context else None, "translate", str)
    return str(translate(message))
