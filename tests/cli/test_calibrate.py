"""`kizami calibrate`: the curve as a person sees it, and the gate it writes."""

import json
import random
import re

import pytest

from memories import MemoryBook

SHOP, GARDEN = "/home/dev/shop", "/home/dev/garden"


def words(number):
    """Twenty words that stand nowhere else."""
    chance = random.Random(number)
    return " ".join("".join(chance.choices("bcdfghjklmnpqrstvwxz", k=9)) for _ in range(20))


@pytest.fixture
def history(home):
    """A shop's 31 prompts, of which the last asks what the first asked, "続けて", and one of a garden."""
    book = MemoryBook(home.database)
    for number in range(31):
        book.add(
            words(number % 30),
            f"Answer {number}.",
            session=f"s{number}",
            project=SHOP,
            at=f"2025-03-{number + 1:02} 09:00:00",
        )
    book.add("続けて", "はい。", session="steers", project=SHOP, at="2025-03-31 10:00:00")
    book.add(words(99), "Roses.", session="g", project=GARDEN, at="2025-03-31 11:00:00")
    book.connection.close()
    home.write_config(hooks={"minRelevanceScore": 0.27})
    return home


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def lines(text):
    return [line.rstrip() for line in plain(text).split("\n")]


def gate_of(home):
    return json.loads(home.config.read_text(encoding="utf-8"))["hooks"]["minRelevanceScore"]


# --- the curve ---


def test_the_curve_on_a_terminal_of_80_columns(history, on_terminal):
    code, seen = on_terminal("calibrate", "--false-fires", "5%")
    assert code == 0
    shown = lines(seen)
    assert shown[:14] == [
        "Sample         33 prompts of 2 projects, 2025-03-01 to 2025-03-31",
        "               1 of them only steer: nothing is ever shown for these",
        "",
        "Gate  Own prompts  Unrelated memories  Found again",
        "0.05          3 %          0 % (0–11)        100 %  chosen",
        "0.10          3 %          0 % (0–11)        100 %",
        "0.15          3 %          0 % (0–11)        100 %",
        "0.20          3 %          0 % (0–11)        100 %",
        "0.25          3 %          0 % (0–11)        100 %",
        "0.27          3 %          0 % (0–11)        100 %  present",
        "0.30          3 %          0 % (0–11)        100 %",
        "0.35          3 %          0 % (0–11)        100 %",
        "0.40          3 %          0 % (0–11)        100 %",
        "0.45          3 %          0 % (0–11)        100 %",
    ]
    assert [line[:4] for line in shown[14:20]] == ["0.50", "0.55", "0.60", "0.70", "0.80", "0.90"]
    assert shown[20:26] == [
        "",
        "Own prompts    as they were asked then: something would have been shown",
        "Unrelated      in an unrelated project: false (true rate within, 95 %)",
        "Found again    with half their words: their own turn would have been shown",
        "",
        "Nearest to the gate of 0.05 (kizami calibrate --review asks you about them):",
    ]
    begun = words(0)[:40]
    rest = " ".join(" ".join(shown[26:]).split())
    assert re.fullmatch(
        rf"[01]\.\d\d {begun}[^…]*… #1 2025-03-01 {begun}[^…]*… "
        "Chosen 0.05: 0 of 32 fire falsely, the true rate lies within 0–11 % "
        "To set it: kizami calibrate --false-fires 5% --write",
        rest,
    )
    assert max(map(len, shown)) <= 80


def test_the_curve_in_a_pipe_has_a_row_for_each_gate_and_the_present_one(history, kizami):
    done = kizami("calibrate")
    assert done.exit_code == 0
    rows = [line.split("\t") for line in done.stdout.split("\n") if "\t" in line]
    assert [row[0] for row in rows] == [
        *("0.05", "0.10", "0.15", "0.20", "0.25", "0.27", "0.30", "0.35", "0.40", "0.45", "0.50"),
        *("0.55", "0.60", "0.70", "0.80", "0.90"),
    ]
    assert [row[0] for row in rows if row[-1] == "present"] == ["0.27"]
    assert "Chosen" not in done.stdout


def test_json_holds_the_whole_curve(history, kizami):
    found = json.loads(kizami("calibrate", "--json", "--false-fires", "0.05").stdout)
    gates = found.pop("gates")
    (nearest,) = found.pop("nearest")
    assert found == {"prompts": 33, "steering": 1, "present_gate": 0.27, "chosen_gate": 0.05}
    assert len(gates) == 91
    assert gates[0] == {
        "gate": 0.05,
        "own_prompts": pytest.approx(
            {"part": 1, "whole": 33, "share": 1 / 33, "low": 0.0054, "high": 0.1532}, abs=1e-4
        ),
        "unrelated_memories": pytest.approx(
            {"part": 0, "whole": 32, "share": 0, "low": 0, "high": 0.1072}, abs=1e-4
        ),
        "found_again": pytest.approx(
            {"part": 32, "whole": 32, "share": 1, "low": 0.8928, "high": 1}, abs=1e-4
        ),
    }
    assert (nearest["prompt"], nearest["memory"]["id"]) == (words(0), 1)
    assert (
        kizami("calibrate", "--json", "--false-fires", "0.05").stdout
        == kizami("calibrate", "--json", "--false-fires", "5%").stdout
    )


def test_a_sample_of_one_project_and_of_few_prompts(history, kizami):
    assert json.loads(kizami("calibrate", "--json", "--project", SHOP).stdout)["prompts"] == 32
    assert json.loads(kizami("calibrate", "--json", "--limit", "5").stdout)["prompts"] == 5


def test_hybrid_mode_is_told_what_is_not_measured(history, kizami):
    assert "vectors" not in kizami("calibrate", "--limit", "1").stderr
    history.write_config(search={"mode": "hybrid"})
    assert "The gate is measured by words alone" in kizami("calibrate", "--limit", "1").stderr


# --- the gate that is written ---


def test_nothing_is_written_unless_asked_for(history, kizami):
    before = history.config.read_bytes()
    assert kizami("calibrate", "--false-fires", "5%").exit_code == 0
    assert history.config.read_bytes() == before
    assert list(history.config.parent.iterdir()) == [history.config]


def test_the_gate_is_written_among_the_other_settings_with_a_backup(history, kizami):
    before = '{\n  "hooks": {"recallLimit": 2,  "minRelevanceScore": 2.7e-1},\n  "mine": [1,2]\n}\n'
    history.config.write_text(before, encoding="utf-8")
    history.config.chmod(0o640)
    done = kizami("calibrate", "--false-fires", "5%", "--write")
    assert done.exit_code == 0
    assert history.config.read_text(encoding="utf-8") == before.replace("2.7e-1", "0.05")
    assert history.config.stat().st_mode & 0o777 == 0o640
    (backup,) = set(history.config.parent.iterdir()) - {history.config}
    assert backup.read_text(encoding="utf-8") == before
    written = done.stdout.split("\n")[-3:-1]
    assert written == [
        f"Written        hooks.minRelevanceScore 0.05 in {history.config}",
        f"Written        what the file was before: {backup}",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, {"hooks": {"minRelevanceScore": 0.05}}),
        ('{"search": {"mode": "core"}}', {"search": {"mode": "core"}, "hooks": {"minRelevanceScore": 0.05}}),
        ('\ufeff{"hooks": {}}', {"hooks": {"minRelevanceScore": 0.05}}),
    ],
)
def test_a_gate_that_was_not_set_is_added(history, kizami, before, after):
    history.config.unlink()
    if before is not None:
        history.config.write_text(before, encoding="utf-8")
    done = kizami("calibrate", "--false-fires", "5%", "--write", "--json")
    assert (done.exit_code, json.loads(done.stdout)["chosen_gate"]) == (0, 0.05)
    text = history.config.read_text(encoding="utf-8")
    assert json.loads(text.removeprefix("\ufeff")) == after
    assert text.startswith("\ufeff") == (before or "").startswith("\ufeff")
    assert "hooks.minRelevanceScore 0.05" in done.stderr
    assert ("what the file was before" in done.stderr) == (before is not None)


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ('{"hooks": {', "is not JSON"),
        ("[]", "the file is not an object"),
        ('{"hooks": 1}', '"hooks" is not an object'),
    ],
)
def test_a_file_that_cant_be_understood_is_left_as_it_is(history, kizami, before, told):
    history.config.write_text(before, encoding="utf-8")
    done = kizami("calibrate", "--false-fires", "5%", "--write")
    assert done.exit_code == 1
    assert told in done.stderr.split("\n")[-2]
    assert "left as it is" in done.stderr
    assert history.config.read_text(encoding="utf-8") == before
    assert list(history.config.parent.iterdir()) == [history.config]


# --- refusals ---


def test_few_prompts_choose_no_gate_unless_forced(history, kizami):
    done = kizami("calibrate", "--limit", "29", "--false-fires", "5%", "--write")
    assert done.exit_code == 1
    assert "Only 28 prompts could be asked of unrelated memories" in done.stderr
    assert "--force" in done.stderr
    assert "0.90\t" in done.stdout
    assert gate_of(history) == 0.27
    assert kizami("calibrate", "--limit", "29", "--false-fires", "5%", "--write", "--force").exit_code == 0
    assert gate_of(history) == 0.05


def test_one_project_alone_tells_no_false_fires(home, kizami):
    home.save(("Which queue sends the mails of the invoices?", "RabbitMQ."))
    done = kizami("calibrate", "--false-fires", "5%", "--force")
    assert done.exit_code == 1
    assert done.stderr.endswith(
        "There are no two unrelated projects with memories, so no false fire can be told. "
        "`kizami calibrate --review` lets you judge.\n"
    )
    rows = [line.split("\t") for line in done.stdout.split("\n") if "\t" in line]
    assert {row[2] for row in rows} == {"–"}
    assert "0.00" in [row[0] for row in rows]


def test_an_index_that_finds_nothing_chooses_no_gate(home, kizami):
    book = MemoryBook(home.database)
    for number, project in enumerate((SHOP, GARDEN)):
        # Longer words are found without the index too, as slips of the keyboard.
        short = " ".join(word[:4] for word in words(number).split())
        book.add(short, "Done.", session=f"s{number}", project=project)
    book.connection.execute("INSERT INTO chunks_words(chunks_words) VALUES ('delete-all')")
    book.connection.close()
    done = kizami("calibrate", "--false-fires", "5%", "--force", "--write")
    assert done.exit_code == 1
    assert "`kizami doctor` tells what is wrong, and --repair builds it anew." in done.stderr
    assert not home.config.exists()


def test_false_fires_that_no_gate_avoids_are_refused(home, kizami):
    book = MemoryBook(home.database)
    for number in range(4):
        book.add(
            words(number // 2), words(number // 2), session=f"s{number}", project=(SHOP, GARDEN)[number % 2]
        )
    book.connection.close()
    gates = json.loads(kizami("calibrate", "--json").stdout)["gates"]
    assert gates[-1]["unrelated_memories"]["part"] == 4
    done = kizami("calibrate", "--false-fires", "0%", "--force")
    assert done.exit_code == 1
    assert "No gate has at most 0 % false fires. Allow more: --false-fires 5%." in done.stderr


def test_without_prompts_there_is_nothing_to_ask(home, kizami):
    MemoryBook(home.database).connection.close()
    done = kizami("calibrate")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "`kizami backfill` saves the history on disk" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--write",), 2, "--write needs what to choose by"),
        (("--false-fires", "5"), 2, "Write 5% or 0.05"),
        (("--false-fires", "few"), 2, "Write 5% or 0.05"),
        (("--false-fires", "-1%"), 2, "Write 5% or 0.05"),
        (("--false-fires", "nan"), 2, "Write 5% or 0.05"),
        (("--review", "--json"), 2, "--review goes without"),
        (("--review", "--false-fires", "5%"), 2, "--review goes without"),
        (("--review",), 1, "stdin is no terminal"),
    ],
)
def test_what_does_not_go_together_is_refused(history, kizami, arguments, code, told):
    done = kizami("calibrate", *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert told in done.stderr


# --- judged by the person ---


@pytest.fixture
def judged(home):
    """Twelve prompts that were asked twice, word for word, and in another order of relevance."""
    book = MemoryBook(home.database)
    for number in range(24):
        told = words(number % 12).split()[: 4 + number % 12]
        book.add(
            " ".join(told),
            f"Answer {number}.",
            session=f"s{number}",
            project=SHOP,
            at=f"2025-03-{number + 1:02} 09:00:00",
        )
    book.connection.close()
    return home


def test_a_review_fits_the_gate_to_the_answers_and_asks_before_it_writes(judged, on_terminal):
    code, seen = on_terminal("calibrate", "--review", answer=b"y\nn\ns\n" + b"y\nn\n" * 4 + b"y\nq\ny\n")
    shown = plain(seen)
    assert code == 0
    assert "12 prompts of yours, each with the memory that came nearest to the gate." in shown
    assert "Your answers   6 wanted, 5 not" in shown
    gate = re.search(r"^Gate +(0\.\d\d) agrees best", shown, re.MULTILINE)[1]
    assert gate_of(judged) == float(gate)
    assert re.search(r"^1/12 +\w{9} ", shown, re.MULTILINE)


def test_a_review_with_few_answers_changes_nothing(judged, on_terminal):
    code, seen = on_terminal("calibrate", "--review", "--write", answer=b"y\nn\nq\n")
    assert code == 1
    assert "That fits no gate" in plain(seen)
    assert not judged.config.exists()


def test_a_review_writes_nothing_when_the_answer_is_no(judged, on_terminal):
    code, _ = on_terminal("calibrate", "--review", answer=b"y\nn\n" * 6 + b"n\n")
    assert (code, judged.config.exists()) == (0, False)


def test_a_review_with_write_asks_no_more(judged, on_terminal):
    code, seen = on_terminal("calibrate", "--review", "--write", answer=b"y\nn\n" * 6)
    assert code == 0
    assert "Set hooks" not in seen
    assert 0.05 <= gate_of(judged) <= 0.95
