"""The resident process, started for real: what it answers, and what becomes of it when things go wrong."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import small_models
from kizami_hybrid.embedder import ModelIdentity
from kizami_hybrid.errors import ModelError
from kizami_hybrid.resident import client, control, starting
from kizami_hybrid.resident.channel import open_channel
from kizami_hybrid.resident.endpoint import make_runtime_dir
from kizami_hybrid.resident.protocol import MAX_REQUEST_BYTES, frame
from resident_home import PATIENCE_SECONDS, ResidentHome, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes and looks at their sockets")

QUESTION = "[User]\n設定ファイル\n\n[Assistant]\n場所"


def soon():
    return time.monotonic() + PATIENCE_SECONDS


def cosine(query, content):
    return float(
        small_models.expected("検索クエリ: " + query) @ small_models.expected(("検索文書: " + content)[:64])
    )


@pytest.fixture
def saved(home):
    """Three memories in two projects, embedded by a running process: their ids."""
    ids = [
        home.book.add("", "", content="設定ファイルの場所", project="/a"),
        home.book.add("", "", content="テストの並列実行", project="/a"),
        home.book.add("", "", content="ファイルの設定", project="/b"),
    ]
    home.start()
    home.wait_for_vectors()
    return ids


def test_search_gives_the_nearest_chunks_with_their_cosines(home, saved):
    contents = ("設定ファイルの場所", "テストの並列実行", "ファイルの設定")
    wanted = sorted(
        ((number, cosine("設定ファイル", content)) for number, content in zip(saved, contents, strict=True)),
        key=lambda pair: -pair[1],
    )
    found = home.hits("設定ファイル")
    assert [number for number, _ in found] == [number for number, _ in wanted]
    assert [value for _, value in found] == pytest.approx([value for _, value in wanted], abs=1e-4)


def test_search_keeps_to_a_project_and_to_a_limit(home, saved):
    assert {number for number, _ in home.hits("設定", project="/a")} == set(saved[:2])
    assert [number for number, _ in home.hits("設定", project="/c")] == []
    assert len(home.hits("設定", limit=2)) == 2


def test_embed_gives_the_vector_itself(home):
    home.start()
    with open_channel(home.endpoint) as channel:
        assert channel.send('"op":"embed","text":"記憶","kind":"query"')
        answer = channel.receive(soon())
    import numpy as np

    found = np.frombuffer(bytes.fromhex(answer["vector"]), "<f4")
    np.testing.assert_allclose(found, small_models.expected("検索クエリ: 記憶"), atol=1e-5)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ('"op":"sing"', "there is no operation 'sing'"),
        ('"op":1', "op is no text"),
        ('"op":"search","text":"x"', "database is no text"),
        ('"op":"embed","text":"x","kind":"song"', 'kind is neither "query" nor "document"'),
    ],
)
def test_wrong_request_is_answered_with_what_is_wrong(home, request_, message):
    home.start()
    with open_channel(home.endpoint) as channel:
        channel.send(request_)
        assert channel.receive(soon()) == {"error": f"ProtocolError: {message}"}


def test_what_is_saved_is_embedded_when_the_process_is_told(home):
    home.start()
    number = home.book.add("", "", content="後から保存した記憶")
    assert client.wake(home.settings, home.env, home.database, time.time()) == ""
    wait_until(lambda: [found for found, _ in home.hits("記憶") or ()] == [number])


def test_first_prompt_starts_the_process_without_waiting_and_a_later_one_is_answered(home):
    number = home.book.add("", "", content="記憶")
    assert home.hits("記憶") is None
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    wait_until(lambda: [found for found, _ in home.hits("記憶") or ()] == [number])


def test_status_tells_model_process_memory_and_queue(home, saved):
    status = dict(control.ask_status(home.endpoint))
    assert status.pop("uptime_seconds") > 0
    assert status.pop("resident_bytes") > 10_000_000
    assert status.pop("version")
    assert status == {
        "pid": int(Path(home.endpoint.pid_path).read_text(encoding="utf-8")),
        "model": ModelIdentity(
            "owner/ruri-v3-small", home.endpoint.path.split("-")[-2], small_models.SIZE
        ).as_dict(),
        "waiting": {home.database: 0},
        "problem": "",
    }


def test_stop_ends_the_process_and_leaves_no_socket_behind(home):
    home.start()
    assert control.stop_and_wait(home.endpoint) is True
    assert not os.path.exists(home.endpoint.path)
    assert control.stop_and_wait(home.endpoint) is False


def test_stop_ends_a_process_that_is_stuck(home, monkeypatch):
    pid = home.start()["pid"]
    monkeypatch.setattr(control, "_ANSWER_SECONDS", 0.0)
    monkeypatch.setattr(control, "_STOP_SECONDS", 1.0)
    os.kill(pid, signal.SIGSTOP)
    assert control.stop_and_wait(home.endpoint) is True


def test_terminated_process_leaves_no_socket_behind(home):
    child = home.spawn()
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    child.terminate()
    assert child.wait(PATIENCE_SECONDS) == 0
    assert not os.path.exists(home.endpoint.path)


def test_process_that_nobody_can_find_any_more_ends(home):
    child = home.spawn()
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    os.unlink(home.endpoint.path)
    assert child.wait(PATIENCE_SECONDS) == 0


def test_process_that_has_lost_its_place_leaves_that_of_another_alone(home):
    child = home.spawn()
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    os.unlink(home.endpoint.path)
    Path(home.endpoint.path).write_text("another's", encoding="utf-8")
    assert child.wait(PATIENCE_SECONDS) == 0
    assert Path(home.endpoint.path).read_text(encoding="utf-8") == "another's"


def test_killed_process_is_replaced_over_its_stale_socket(home, saved):
    pid = control.ask_status(home.endpoint)["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not control.is_running(home.endpoint))
    assert os.path.exists(home.endpoint.path)  # stale
    os.utime(home.endpoint.attempt_path, (0, 0))  # its start is long ago
    assert home.hits("設定") is None
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    assert control.ask_status(home.endpoint)["pid"] != pid
    assert {number for number, _ in home.hits("設定")} == set(saved)


def test_of_two_that_start_at_once_one_serves_and_the_other_ends(home):
    children = [home.spawn(), home.spawn()]
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    wait_until(lambda: sum(child.poll() is not None for child in children) == 1)
    (ended,) = (child for child in children if child.poll() is not None)
    (serving,) = (child for child in children if child.poll() is None)
    assert ended.returncode == 0
    assert control.ask_status(home.endpoint)["pid"] == serving.pid


def test_second_process_leaves_the_socket_of_the_first_alone(home, saved):
    assert home.spawn().wait(PATIENCE_SECONDS) == 0
    assert {number for number, _ in home.hits("設定")} == set(saved)


def test_peers_that_hang_hold_up_nobody(home, saved):
    message = frame(b'{"op":"status"}')
    hanging = []
    for _ in range(20):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(home.endpoint.path)
        peer.sendall(message[: len(message) // 2])
        hanging.append(peer)
    assert {number for number, _ in home.hits("設定")} == set(saved)
    for peer in hanging:
        peer.close()
    assert {number for number, _ in home.hits("設定")} == set(saved)


def test_request_in_small_pieces_and_two_at_once_are_answered_in_order(home):
    home.start()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(home.endpoint.path)
        for byte in frame('{"op":"embed","text":"一","kind":"query"}'.encode()):
            peer.sendall(bytes([byte]))
        peer.sendall(frame(b'{"op":"one"}') + frame(b'{"op":"two"}'))
        received = b""
        while received.count(b"there is no operation") < 2:
            received += peer.recv(65_536)
    assert received.index(b"vector") < received.index(b"'one'") < received.index(b"'two'")


@pytest.mark.parametrize(
    "data",
    [
        (MAX_REQUEST_BYTES + 1).to_bytes(4, "big") + b"{",
        frame(b"no JSON"),
        frame(b"[]"),
        frame(b"\xff"),
    ],
)
def test_what_is_no_request_is_hung_up_on_and_others_are_served(home, data):
    home.start()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE_SECONDS)
        peer.connect(home.endpoint.path)
        peer.sendall(data)
        assert peer.recv(1) == b""
    assert home.hits("設定") == []


def test_prompt_of_a_megabyte_is_asked_by_its_ends(home, saved):
    assert {number for number, _ in home.hits("設定" * 500_000)} == set(saved)


def test_prompt_with_a_lone_surrogate_is_asked(home, saved):
    assert {number for number, _ in home.hits("設定\ud800")} == set(saved)


def test_process_that_never_answers_costs_no_more_than_the_deadline(home, saved):
    pid = control.ask_status(home.endpoint)["pid"]
    os.kill(pid, signal.SIGSTOP)
    pending = home.ask("設定")
    assert pending.hits(time.monotonic() + 0.01) is None
    assert pending.hits(soon()) is None  # a late answer is not waited for again
    os.kill(pid, signal.SIGCONT)


def test_process_that_ends_while_it_is_asked_gives_no_answer(home, saved):
    pid = control.ask_status(home.endpoint)["pid"]
    os.kill(pid, signal.SIGSTOP)
    pending = home.ask("設定")
    os.kill(pid, signal.SIGKILL)
    assert pending.hits(soon()) is None


def test_another_version_of_kizami_starts_a_process_of_its_own(home, saved, monkeypatch):
    old = home.endpoint
    monkeypatch.setattr("kizami_hybrid.resident.endpoint.__version__", "9.9.9")
    assert home.endpoint != old
    assert home.hits("設定") is None
    wait_until(lambda: control.ask_status(home.endpoint) is not None)
    assert control.ask_status(home.endpoint)["pid"] != control.ask_status(old)["pid"]


def test_idle_process_ends_by_itself(home):
    script = (
        "import os, sys; from kizami_hybrid.resident.process import serve;"
        " from kizami_hybrid.resident.endpoint import find_endpoint;"
        " from kizami_hybrid.settings import EmbeddingSettings;"
        " settings = EmbeddingSettings(sys.argv[1], '', True, int(sys.argv[2]), sys.argv[3]);"
        " serve(find_endpoint(settings, os.environ), settings, '', os.environ, idle_seconds=0.1)"
    )
    settings = home.settings
    arguments = [settings.model, str(settings.dimensions), settings.cache_dir]
    make_runtime_dir(home.endpoint)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=home.env, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0
    assert not os.path.exists(home.endpoint.path)


def test_damaged_model_is_told_of_once_and_not_started_for_every_prompt(home):
    path = Path(home.settings.model_dir, "onnx/model_quantized.onnx")
    path.write_bytes(path.read_bytes()[:-7])
    assert home.hits("記憶") is None
    wait_until(lambda: control.last_failure(home.endpoint) != "")
    wait_until(lambda: not control.is_running(home.endpoint))
    reason = f"{path} is not what was installed. Install the model again: kizami setup --hybrid"
    assert control.last_failure(home.endpoint) == reason
    assert home.error_log.count(reason) == 1
    later = os.stat(home.endpoint.failure_path).st_mtime + 60
    assert not starting.is_due(home.endpoint, home.settings, later)
    assert starting.is_due(home.endpoint, home.settings, later + 3_600)


def test_installing_the_model_again_makes_a_start_due_at_once(home):
    home.start()
    control.stop_and_wait(home.endpoint)
    failure, manifest = (
        Path(home.endpoint.failure_path),
        Path(home.settings.model_dir, "kizami-manifest.json"),
    )
    failure.write_text("broken", encoding="utf-8")
    os.utime(home.endpoint.attempt_path, (0, 0))
    os.utime(failure, (2_000, 2_000))
    os.utime(manifest, (1_000, 1_000))
    assert not starting.is_due(home.endpoint, home.settings, 2_060)
    os.utime(manifest, (2_030, 2_030))
    assert starting.is_due(home.endpoint, home.settings, 2_060)


def test_start_is_tried_again_only_after_half_a_minute(home):
    now = time.time()
    assert starting.start_if_due(home.endpoint, home.settings, home.database, home.env, now)
    attempt = os.stat(home.endpoint.attempt_path).st_mtime
    assert not starting.is_due(home.endpoint, home.settings, attempt + 29)
    assert starting.is_due(home.endpoint, home.settings, attempt + 31)
    wait_until(lambda: control.ask_status(home.endpoint) is not None)


def test_a_prompt_starts_the_process_when_it_is_done(home):
    options = {"database": home.database, "project": None, "limit": 5, "now": time.time()}
    pending = client.begin_search(home.settings, home.env, "記憶", is_hook=True, **options)
    assert (pending.is_starting, pending.hits(time.monotonic())) == (True, None)
    assert not os.path.exists(home.endpoint.attempt_path)
    pending.close()
    assert os.path.exists(home.endpoint.attempt_path)
    wait_until(lambda: control.ask_status(home.endpoint) is not None)


def test_start_of_a_damaged_model_tells_why(home):
    Path(home.settings.model_dir, "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer.json can't be read .* kizami setup --hybrid$"):
        home.start()


def test_too_many_dimensions_are_told_of(tmp_path):
    home = ResidentHome(tmp_path)
    home.settings = home.settings.replace(dimensions=17)
    try:
        with pytest.raises(ModelError, match=r"Set embedding.dimensions to 16 or less$"):
            home.start()
    finally:
        home.close()


def test_without_a_model_nothing_is_started_and_the_remedy_is_told(home):
    home.settings = home.settings.replace(model="owner/absent")
    pending = home.ask("記憶")
    assert pending.hits(soon()) is None
    assert pending.problem == (
        f"The embedding model is not installed ({home.settings.model_dir} holds none). "
        "Run: kizami setup --hybrid"
    )
    assert os.listdir(home.env["XDG_RUNTIME_DIR"]) == []


def test_disabled_kizami_asks_and_starts_nothing(home):
    home.env["KIZAMI_DISABLE"] = "1"
    assert home.hits("記憶") is None
    assert not os.path.exists(home.endpoint.attempt_path)


def test_directory_that_others_can_enter_is_not_trusted(home, saved):
    directory = os.path.dirname(home.endpoint.path)
    os.chmod(directory, 0o755)
    assert home.hits("設定") is None
    with pytest.raises(ModelError, match="is not yours alone"):
        starting.start(home.endpoint, home.settings, home.database, home.env)
    os.chmod(directory, 0o700)
    assert {number for number, _ in home.hits("設定")} == set(saved)


def test_socket_and_its_directory_are_closed_to_others(home):
    home.start()
    directory = os.path.dirname(home.endpoint.path)
    assert os.stat(directory).st_mode & 0o777 == 0o700
    modes = {name: os.stat(os.path.join(directory, name)).st_mode & 0o077 for name in os.listdir(directory)}
    assert set(modes.values()) == {0}


def test_directory_whose_name_is_too_long_for_a_socket_is_not_used(home):
    usual = home.endpoint
    assert os.path.dirname(usual.path) == os.path.join(home.env["XDG_RUNTIME_DIR"], "kizami")
    del home.env["XDG_RUNTIME_DIR"]
    home.env["XDG_DATA_HOME"] = "/data"
    assert home.endpoint == usual.replace(path=f"/data/kizami/run/{os.path.basename(usual.path)}")
    home.env["XDG_DATA_HOME"] = "/" + "long" * 30
    assert home.endpoint == usual.replace(path=f"/tmp/kizami-{os.getuid()}/{os.path.basename(usual.path)}")


def test_vectors_of_another_model_give_a_problem_with_the_remedy(home, saved):
    other = home.settings
    home.settings = home.settings.replace(dimensions=8)
    home.start()
    pending = home.ask("設定")
    assert pending.hits(soon()) is None
    pending.close()
    assert pending.problem.endswith("Run: kizami embed --backfill")
    home.settings = other
    assert {number for number, _ in home.hits("設定")} == set(saved)


def test_database_that_is_gone_gives_a_problem_and_the_process_goes_on(home, saved):
    pending = home.ask("設定", database="/nowhere/memory.db")
    assert pending.hits(soon()) is None
    pending.close()
    assert "FileNotFoundError" in pending.problem
    assert {number for number, _ in home.hits("設定")} == set(saved)


def test_more_connections_than_the_process_takes_are_hung_up_on(home, saved):
    peers = [socket.socket(socket.AF_UNIX) for _ in range(80)]
    for peer in peers:
        peer.connect(home.endpoint.path)
    assert peers[-1].recv(1) == b""
    for peer in peers:
        peer.close()
    wait_until(lambda: {number for number, _ in home.hits("設定") or ()} == set(saved))
