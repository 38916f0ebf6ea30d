"""The Hugging Face hub, asked at setup alone: which version of a model there is, and its files."""

from __future__ import annotations

import hashlib
import os
import shutil

from kizami_core.messages import Message
from kizami_core.records import Record
from kizami_hybrid.errors import ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kizami_hybrid.model_files import Progress

_DEFAULT_VERSION = "main"
_REMEDY = Message(
    "Try again, or copy the files from a machine that reaches the hub and run: "
    "kizami setup --hybrid --model-dir DIR"
)


class HubVersion(Record):
    """One version of a repository: its commit, and its files.

    ``sizes`` are bytes; ``checksums`` are SHA-256, of the large files only (the hub knows no others).
    """

    repository: str
    commit: str
    sizes: Mapping[str, int]
    checksums: Mapping[str, str]

    @property
    def files(self) -> list[str]:
        """The paths of all files."""
        return list(self.sizes)


def find_version(repository: str, revision: str, env: Mapping[str, str]) -> HubVersion:
    """Ask the hub which commit a revision is ("" for the newest), so that all files come from the same one.

    Raises:
        ModelError: the hub can't be reached, or has no such model.
    """
    from huggingface_hub import HfApi

    api = HfApi(endpoint=env.get("HF_ENDPOINT") or None)
    try:
        info = api.model_info(repository, revision=revision or _DEFAULT_VERSION, files_metadata=True)
    except Exception as error:  # the client's errors, and those of whatever HTTP library it uses
        raise _hub_error(repository, error) from error
    siblings = info.siblings or []
    return HubVersion(
        repository,
        info.sha or "",
        {sibling.rfilename: sibling.size or 0 for sibling in siblings},
        {sibling.rfilename: sibling.lfs.sha256 for sibling in siblings if sibling.lfs},
    )


def fetch_files(
    version: HubVersion,
    files: Sequence[str],
    target: str,
    env: Mapping[str, str],
    progress: Progress | None,
) -> None:
    """Fetch files of one version into a directory and compare those that the hub has a checksum of.

    Raises:
        ModelError: a file can't be fetched, or is not what the hub says it is.
    """
    from huggingface_hub import hf_hub_download

    total = sum(version.sizes[name] for name in files)
    done = 0
    for name in files:
        try:
            path = hf_hub_download(
                version.repository,
                name,
                revision=version.commit,
                local_dir=target,
                endpoint=env.get("HF_ENDPOINT") or None,
                tqdm_class=_bar_class(progress, done, total),
            )
        except Exception as error:  # as above
            raise _hub_error(version.repository, error) from error
        done += version.sizes[name]
        if progress is not None:
            progress(done, total)
        wanted = version.checksums.get(name)
        with open(path, "rb") as file:
            if wanted and hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                raise ModelError(
                    Message(
                        "{name} of {model} arrived damaged. {remedy}",
                        name=name,
                        model=version.repository,
                        remedy=_REMEDY,
                    )
                )
    shutil.rmtree(os.path.join(target, ".cache"), ignore_errors=True)  # the client's own notes


def _bar_class(progress: Progress | None, done: int, total: int) -> type:
    """Return what the client takes for a progress bar: it draws nothing and tells ``progress``."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # it ships none

    class Bar(tqdm):  # type: ignore[misc]  # as above
        def __init__(self, *args: object, **options: object) -> None:
            options.pop("name", None)  # the client's own bar takes it, tqdm doesn't
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0
            if progress is not None:
                progress(done + int(self.n), total)
            return None

    return Bar


def _hub_error(repository: str, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return ModelError(
        Message(
            "{model} can't be fetched from the Hugging Face hub ({reason}). {remedy}",
            model=repository,
            reason=reason,
            remedy=_REMEDY,
        )
    )
