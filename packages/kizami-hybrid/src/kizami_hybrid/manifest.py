"""The manifest: what a model's directory must hold, written when the model was installed.

The hooks read it to know whether there is a model, and which: nothing here imports more than core does.
"""

from __future__ import annotations

import os

from kizami_core.json_text import parse, quote
from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_hybrid.errors import ModelMissingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST = "kizami-manifest.json"


class Manifest(Record):
    """What was installed.

    ``revision`` is a digest of the files that decide the vectors, ``commit`` the hub's name of their version
    ("" for files that came from a directory). ``checksums`` are SHA-256 by path within the directory.
    """

    model: str
    revision: str
    commit: str
    model_file: str
    checksums: Mapping[str, str]


def read_manifest(model_dir: str) -> Manifest:
    """Return the manifest of an installed model.

    Raises:
        ModelMissingError: there is none, or it can't be read.
    """
    path = os.path.join(model_dir, MANIFEST)
    try:
        with open(path, "rb") as file:
            data = parse(file.read().decode())
        return Manifest(**data)  # type: ignore[arg-type]  # a wrong shape raises
    except FileNotFoundError:
        raise ModelMissingError(
            Message(
                "The embedding model is not installed ({model_dir} holds none). Run: kizami setup --hybrid",
                model_dir=model_dir,
            )
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise ModelMissingError(
            Message(
                "{path} can't be read ({reason}), so the embedding model can't be used. Install it "
                "again: kizami setup --hybrid",
                path=path,
                reason=error,
            )
        ) from None


def write_manifest(model_dir: str, manifest: Manifest) -> None:
    """Write the manifest: the last thing that an installation does."""
    texts = ("model", "revision", "commit", "model_file")
    fields = [f'"{name}": {quote(getattr(manifest, name))}' for name in texts]
    sums = ", ".join(f"{quote(name)}: {quote(digest)}" for name, digest in manifest.checksums.items())
    fields.append(f'"checksums": {{{sums}}}')
    with open(os.path.join(model_dir, MANIFEST), "w", encoding="utf-8") as file:
        file.write("{" + ", ".join(fields) + "}\n")
