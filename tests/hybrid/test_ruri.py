"""The embedder on small real models: prefixes, pooling, the shapes of outputs, what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small_models
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.errors import ModelDamagedError, ModelError
from kizami_hybrid.manifest import Manifest
from kizami_hybrid.ruri import RuriEmbedder

MODEL_FILE = "onnx/model_quantized.onnx"
TEXTS = ("記憶", "a much longer text about memories", "", "記", "C++ と Python")


def load(directory, model="owner/ruri-v3-small", dimensions=small_models.SIZE, **options):
    return RuriEmbedder(
        str(directory), Manifest(model, "r1", "", MODEL_FILE, {}), dimensions=dimensions, **options
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return small_models.write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def embedder(directory):
    return load(directory)


def assert_same(found, wanted):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.array(wanted), atol=1e-5)


@pytest.mark.parametrize(("kind", "prefix"), [("query", "検索クエリ: "), ("document", "検索文書: ")])
def test_text_is_embedded_behind_the_prefix_of_its_kind(embedder, kind, prefix):
    assert_same(embedder.embed(TEXTS, kind), [small_models.expected(prefix + text) for text in TEXTS])


@pytest.mark.parametrize(
    "outputs",
    [small_models.BY_TOKEN, ("token_embeddings",), small_models.POOLED_BESIDE, small_models.UNUSUAL],
)
def test_every_shape_of_output_gives_the_same_vectors(tmp_path, embedder, outputs):
    other = load(small_models.write_model(tmp_path, outputs=outputs))
    assert_same(other.embed(TEXTS, "document"), embedder.embed(TEXTS, "document"))


def test_model_that_asks_for_token_types_gets_zeros(tmp_path, embedder):
    other = load(small_models.write_model(tmp_path, needs_token_types=True))
    assert_same(other.embed(TEXTS, "document"), embedder.embed(TEXTS, "document"))


def test_fewer_dimensions_are_a_prefix_at_length_one(directory):
    wanted = [small_models.expected("検索文書: " + text, dimensions=5) for text in TEXTS]
    assert_same(load(directory, dimensions=5).embed(TEXTS, "document"), wanted)


def test_more_dimensions_than_the_model_gives_are_refused_with_the_remedy(directory):
    with pytest.raises(ModelError) as raised:
        load(directory, dimensions=17)
    assert str(raised.value) == (
        "embedding.dimensions is 17, but owner/ruri-v3-small gives vectors of 16. "
        "Set embedding.dimensions to 16 or less"
    )


def test_identity_names_model_revision_and_dimensions(directory):
    assert load(directory, dimensions=8).model == ModelIdentity("owner/ruri-v3-small", "r1", 8)


def test_no_texts_give_no_vectors(embedder):
    assert embedder.embed([], "query").shape == (0, small_models.SIZE)


def test_text_is_read_to_the_limit_of_the_model_and_no_further(embedder):
    prefix = "検索文書: "
    long = "あ" * 40 + "い" * 40
    assert_same(embedder.embed([long], "document"), [small_models.expected((prefix + long)[:64])])


def test_text_of_a_thousand_tokens_is_embedded_whole(tmp_path):
    small_models.write_model(tmp_path)
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 8192}', encoding="utf-8")
    text = "".join(chr(0x4E00 + number % 400) for number in range(1_000))
    assert_same(load(tmp_path).embed([text], "document"), [small_models.expected("検索文書: " + text)])


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(directory, embedder, threads):
    assert_same(load(directory, threads=threads).embed(TEXTS, "query"), embedder.embed(TEXTS, "query"))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="あいう記憶abc ", max_size=50), min_size=1, max_size=20))
def test_vectors_do_not_depend_on_what_else_is_embedded(embedder, texts):
    together = embedder.embed(texts, "document")
    alone = np.vstack([embedder.embed([text], "document") for text in texts])
    assert_same(together, alone)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "prompts", "wanted"),
    [
        ("intfloat/multilingual-e5-small", None, ("query: ", "passage: ")),
        ("owner/plain", None, ("", "")),
        ("owner/plain", {"query": "Q: ", "document": "D: "}, ("Q: ", "D: ")),
        ("owner/plain", {"query": "Q: ", "passage": "P: "}, ("Q: ", "P: ")),
    ],
)
def test_prefixes_of_other_models_are_theirs(tmp_path, model, prompts, wanted):
    small_models.write_model(tmp_path)
    if prompts is not None:
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    other = load(tmp_path, model=model)
    for kind, prefix in zip(("query", "document"), wanted, strict=True):
        assert_same(other.embed(["記憶"], kind), [small_models.expected(prefix + "記憶")])


@pytest.mark.parametrize("value", [float("nan"), 0.0])
def test_model_that_gives_no_numbers_is_refused(tmp_path, value):
    broken = load(small_models.write_model(tmp_path, outputs=small_models.BY_TOKEN, seed_value=value))
    with pytest.raises(ModelDamagedError, match=r"no numbers. Install it again: kizami setup --hybrid"):
        broken.embed(["記憶"], "query")


@pytest.mark.parametrize("name", [MODEL_FILE, "tokenizer.json"])
def test_damaged_file_is_refused_with_the_remedy(tmp_path, name):
    path = small_models.write_model(tmp_path) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ModelDamagedError, match=r"Install it again: kizami setup --hybrid$"):
        load(tmp_path)


def test_model_without_an_embedding_among_its_outputs_is_refused(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    small_models.write_model(tmp_path)
    node = helper.make_node("ReduceSum", ["input_ids"], ["total"], keepdims=0)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    total = helper.make_tensor_value_info("total", TensorProto.INT64, [])
    graph = helper.make_graph([node], "sum", [ids], [total])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / MODEL_FILE)
    with pytest.raises(ModelDamagedError, match="gives total, none of which is an embedding"):
        load(tmp_path)


def test_text_beyond_a_window_is_read_in_windows_up_to_the_limit_of_the_model(tmp_path):
    small_models.write_model(tmp_path)
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 8192}', encoding="utf-8")
    text = "検索文書: " + "".join(chr(0x4E00 + number % 500) for number in range(9_000))
    windows = [text[start : start + 1_024] for start in range(0, 8_192, 1_024)]
    wanted = sum(len(window) * small_models.expected(window) for window in windows)
    found = load(tmp_path).embed([text.removeprefix("検索文書: ")], "document")
    assert_same(found, [wanted / np.linalg.norm(wanted)])
