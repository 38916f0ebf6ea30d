"""Text that programs put between the words of a conversation, and how it is taken out again."""

from __future__ import annotations

# The block that Kizami adds to a prompt stands in this tag, so that saving never takes it for conversation.
# The writer must not let the closing tag occur inside the block.
MEMORY_TAG = "kizami-memory"

_AFTER_TAG_NAME = frozenset("> \t\r\n")


def strip_memory(text: str) -> str:
    """Remove every block of recalled memories.

    One that is cut off (the client shortens long output) goes to the end of the text, but only where its tag
    begins a line: prose may mention the tag.
    """
    return _strip_tagged(text, MEMORY_TAG, unclosed_too=True)


def strip_injected(text: str) -> str:
    """Remove recalled memories and the client's system reminders."""
    return _strip_tagged(strip_memory(text), "system-reminder")


def strip_editor_context(text: str) -> str:
    """Remove what an editor adds to a prompt: the file that is open, the lines that are selected."""
    return _strip_tagged(_strip_tagged(text, "ide_opened_file"), "ide_selection")


def _strip_tagged(text: str, tag: str, *, unclosed_too: bool = False) -> str:
    opening, closing = f"<{tag}", f"</{tag}>"
    kept: list[str] = []
    done = 0
    at = text.find(opening)
    while at >= 0:
        if text[at + len(opening) : at + len(opening) + 1] not in _AFTER_TAG_NAME:
            at = text.find(opening, at + 1)
            continue
        end = text.find(closing, at)
        if end < 0:
            if unclosed_too and (at == 0 or text[at - 1] == "\n"):
                kept.append(text[done:at])
                done = len(text)
            break
        kept.append(text[done:at])
        done = end + len(closing)
        at = text.find(opening, done)
    kept.append(text[done:])
    return "".join(kept)
