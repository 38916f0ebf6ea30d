"""What is never stored, and never shown from old rows: ``<private>`` regions, secrets, ``.env`` values.

Recall imports this package before every prompt, so it imports none of its modules until a text calls for
them (ARCHITECTURE.md, "The hook path").
"""

from __future__ import annotations

from kizami_core.privacy.triggers import may_hold_private, may_hold_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.records import Turn

__all__ = ["redact", "redact_for_display", "redact_turn"]


def redact(text: str) -> str:
    """Return ``text`` without private regions and secrets. Idempotent; linear in the length of the text."""
    from kizami_core.privacy.private_tags import strip_private
    from kizami_core.privacy.secrets import mask_secrets

    return mask_secrets(strip_private(text))


def redact_for_display(text: str) -> str:
    """Do the same for a row of an older Kizami; ``re`` is imported only where something may be to do."""
    return redact(text) if may_hold_private(text) or may_hold_secret(text) else text


def redact_turn(turn: Turn) -> Turn:
    """Return the turn without private regions and secrets; see ``turn_redaction``."""
    from kizami_core.privacy import turn_redaction

    return turn_redaction.redact_turn(turn)
