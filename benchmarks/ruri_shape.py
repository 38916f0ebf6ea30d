"""A model of Ruri v3 30m's true shape with random weights, and a tokenizer of its size: true costs, no meaning.

ModernBERT: 10 layers of 256, 4 heads, GeGLU of 1024, every third layer sees everything and the others 64 tokens
to each side, rotary positions, 102,400 pieces. Written to a directory as the repository of the model holds it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

LAYERS, WIDTH, HEADS, INNER, PIECES, TOKENS, WINDOW = 10, 256, 4, 1024, 102_400, 8_192, 64
HEAD = WIDTH // HEADS


class _Graph:
    """Collects nodes; each call adds one and returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(7)

    def __call__(self, kind: str, *inputs: str, outputs: int = 1, **attributes: object) -> str | list[str]:
        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: object, dtype: type = np.int64) -> str:
        name = f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant(self._random.normal(0, 0.02, shape), np.float32)


def write_model(directory: Path, *, is_quantized: bool = True) -> Path:
    """Write the files of the model (147 MB, int8 37 MB) and return the directory."""
    (directory / "onnx").mkdir(parents=True, exist_ok=True)
    full = directory / "onnx/model.onnx"
    onnx.save(_model(), full)
    if is_quantized:
        quantize_dynamic(full, directory / "onnx/model_quantized.onnx", weight_type=QuantType.QInt8)
        full.unlink()
    _write_tokenizer(directory / "tokenizer.json")
    (directory / "config.json").write_text(json.dumps({"max_position_embeddings": TOKENS}), encoding="utf-8")
    return directory


def _model() -> onnx.ModelProto:
    g = _Graph()
    table = g.weight(PIECES, WIDTH)
    x = _norm(g, g("Gather", table, "input_ids"))
    length = g("Gather", g("Shape", "input_ids"), g.constant(1))
    positions = g("Range", g.constant(0), length, g.constant(1))
    angles = np.outer(np.arange(TOKENS), 1e4 ** (-np.arange(0, HEAD, 2) / HEAD))
    angles = np.concatenate([angles, angles], axis=1)
    cos = g("Gather", g.constant(np.cos(angles), np.float32), positions)
    sin = g("Gather", g.constant(np.sin(angles), np.float32), positions)
    mask = g("Cast", "attention_mask", to=TensorProto.FLOAT)
    wide = g("Unsqueeze", g("Unsqueeze", mask, g.constant([1])), g.constant([2]))
    absent = g("Mul", g("Sub", g.constant(1, np.float32), wide), g.constant(-1e9, np.float32))
    distance = g("Abs", g("Sub", g("Unsqueeze", positions, g.constant([1])), positions))
    is_far = g("Cast", g("Greater", distance, g.constant(WINDOW)), to=TensorProto.FLOAT)
    local = g("Add", absent, g("Mul", is_far, g.constant(-1e9, np.float32)))
    for layer in range(LAYERS):
        bias = absent if layer % 3 == 0 else local
        x = g("Add", x, _attention(g, _norm(g, x), bias, cos, sin))
        x = g("Add", x, _feed_forward(g, _norm(g, x)))
    g.nodes.append(helper.make_node("Identity", [_norm(g, x)], ["token_embeddings"]))
    weights = g("Unsqueeze", mask, g.constant([2]))
    total = g("ReduceSum", g("Mul", "token_embeddings", weights), g.constant([1]), keepdims=0)
    mean = g("Div", total, g("ReduceSum", weights, g.constant([1]), keepdims=0))
    norm = g("ReduceL2", mean, axes=[1], keepdims=1)
    g.nodes.append(helper.make_node("Div", [mean, norm], ["sentence_embedding"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("token_embeddings", TensorProto.FLOAT, ["batch", "tokens", WIDTH]),
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH]),
    ]
    graph = helper.make_graph(g.nodes, "ruri", inputs, outputs, g.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _norm(g: _Graph, x: str) -> str:
    return g("LayerNormalization", x, g.constant(np.ones(WIDTH), np.float32), axis=-1)


def _attention(g: _Graph, x: str, bias: str, cos: str, sin: str) -> str:
    parts = g("Split", g("MatMul", x, g.weight(WIDTH, 3 * WIDTH)), axis=2, outputs=3)
    q, k, v = (
        g("Transpose", g("Reshape", part, g.constant([0, 0, HEADS, HEAD])), perm=[0, 2, 1, 3])
        for part in parts
    )
    q, k = _rotated(g, q, cos, sin), _rotated(g, k, cos, sin)
    scores = g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g("Add", g("Mul", scores, g.constant(HEAD**-0.5, np.float32)), bias)
    seen = g("MatMul", g("Softmax", scores, axis=-1), v)
    joined = g("Reshape", g("Transpose", seen, perm=[0, 2, 1, 3]), g.constant([0, 0, WIDTH]))
    return g("MatMul", joined, g.weight(WIDTH, WIDTH))


def _rotated(g: _Graph, x: str, cos: str, sin: str) -> str:
    first, second = g("Split", x, axis=3, outputs=2)
    turned = g("Concat", g("Neg", second), first, axis=3)
    return g("Add", g("Mul", x, cos), g("Mul", turned, sin))


def _feed_forward(g: _Graph, x: str) -> str:
    value, gate = g("Split", g("MatMul", x, g.weight(WIDTH, 2 * INNER)), axis=2, outputs=2)
    half = g("Mul", value, g.constant(0.5, np.float32))
    inner = g("Erf", g("Mul", value, g.constant(0.5**0.5, np.float32)))
    gelu = g("Mul", half, g("Add", inner, g.constant(1, np.float32)))
    return g("MatMul", g("Mul", gelu, gate), g.weight(INNER, WIDTH))


def _write_tokenizer(path: Path) -> None:
    """Write a unigram tokenizer of as many pieces: special ones, bytes, characters, and strings of these."""
    chance = random.Random(7)
    characters = [chr(code) for code in (*range(0x21, 0x7F), *range(0x3041, 0x30FF), *range(0x4E00, 0x6E00))]
    vocabulary = {"<unk>": 0.0, "<s>": 0.0, "</s>": 0.0, "<pad>": 0.0}
    vocabulary |= {f"<0x{byte:02X}>": -12.0 for byte in range(256)}
    vocabulary |= dict.fromkeys(("▁", *characters), -9.0)
    while len(vocabulary) < PIECES:
        start = chance.randrange(len(characters) - 4)
        piece = "".join(characters[start : start + 2]) + "".join(
            chance.choices(characters, k=chance.randrange(3))
        )
        vocabulary.setdefault(piece, -chance.uniform(7, 14))
    data = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": False},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "</s>", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
                "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
            },
        },
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": False},
        "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": list(vocabulary.items())},
    }
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
