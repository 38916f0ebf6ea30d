"""Small real models: an ONNX graph and a tokenizer that reads one character as one token.

The vector of a text is the mean of its characters' vectors, so texts that share characters are near to each
other, and what a vector must be can be computed by hand.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

SIZE = 16
_CODES = (*range(0x20, 0x7F), *range(0x3040, 0x3100), *range(0x4E00, 0x5000))
_PAD, _UNKNOWN = 0, 1
VOCABULARY = {"<pad>": _PAD, "<unk>": _UNKNOWN} | {chr(code): number for number, code in enumerate(_CODES, 2)}

BY_TOKEN = ("last_hidden_state",)
POOLED_BESIDE = ("token_embeddings", "sentence_embedding")
UNUSUAL = ("hidden",)


def table(size: int = SIZE) -> np.ndarray:
    """The vector of each token, ``float32[tokens, size]``."""
    return np.random.default_rng(20_260_101).normal(size=(len(VOCABULARY), size)).astype(np.float32)


def expected(text: str, dimensions: int = SIZE, size: int = SIZE) -> np.ndarray:
    """The vector that the model must give for a text, prefix included."""
    rows = table(size)[[VOCABULARY.get(character, _UNKNOWN) for character in text]]
    vector = rows.mean(axis=0)[:dimensions]
    return vector / np.linalg.norm(vector)


def write_model(
    directory: Path,
    *,
    name: str = "onnx/model_quantized.onnx",
    outputs: Sequence[str] = POOLED_BESIDE,
    needs_token_types: bool = False,
    size: int = SIZE,
    seed_value: float | None = None,
) -> Path:
    """Write the files of a model as a repository holds them; return the directory.

    ``seed_value`` fills the whole table with one number: ``nan`` and 0 make models that give no vectors.
    """
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(outputs, size, seed_value, needs_token_types=needs_token_types), path)
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / "config.json").write_text('{"max_position_embeddings": 64}', encoding="utf-8")
    return directory


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _graph(
    outputs: Sequence[str], size: int, seed_value: float | None, *, needs_token_types: bool
) -> onnx.ModelProto:
    values = table(size) if seed_value is None else np.full_like(table(size), seed_value)
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if needs_token_types else [])]
    by_token = next(name for name in outputs if name != "sentence_embedding")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["found"])]
    if needs_token_types:
        nodes += [
            helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["types", "last"], ["types_wide"]),
            helper.make_node("Add", ["found", "types_wide"], [by_token]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["found"], [by_token]))
    nodes += [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["mask_wide"]),
        helper.make_node("Mul", [by_token, "mask_wide"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "tokens"], ["sum"], keepdims=0),
        helper.make_node("ReduceL2", ["sum"], ["norm"], axes=[1], keepdims=1),
        helper.make_node("Div", ["sum", "norm"], ["sentence_embedding"]),
    ]
    shapes = {name: ["batch", "tokens", size] for name in outputs} | {"sentence_embedding": ["batch", size]}
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in outputs],
        [
            numpy_helper.from_array(values, "table"),
            numpy_helper.from_array(np.array([-1], np.int64), "last"),
            numpy_helper.from_array(np.array([1], np.int64), "tokens"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
