"""One setting changed in config.json: every other character stays."""

from __future__ import annotations

from kizami_cli import json_source
from kizami_cli.file_replacement import replace_file
from kizami_core.errors import ConfigError
from kizami_core.messages import Message

_BOM = b"\xef\xbb\xbf"


def write_setting(path: str, section: str, key: str, value: object, now: float) -> str:
    """Set ``section.key``; return the path of the backup ("" when there was no file).

    Args:
        path: the configuration file; it need not exist.
        section: made where it is missing.
        key: of the section.
        value: any JSON value.
        now: epoch seconds, for the backup's name.

    Raises:
        ConfigError: the file is no JSON object, the section in it is none, or it can't be read or written; it
            was left as it is.
    """
    original = _read(path)
    text = _with_setting(path, b"{}\n" if original is None else original, section, key, value)
    return _replace(path, original, text, now)


def remove_setting(path: str, section: str, key: str, now: float) -> str | None:
    """Take ``section.key`` out; return the path of the backup, None where it was not set.

    Raises:
        ConfigError: as ``write_setting``.
    """
    original = _read(path)
    if original is None:
        return None
    text, _, found = _parsed(path, original, section)
    if found is None or key not in found.keys:
        return None
    return _replace(path, original, json_source.remove(text, found, found.keys.index(key)), now)


def _replace(path: str, original: bytes | None, text: str, now: float) -> str:
    mark = _BOM if (original or b"").startswith(_BOM) else b""
    return replace_file(path, original, mark + text.encode(), now, refusal=ConfigError)


def check_editable(path: str, section: str) -> None:
    """Look whether ``write_setting`` could change a setting of this section; for what it raises see there."""
    original = _read(path)
    if original is not None:
        _with_setting(path, original, section, "", None)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            Message(
                "{path} can't be read ({reason}). Mend its permissions.", path=path, reason=error.strerror
            )
        ) from error


def _with_setting(path: str, original: bytes, section: str, key: str, value: object) -> str:
    text, root, found = _parsed(path, original, section)
    if found is None:
        return json_source.append(text, root, {key: value}, key=section)
    present = found.member(key)
    if present is None:
        return json_source.append(text, found, value, key=key)
    return json_source.replace(text, present, value)


def _parsed(
    path: str, original: bytes, section: str
) -> tuple[str, json_source.Node, json_source.Node | None]:
    """Return a file's text, its object, and the section's where there is one."""
    try:
        text = original.decode("utf-8-sig")
        root = json_source.parse(text)
    except ValueError as error:
        raise ConfigError(
            Message(
                "{path} is not JSON ({reason}); it was left as it is. Repair or delete it, then try again.",
                path=path,
                reason=error,
            )
        ) from error
    found = root.member(section)
    if root.kind != "object" or (found is not None and found.kind != "object"):
        what = Message("the file") if root.kind != "object" else f'"{section}"'
        raise ConfigError(
            Message(
                "{path}: {what} is not an object; the file was left as it is. Repair it, then try again.",
                path=path,
                what=what,
            )
        )
    return text, root, found
