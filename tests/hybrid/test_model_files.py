"""Installing and loading a model: from a hub, from a directory, again, damaged, and without a network."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest

import small_models
from kizami_core.locks import ProcessLock
from kizami_hybrid.errors import ModelDamagedError, ModelError, ModelMissingError
from kizami_hybrid.manifest import MANIFEST, read_manifest
from kizami_hybrid.model_files import install_model, load_model
from kizami_hybrid.settings import parse_settings
from local_hub import COMMIT, OLD_COMMIT, LocalHub

QUANTIZED = "onnx/model_quantized.onnx"
NAMES = {QUANTIZED, "tokenizer.json", "config.json"}


@pytest.fixture
def source(tmp_path):
    return small_models.write_model(tmp_path / "source")


@pytest.fixture
def hub(source):
    with LocalHub(source) as running:
        yield running


@pytest.fixture
def env(tmp_path):
    # A hub that can't be reached, unless a test names its own.
    return {"HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:1"}


def settings_for(env, **section):
    made, problems = parse_settings(
        {"model": "owner/ruri-v3-small", "dimensions": small_models.SIZE, **section}, env
    )
    assert problems == []
    return made


def works(settings):
    found = load_model(settings).embed(["記憶"], "query")
    np.testing.assert_allclose(found, [small_models.expected("検索クエリ: 記憶")], atol=1e-5)
    return True


def test_model_is_fetched_from_the_hub_in_one_version_with_checksums(env, hub, source):
    env["HF_ENDPOINT"] = hub.url
    settings = settings_for(env)
    (source / "README.md").write_text("not needed")
    manifest = install_model(settings, env)
    assert manifest == read_manifest(settings.model_dir)
    assert (manifest.model, manifest.commit, manifest.model_file) == (settings.model, COMMIT, QUANTIZED)
    assert manifest.checksums == {name: small_models.sha256(source / name) for name in NAMES}
    fetched = {request for request in hub.requests if "/resolve/" in request and request.startswith("GET")}
    assert fetched == {f"GET /owner/ruri-v3-small/resolve/{COMMIT}/{name}" for name in NAMES}
    assert works(settings)


def test_nothing_else_is_left_in_the_cache(env, hub, tmp_path):
    env["HF_ENDPOINT"] = hub.url
    settings = settings_for(env, cacheDir=str(tmp_path / "cache"))
    install_model(settings, env)
    kept = {path.relative_to(tmp_path / "cache").as_posix() for path in (tmp_path / "cache").rglob("*.*")}
    place = "owner--ruri-v3-small/int8"
    assert {name for name in kept if not name.endswith("int8")} == {
        f"{place}/{name}" for name in (*NAMES, MANIFEST)
    }


def test_progress_counts_the_bytes_of_all_files(env, hub, source):
    env["HF_ENDPOINT"] = hub.url
    total = sum((source / name).stat().st_size for name in NAMES)
    seen = []
    install_model(settings_for(env), env, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_installed_model_is_not_asked_for_again(env, hub):
    env["HF_ENDPOINT"] = hub.url
    settings = settings_for(env)
    first = install_model(settings, env)
    hub.requests.clear()
    assert install_model(settings, env) == first
    assert hub.requests == []


def test_damaged_model_is_fetched_again_in_the_version_that_it_was(env, hub):
    env["HF_ENDPOINT"] = hub.url
    install_model(settings_for(env, model=f"owner/ruri-v3-small@{OLD_COMMIT}"), env)
    settings = settings_for(env)
    Path(settings.model_dir, "tokenizer.json").write_text("{}", encoding="utf-8")
    assert install_model(settings, env).commit == OLD_COMMIT
    assert works(settings)


def test_revision_is_fetched_when_it_is_named(env, hub):
    env["HF_ENDPOINT"] = hub.url
    assert install_model(settings_for(env), env).commit == COMMIT
    assert (
        install_model(settings_for(env, model=f"owner/ruri-v3-small@{OLD_COMMIT}"), env).commit == OLD_COMMIT
    )


def test_file_that_arrives_damaged_is_not_installed(env, hub):
    env["HF_ENDPOINT"] = hub.url
    hub.damaged = QUANTIZED
    settings = settings_for(env)
    with pytest.raises(ModelError, match=f"{QUANTIZED} of owner/ruri-v3-small arrived damaged"):
        install_model(settings, env)
    with pytest.raises(ModelMissingError):
        load_model(settings)


@pytest.mark.parametrize("model", ["owner/absent", f"owner/ruri-v3-small@{'c' * 40}"])
def test_model_that_the_hub_does_not_have_is_an_error_with_the_remedy(env, hub, model):
    env["HF_ENDPOINT"] = hub.url
    with pytest.raises(ModelError, match=r"can't be fetched .* kizami setup --hybrid --model-dir DIR$"):
        install_model(settings_for(env, model=model), env)


def test_hub_that_can_not_be_reached_is_an_error_with_the_remedy(env):
    with pytest.raises(ModelError, match=r"can't be fetched .* kizami setup --hybrid --model-dir DIR$"):
        install_model(settings_for(env), env)


def test_model_is_copied_from_a_directory_without_a_network(env, source):
    settings = settings_for(env)
    seen = []
    manifest = install_model(
        settings, env, model_dir=str(source), progress=lambda done, of: seen.append((done, of))
    )
    total = sum((source / name).stat().st_size for name in NAMES)
    assert (manifest.commit, seen[-1]) == ("", (total, total))
    assert works(settings)


def test_revision_is_the_same_from_hub_and_directory(env, hub, source):
    copied = install_model(settings_for(env), env, model_dir=str(source))
    env["HF_ENDPOINT"] = hub.url
    fetched = install_model(settings_for(env, cacheDir="/".join((env["HOME"], "other"))), env)
    assert copied.revision == fetched.revision


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("onnx/model_int8.onnx", {}),
        ("model_quantized.onnx", {}),
        ("model_int8.onnx", {}),
        ("onnx/model.onnx", {"quantized": False}),
        ("model.onnx", {"quantized": False}),
    ],
)
def test_model_is_found_under_the_names_that_conversions_use(env, tmp_path, name, section):
    other = small_models.write_model(tmp_path / "other", name=name)
    settings = settings_for(env, **section)
    assert install_model(settings, env, model_dir=str(other)).model_file == name
    assert works(settings)


def test_full_and_quantized_model_stand_side_by_side(env, source):
    small_models.write_model(source, name="onnx/model.onnx")
    settings = [settings_for(env, quantized=quantized) for quantized in (True, False)]
    files = [install_model(each, env, model_dir=str(source)).model_file for each in settings]
    assert files == [QUANTIZED, "onnx/model.onnx"]
    assert all(works(each) for each in settings)


@pytest.mark.parametrize(
    ("missing", "message"),
    [(QUANTIZED, "holds no quantized model"), ("tokenizer.json", "holds no tokenizer.json")],
)
def test_directory_that_lacks_a_file_is_refused_with_the_remedy(env, source, missing, message):
    (source / missing).unlink()
    with pytest.raises(ModelError, match=rf"{message}.* embedding.quantized to false$"):
        install_model(settings_for(env), env, model_dir=str(source))


def test_directory_that_is_not_there_is_refused(env, tmp_path):
    with pytest.raises(ModelError, match="holds no quantized model"):
        install_model(settings_for(env), env, model_dir=str(tmp_path / "absent"))


def test_model_that_does_not_work_is_not_installed_over_one_that_does(env, source, tmp_path):
    settings = settings_for(env)
    install_model(settings, env, model_dir=str(source))
    broken = small_models.write_model(tmp_path / "broken")
    (broken / QUANTIZED).write_bytes(b"no model")
    with pytest.raises(ModelDamagedError, match="is no usable model"):
        install_model(settings, env, model_dir=str(broken))
    assert works(settings)
    assert os.listdir(os.path.dirname(settings.model_dir)) == ["int8"]


def test_setup_that_was_killed_is_begun_anew(env, source):
    settings = settings_for(env)
    for ending in (".new", ".old"):
        (Path(settings.model_dir + ending) / "onnx").mkdir(parents=True)
    install_model(settings, env, model_dir=str(source))
    install_model(settings, env, model_dir=str(source))
    assert works(settings)
    assert os.listdir(os.path.dirname(settings.model_dir)) == ["int8"]


def test_second_setup_at_the_same_time_is_told_to_wait(env, source):
    settings = settings_for(env)
    with ProcessLock(settings.model_dir + ".lock") as lock:
        assert lock.is_held
        with pytest.raises(ModelError, match=r"Wait for it, then run this one again$"):
            install_model(settings, env, model_dir=str(source))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_cache_that_can_not_be_written_is_an_error_with_the_remedy(env, source, tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    with pytest.raises(ModelError, match=r"See to space and permissions"):
        install_model(settings_for(env, cacheDir=str(tmp_path / "cache")), env, model_dir=str(source))


def test_missing_model_is_an_error_with_the_remedy(env):
    with pytest.raises(ModelMissingError, match=r"is not installed .* Run: kizami setup --hybrid$"):
        load_model(settings_for(env))


@pytest.mark.parametrize("text", ["", "[]", '{"model": "x"}', "{"])
def test_manifest_that_is_none_counts_as_no_model(env, source, text):
    settings = settings_for(env)
    install_model(settings, env, model_dir=str(source))
    Path(settings.model_dir, MANIFEST).write_text(text, encoding="utf-8")
    with pytest.raises(ModelMissingError, match=r"Install it again: kizami setup --hybrid$"):
        load_model(settings)


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("damage", ["removed", "one byte changed", "cut"])
def test_altered_file_is_noticed_before_it_is_loaded(env, source, name, damage):
    settings = settings_for(env)
    install_model(settings, env, model_dir=str(source))
    path = Path(settings.model_dir, name)
    data = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(data[:-1] + (b"\xff" if damage == "one byte changed" else b""))
    with pytest.raises(ModelDamagedError, match=rf"{path} .* kizami setup --hybrid$"):
        load_model(settings)


def test_loading_opens_no_socket(env, source, monkeypatch):
    settings = settings_for(env)
    install_model(settings, env, model_dir=str(source))

    def refuse(*_, **__):
        raise AssertionError("loading asks the network")

    monkeypatch.setattr(socket, "socket", refuse)
    assert works(settings)


def test_files_are_closed_to_others(env, source):
    settings = settings_for(env)
    install_model(settings, env, model_dir=str(source))
    assert os.stat(settings.model_dir).st_mode & 0o077 == 0
