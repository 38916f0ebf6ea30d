"""Whether a prompt asks about the past: "why did we …?", 前に決めた …だっけ. Who asks so expects a memory."""

from __future__ import annotations

_END_CHARACTERS = 600  # at each end of the prompt are read: a question stands before or after what is pasted
_PUNCTUATION = ".,;:!?\"'()[]{}<>`…—-"
# Written from general knowledge, not from any evaluation set.
_JAPANESE = (
    *("っけ", "前に", "以前", "前回", "この前", "先日", "こないだ", "この間", "昔", "覚え", "当時"),
    *("決めた", "決まった", "でしたか", "ましたか", "だったか", "だったの"),
    *("だった?", "だったよね", "でした?", "してた?", "してたよね", "したんだ"),
    *("あの時", "あのとき", "経緯", "いつだった"),
)
# Where something is asked; chat is full of よかった and わかった.
_IN_A_QUESTION = "かった"
_ENGLISH = (
    *("did we", "did i", "did you", "what was", "what were", "why was", "why were", "was it", "were we"),
    *("previous", "previously", "last time", "last week", "remember", "remind", "before", "earlier", "again"),
    *("we decided", "we decide", "we use", "we used", "we chose", "had we", "have we", "we had", "used to"),
)


def asks_about_the_past(text: str) -> bool:
    """Tell whether a folded prompt speaks of what was before."""
    if len(text) > 2 * _END_CHARACTERS:
        text = f"{text[:_END_CHARACTERS]} {text[-_END_CHARACTERS:]}"
    if any(mark in text for mark in _JAPANESE) or (_IN_A_QUESTION in text and is_question(text)):
        return True
    words = f" {' '.join(word.strip(_PUNCTUATION) for word in text.split())} "
    return any(f" {mark} " in words for mark in _ENGLISH)


def is_question(text: str) -> bool:
    """Tell whether a folded prompt asks something, by its marks."""
    return "?" in text or "っけ" in text
