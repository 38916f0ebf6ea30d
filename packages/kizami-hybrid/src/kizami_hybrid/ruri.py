"""Ruri, and models built like it: an ONNX transformer with a tokenizer beside it, run on the CPU.

tokens → model → mean over the tokens that are no padding → L2. Texts of about the same length share a batch,
and a batch is small: on a CPU a large one is slower than its texts one by one, and takes more memory (512
tokens take 75 ms alone, 763 ms as a batch of eight).

Every token that the model takes is read (8,192 for Ruri v3). The memory and the time of attention grow with
the square of the length: 8,000 tokens at once take 3.4 GB and 48 s, 2,048 take 250 MB and 1.0 s, twice 1,024
take 60 MB and 0.5 s. So beyond 1,024 tokens, which few chunks have, a text is read in windows of that many,
and its vector is the mean of theirs by their lengths. Of Ruri's layers two thirds see 64 tokens to each side
anyway.
"""

from __future__ import annotations

import json
import os

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]  # it ships none
from tokenizers import Tokenizer

from kizami_core.messages import Message
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.errors import ModelDamagedError, ModelError
from kizami_hybrid.prefixes import Prefixes, prefixes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenizers import Encoding

    from kizami_hybrid.embedder import Kind, Vectors
    from kizami_hybrid.manifest import Manifest

MAX_TOKENS = 8_192
_WINDOW_TOKENS = 1_024
# The padded tokens of one batch: longer texts go alone.
_BATCH_TOKENS = 512
_POOLED = "sentence_embedding"
_BY_TOKEN = ("last_hidden_state", "token_embeddings")
_RANK_POOLED = 2
_RANK_BY_TOKEN = 3
_REINSTALL = Message("Install it again: kizami setup --hybrid")


class RuriEmbedder:
    """An installed model, loaded. May be called from several threads at once: each runs in its own.

    Args:
        model_dir: where the files lie.
        manifest: what they are.
        dimensions: length of the vectors; fewer than the model's own cut its vectors, as it was trained for.
        threads: threads for one batch. The resident process takes one, so that calls don't fight for cores.

    Raises:
        ModelDamagedError: the files are no model and tokenizer that fit together.
        ModelError: the model gives fewer dimensions than wanted.
    """

    def __init__(self, model_dir: str, manifest: Manifest, *, dimensions: int, threads: int = 1) -> None:
        self._session = _open_session(os.path.join(model_dir, manifest.model_file), threads)
        self._tokenizer = _open_tokenizer(os.path.join(model_dir, "tokenizer.json"))
        self._tokenizer.no_padding()
        self._max_tokens = _max_tokens(model_dir)
        self._tokenizer.enable_truncation(max_length=min(_WINDOW_TOKENS, self._max_tokens))
        self._inputs = {value.name for value in self._session.get_inputs()}
        self._output = _choose_output(self._session)
        self._prefixes: Prefixes = prefixes_of(manifest.model, model_dir)
        self.model = ModelIdentity(manifest.model, manifest.revision, dimensions)
        own = self._run(self._tokenizer.encode_batch(["0"])).shape[1]
        if dimensions > own:
            raise ModelError(
                Message(
                    "embedding.dimensions is {dimensions}, but {model} gives vectors of {own}. Set "
                    "embedding.dimensions to {own} or less",
                    dimensions=dimensions,
                    model=manifest.model,
                    own=own,
                )
            )

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return ``float32[len(texts), dimensions]``, L2-normalised, in the order of the texts."""
        prefix = self._prefixes.query if kind == "query" else self._prefixes.document
        windows: list[Encoding] = []
        owners: list[int] = []
        for owner, whole in enumerate(self._tokenizer.encode_batch([prefix + text for text in texts])):
            parts = self._windows(whole)
            windows += parts
            owners += [owner] * len(parts)
        vectors = np.zeros((len(texts), self.model.dimensions), np.float32)
        for rows in _batches([len(window.ids) for window in windows]):
            made = self._run([windows[row] for row in rows])
            for row, vector in zip(rows, _unit(made), strict=True):
                vectors[owners[row]] += len(windows[row].ids) * vector[: self.model.dimensions]
        return _unit(vectors)

    def _windows(self, encoding: Encoding) -> list[Encoding]:
        """Return what is read of a text: all of it, up to the tokens that the model takes."""
        return [encoding, *encoding.overflowing][: -(-self._max_tokens // _WINDOW_TOKENS)]

    def _run(self, encodings: Sequence[Encoding]) -> Vectors:
        """Return ``float32[n, own dimensions]``, pooled, for texts of about the same length."""
        width = max(1, *(len(encoding.ids) for encoding in encodings))
        ids = np.zeros((len(encodings), width), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            (output,) = self._session.run(
                [self._output],
                {name: value for name, value in feed.items() if name in self._inputs},
                _giving_back() if ids.size > _BATCH_TOKENS else None,
            )
        except Exception as error:  # onnxruntime's errors have no common base of their own
            reason = _first_line(error)
            raise ModelDamagedError(
                Message("The embedding model fails ({reason}). {remedy}", reason=reason, remedy=_REINSTALL)
            ) from error
        if output.ndim == _RANK_POOLED:
            return np.asarray(output, np.float32)
        weights = mask[:, :, None].astype(np.float32)
        counts = np.maximum(weights.sum(axis=1), 1)
        return np.asarray((output * weights).sum(axis=1) / counts, np.float32)


def _unit(vectors: Vectors) -> Vectors:
    """Bring each row to length 1.

    Raises:
        ModelDamagedError: a row has no length.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths):
        raise ModelDamagedError(
            Message("The embedding model gives vectors that are no numbers. {remedy}", remedy=_REINSTALL)
        )
    unit: Vectors = np.divide(vectors, lengths, dtype=np.float32)
    return unit


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the rows of each batch: sorted by length, so that little of a batch is padding."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _open_session(path: str, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Plans of memory are made for each shape of input, and texts have as many as lengths.
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # what goes wrong comes as an exception, too
    try:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise ModelDamagedError(
            Message(
                "{path} is no usable model ({reason}). {remedy}",
                path=path,
                reason=_first_line(error),
                remedy=_REINSTALL,
            )
        ) from error


def _giving_back() -> ort.RunOptions:
    """Return options for a long text: the memory it takes goes back to the system when it is done.

    Without onnxruntime's arena all memory would, and every page be asked for anew in each layer: 2,048 tokens
    take 1.9 s then, 1.0 s so.
    """
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


def _open_tokenizer(path: str) -> Tokenizer:
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # tokenizers raises bare exceptions
        reason = _first_line(error)
        raise ModelDamagedError(
            Message(
                "{path} is no usable tokenizer ({reason}). {remedy}",
                path=path,
                reason=reason,
                remedy=_REINSTALL,
            )
        ) from error


def _choose_output(session: ort.InferenceSession) -> str:
    """Return the output to ask for: pooled if there is one, else that of each token."""
    outputs: dict[str, int] = {value.name: len(value.shape) for value in session.get_outputs()}
    for name in (_POOLED, *_BY_TOKEN):
        if name in outputs:
            return name
    for rank in (_RANK_BY_TOKEN, _RANK_POOLED):
        for name, found in outputs.items():
            if found == rank:
                return name
    raise ModelDamagedError(
        Message(
            "The model gives {outputs}, none of which is an embedding. Set embedding.model to another",
            outputs=", ".join(outputs),
        )
    )


def _max_tokens(model_dir: str) -> int:
    """Return how many tokens the model takes, as its own files say, 8,192 at most."""
    limits = [MAX_TOKENS]
    for name, key in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        try:
            with open(os.path.join(model_dir, name), encoding="utf-8") as file:
                limit = json.load(file).get(key)
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(limit, int) and limit > 0:
            limits.append(limit)
    return min(limits)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
