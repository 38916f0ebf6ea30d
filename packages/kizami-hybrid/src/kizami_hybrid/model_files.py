"""The files of a model: fetched or copied once, at setup; checked and loaded without a network ever after.

::

    <cacheDir>/<owner>--<name>/<int8 or fp32>/
        kizami-manifest.json    what was installed, with the SHA-256 of every file
        onnx/model_quantized.onnx, tokenizer.json, …

A directory is complete or not there: an installation fills one beside it, tries the model, and renames.
"""

from __future__ import annotations

import hashlib
import os
import shutil

from kizami_core.locks import ProcessLock
from kizami_core.messages import Message
from kizami_core.paths import make_private_dir
from kizami_hybrid.errors import ModelDamagedError, ModelError, ModelMissingError
from kizami_hybrid.manifest import Manifest, read_manifest, write_manifest
from kizami_hybrid.prefixes import PROMPTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kizami_hybrid.ruri import RuriEmbedder
    from kizami_hybrid.settings import EmbeddingSettings

    # Called with the bytes done and the bytes there are.
    Progress = Callable[[int, int], None]

# The names under which conversions keep the model, the likeliest first.
_QUANTIZED = ("onnx/model_quantized.onnx", "onnx/model_int8.onnx", "model_quantized.onnx", "model_int8.onnx")
_FULL = ("onnx/model.onnx", "model.onnx")
_TOKENIZER = "tokenizer.json"
# Taken if they are there: how many tokens the model takes, what stands before a text.
_DETAILS = ("config.json", "tokenizer_config.json", PROMPTS)
# ONNX keeps weights beyond 2 GB in a second file.
_WEIGHTS = ("_data", ".data")


def install_model(
    settings: EmbeddingSettings,
    env: Mapping[str, str],
    *,
    model_dir: str | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Install the configured model from the hub, or from a directory that holds its files.

    Nothing is done for a model that is already installed whole, unless ``model_dir`` is given. A model that
    was installed from the hub once is fetched in the same version when it has to be again.

    Raises:
        ModelError: it can't be fetched or read, or is no model that can be used.
    """
    target = settings.model_dir
    installed = _installed(target)
    if installed is not None and model_dir is None and settings.revision in ("", installed.commit):
        try:
            verify(target, installed)
        except ModelDamagedError:
            pass  # fetched again
        else:
            _try_model(target, installed, settings.dimensions)
            return installed
    try:
        make_private_dir(os.path.dirname(target))
        with ProcessLock(f"{target}.lock") as lock:
            if not lock.is_held:
                raise ModelError(
                    Message(
                        "Another setup is filling {target}. Wait for it, then run this one again",
                        target=target,
                    )
                )
            return _install(settings, env, model_dir, installed.commit if installed else "", progress)
    except OSError as error:
        raise ModelError(
            Message(
                "The embedding model can't be installed into {target} ({reason}). See to space and "
                "permissions there and run `kizami setup --hybrid` again",
                target=target,
                reason=error,
            )
        ) from error


def _install(
    settings: EmbeddingSettings,
    env: Mapping[str, str],
    model_dir: str | None,
    last_commit: str,
    progress: Progress | None,
) -> Manifest:
    fresh = f"{settings.model_dir}.new"
    shutil.rmtree(fresh, ignore_errors=True)  # of a setup that was killed
    os.mkdir(fresh, 0o700)
    try:
        commit = ""
        if model_dir is not None:
            files = _choose(_listed(model_dir), is_quantized=settings.is_quantized, where=model_dir)
            _copy(model_dir, files, fresh, progress)
        else:
            from kizami_hybrid.hub import fetch_files, find_version

            version = find_version(settings.model, settings.revision or last_commit, env)
            files = _choose(version.files, is_quantized=settings.is_quantized, where=settings.model)
            fetch_files(version, files, fresh, env, progress)
            commit = version.commit
        manifest = _describe(fresh, settings.model, commit, files)
        _try_model(fresh, manifest, settings.dimensions)
        write_manifest(fresh, manifest)
        _put_in_place(fresh, settings.model_dir)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return manifest


def load_model(settings: EmbeddingSettings, *, threads: int = 1) -> RuriEmbedder:
    """Check the installed files and load the model. Never uses the network.

    Raises:
        ModelMissingError: it is not installed.
        ModelDamagedError: a file is gone, altered or no model.
        ModelError: the model doesn't give as many dimensions as are wanted.
    """
    manifest = read_manifest(settings.model_dir)
    verify(settings.model_dir, manifest)
    from kizami_hybrid.ruri import RuriEmbedder

    return RuriEmbedder(settings.model_dir, manifest, dimensions=settings.dimensions, threads=threads)


def verify(model_dir: str, manifest: Manifest) -> None:
    """Compare every file with its checksum (37 MB take some 30 ms).

    Raises:
        ModelDamagedError: a file is gone or altered.
    """
    for name, checksum in manifest.checksums.items():
        path = os.path.join(model_dir, name)
        try:
            found = _sha256(path)
        except OSError as error:
            raise ModelDamagedError(
                Message(
                    "{path} can't be read ({reason}). Install the model again: kizami setup --hybrid",
                    path=path,
                    reason=error.strerror,
                )
            ) from None
        if found != checksum:
            raise ModelDamagedError(
                Message(
                    "{path} is not what was installed. Install the model again: kizami setup --hybrid",
                    path=path,
                )
            )


def _installed(model_dir: str) -> Manifest | None:
    try:
        return read_manifest(model_dir)
    except ModelMissingError:
        return None


def _choose(available: Sequence[str], *, is_quantized: bool, where: str) -> list[str]:
    """Return the files to take, the model first.

    Raises:
        ModelError: one that is needed is not among those available.
    """
    names = _QUANTIZED if is_quantized else _FULL
    # A person's own directory may hold the files of `onnx/` beside the others.
    found = next((name for name in (*names, *map(os.path.basename, names)) if name in available), None)
    if found is None or _TOKENIZER not in available:
        if found is not None:
            lacking = Message("no {name}", name=_TOKENIZER)
        elif is_quantized:
            lacking = Message("no quantized model ({names})", names=", ".join(names))
        else:
            lacking = Message("no full-precision model ({names})", names=", ".join(names))
        raise ModelError(
            Message(
                "{where} holds {lacking}. Set embedding.model (or --model-dir) to one that does, or "
                "embedding.quantized to {other}",
                where=where,
                lacking=lacking,
                other="false" if is_quantized else "true",
            )
        )
    optional = (*_DETAILS, *(found + suffix for suffix in _WEIGHTS))
    return [found, _TOKENIZER, *(name for name in optional if name in available)]


def _listed(directory: str) -> list[str]:
    """Return the files of a directory and of its `onnx/`, by their path within it."""
    names: list[str] = []
    for part in ("", "onnx"):
        try:
            names += [
                f"{part}/{entry.name}" if part else entry.name
                for entry in os.scandir(os.path.join(directory, part))
                if entry.is_file()
            ]
        except FileNotFoundError:
            continue
    return names


def _copy(source: str, files: Sequence[str], target: str, progress: Progress | None) -> None:
    total = sum(os.path.getsize(os.path.join(source, name)) for name in files)
    done = 0
    for name in files:
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(os.path.join(source, name), path)
        done += os.path.getsize(path)
        if progress is not None:
            progress(done, total)


def _describe(directory: str, model: str, commit: str, files: Sequence[str]) -> Manifest:
    checksums = {name: _sha256(os.path.join(directory, name)) for name in files}
    # Whatever decides the vectors, under whatever name it came.
    digest = hashlib.sha256("".join(checksums.values()).encode()).hexdigest()
    return Manifest(model, digest[:16], commit, files[0], checksums)


def _try_model(directory: str, manifest: Manifest, dimensions: int) -> None:
    """Embed a sentence, so that a model that can't is found now and not by a prompt."""
    from kizami_hybrid.ruri import RuriEmbedder

    RuriEmbedder(directory, manifest, dimensions=dimensions).embed(["記憶 memory"], "document")


def _put_in_place(fresh: str, target: str) -> None:
    replaced = f"{target}.old"
    if os.path.lexists(target):
        shutil.rmtree(replaced, ignore_errors=True)
        os.rename(target, replaced)
    os.rename(fresh, target)
    shutil.rmtree(replaced, ignore_errors=True)


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
