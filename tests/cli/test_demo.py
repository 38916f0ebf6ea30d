import os


def test_the_demonstration_brings_memories_back_in_both_languages_and_leaves_nothing(home, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    # Neither a switched-off Kizami nor the caller's own directories may reach the demonstration.
    env = {"TMPDIR": str(temporary), "KIZAMI_DISABLE": "1", "XDG_DATA_HOME": str(tmp_path / "data")}
    done = home.run("demo", env=env)
    out = done.stdout.decode("utf-8")
    assert (done.returncode, done.stderr) == (0, b"")
    japanese, english, off_topic = (
        out.split("Two days later")[1],
        *out.split("Two days later")[2].split("And about"),
    )
    assert "client_max_body_size が 1m のまま" in japanese
    assert "SKIP LOCKED" in english
    assert "Claude receives nothing" in off_topic
    assert out.rstrip().endswith("kizami setup")
    assert (os.listdir(temporary), (tmp_path / "data").exists(), home.database.exists()) == ([], False, False)
