import ast
import gettext
import importlib.util
import json
import plistlib
import re
import string
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Span, Text

from kizami_cli.__main__ import hook_name
from kizami_cli.app import BUILT_IN
from kizami_cli.language import LOCALE_FOLDER, _, apple_language, chosen_language, error_text
from kizami_cli.text_width import columns_of, wrapped
from kizami_cli.wide_text import WideText
from kizami_core.errors import ConfigError
from kizami_core.messages import Message, part

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path(LOCALE_FOLDER) / "ja/LC_MESSAGES/messages.po"
JAPANESE = {"LANG": "ja_JP.UTF-8"}
SESSION_ID = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"
# What these modules say is for Claude Code, for logs, for programmers or for another process of Kizami's.
NOT_FOR_PEOPLE = {
    "kizami_cli/hooks.py",
    "kizami_cli/capture_hook.py",
    "kizami_core/__init__.py",
    "kizami_core/json_text.py",
    "kizami_core/records.py",
    "kizami_hybrid/resident/answers.py",
    "kizami_hybrid/resident/protocol.py",
    "kizami_hybrid/resident/server.py",
}
# Function → where its text for people stands.
SPEAKING = {
    **dict.fromkeys(("show", "say", "echo", "confirm", "prompt", "ClickException", "UsageError"), slice(1)),
    "BadParameter": slice(1),
    "show_field": slice(1, 2),
    "Finding": slice(2, 4),
}
# %(name)s of click's; the others are taken apart by string.Formatter.
PERCENT = re.compile(r"%\(\w+\)[a-z]")
SOURCE = '''
LEAST = 3

@click.command("count")
@click.option("--least", help=f"At least {LEAST}.")
def command():
    """Count, twice.

    More of it.
    """
    raise KizamiError(Message("{path} is there", path="a"))
    show(count(3, "chunk"))
    show_table(["id", *(["first prompt"] if is_long else [])], rows)
    show_field("  files", name)
    show(_("yes" if is_so else "no"))
    log("neither this")
'''
HAS_JAPANESE = re.compile(r"[ぁ-んァ-ヶ一-龠]")


@pytest.fixture(scope="module")
def tool():
    """tools/messages.py, which knows what a sentence of the sources is."""
    path = ROOT / "tools" / "messages.py"
    if not path.exists():
        pytest.skip("tools/ is not here")
    spec = importlib.util.spec_from_file_location("kizami_messages_tool", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def catalogue(tool):
    return tool.read_catalogue(CATALOGUE)


def fields(text):
    """The placeholders of a template with their conversions and formats, each once."""
    named = {
        (name, conversion, form) for _text, name, form, conversion in string.Formatter().parse(text) if name
    }
    return named | set(PERCENT.findall(text))


# The catalogue


def test_every_sentence_of_the_sources_is_translated(tool, catalogue):
    assert tool.untranslated(tool.updated(catalogue)) == []


def test_no_translation_is_left_of_a_sentence_that_is_gone(tool, catalogue):
    said = {message.id for message in tool.updated(catalogue)}
    assert [message.id for message in catalogue if message.id not in said] == []


def test_the_tool_finds_every_kind_of_sentence_and_nothing_else(tool, tmp_path):
    source = tmp_path / "packages" / "one" / "src" / "one.py"
    source.parent.mkdir(parents=True)
    source.write_text(SOURCE, encoding="utf-8")
    assert set(tool.source_messages(tmp_path)) == {
        "Count, twice.\n\nMore of it.",
        "At least 3.",
        "{path} is there",
        "{number} chunk",
        "{number} chunks",
        "id",
        "first prompt",
        "files",
        "yes",
        "no",
    }


def test_what_the_tool_finds_of_click_is_what_this_click_says(tool):
    found = tool.click_messages()
    assert "Usage:" in found
    assert "Show this message and exit." in found
    assert ("{value!r} is not {choice}.", "{value!r} is not one of {choices}.") in found


def test_translations_have_the_fields_of_their_sentence(catalogue):
    for message in catalogue:
        if not message.id:
            continue
        if isinstance(message.id, str):
            assert fields(message.string) == fields(message.id), message.id
        else:  # click gives both forms all fields
            assert fields(message.string[0]) <= set.union(*map(fields, message.id)), message.id


def test_translations_are_japanese_where_the_sentence_has_words(catalogue):
    same = [
        message.id
        for message in catalogue
        if isinstance(message.id, str)
        and re.search(r"\b[a-z]{3,}\b", re.sub(r"\{[^}]*\}|\"[^\"]*\"", "", message.id))
        and not HAS_JAPANESE.search(str(message.string))
    ]
    assert same == []


def test_the_compiled_catalogue_is_what_the_written_one_says(catalogue):
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog
    compiled.pop("")
    written = {}
    for message in catalogue:
        if message.id and isinstance(message.id, str) and message.string:
            written[message.id] = message.string
        elif message.id and message.string:
            written[message.id[0], 0] = message.string[0]
    assert compiled == written


def test_every_sentence_that_is_said_goes_through_the_catalogue():
    modules = sorted(ROOT.glob("packages/*/src/*/**/*.py"))
    assert [place for path in modules for place in bare_texts(path)] == []


def bare_texts(path):
    """Where a module says a literal, or a sentence glued together by an f-string."""
    package, _src, name = path.relative_to(ROOT / "packages").as_posix().split("/", 2)
    if name in NOT_FOR_PEOPLE:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        place = slice(1) if called.endswith("Error") else SPEAKING.get(called, slice(0))
        for argument in node.args[place]:
            parts = getattr(argument, "values", [argument])
            text = " ".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
            if re.search(r"[A-Za-z]{3,}", text):
                yield f"{package}/src/{name}:{node.lineno}: {ast.unparse(argument)}"


# Which language


@pytest.mark.parametrize(
    ("arguments", "environ", "expected"),
    [
        ((), {}, "en"),
        ((), {"LANG": "ja_JP.UTF-8"}, "ja"),
        ((), {"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ((), {"LANG": "en_US.UTF-8", "LC_MESSAGES": "en_US.UTF-8", "LC_ALL": "ja_JP"}, "ja"),
        ((), {"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
        ((), {"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ((), {"LANG": "C.UTF-8", "LANGUAGE": "ja"}, "en"),
        ((), {"LANG": "POSIX"}, "en"),
        ((), {"LANG": "de_DE.UTF-8"}, "en"),
        ((), {"LANG": "de_DE.UTF-8", "LANGUAGE": "de:ja:en"}, "ja"),
        ((), {"LANG": "ja_JP.UTF-8", "LANGUAGE": "en:ja"}, "en"),
        ((), {"LANG": "ja_JP.UTF-8", "KIZAMI_LANG": "en"}, "en"),
        ((), {"KIZAMI_LANG": "ja", "LC_ALL": "C"}, "ja"),
        ((), {"KIZAMI_LANG": "xx", "LANG": "ja_JP.UTF-8"}, "ja"),
        (("--lang", "ja", "list"), {"KIZAMI_LANG": "en"}, "ja"),
        (("list", "--lang=en"), {"LANG": "ja_JP.UTF-8"}, "en"),
        (("list", "--lang"), {"LANG": "ja_JP.UTF-8"}, "ja"),
        (("search", "--", "--lang", "ja"), {}, "en"),
        (("list", "--lang", "fr"), {"LANG": "ja_JP.UTF-8"}, "ja"),
    ],
)
def test_language_is_the_options_else_the_variables(arguments, environ, expected, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert chosen_language(arguments, environ) == expected


def test_macos_tells_its_language_where_no_variable_does(tmp_path):
    preferences = tmp_path / ".GlobalPreferences.plist"
    preferences.write_bytes(plistlib.dumps({"AppleLanguages": ["ja-JP", "en-JP"]}, fmt=plistlib.FMT_BINARY))
    assert apple_language(str(preferences)) == "ja-JP"
    preferences.write_bytes(b"no property list")
    assert apple_language(str(preferences)) == ""
    preferences.write_bytes(plistlib.dumps({"AppleLanguages": []}))
    assert apple_language(str(preferences)) == ""
    assert apple_language(str(tmp_path / "none")) == ""


# Sentences


@pytest.fixture
def japanese(monkeypatch):
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        monkeypatch.setattr("kizami_cli.language._catalogue", gettext.GNUTranslations(file))


def test_fields_are_filled_in_and_braces_without_fields_stay(japanese):
    assert _("{path}: created", path="/tmp/a{b}") == "/tmp/a{b}: 作成しました"
    assert _('{"a": 1} is not in the catalogue') == '{"a": 1} is not in the catalogue'
    assert _("") == ""


def test_messages_bring_their_fields_and_are_translated_within_each_other(japanese):
    inner = Message("{number} chunks", number="1,204")
    assert (inner, _(inner)) == ("1,204 chunks", "チャンク 1,204 個")
    outer = Message("Deleted {chunks}.", chunks=inner)
    assert (outer, _(outer)) == ("Deleted 1,204 chunks.", "チャンク 1,204 個を消去しました。")
    assert _("Deleted {chunks}.", chunks=inner) == "チャンク 1,204 個を消去しました。"


def test_errors_are_told_by_the_message_they_carry(japanese):
    error = ConfigError(Message("{path} does not exist.", path="a.json"))
    assert (str(error), error_text(error)) == ("a.json does not exist.", "a.json はありません。")
    assert _("Without vectors: {problem}", problem=error) == "ベクトルなし: a.json はありません。"
    assert error_text(OSError(2, "No such file")) == "[Errno 2] No such file"
    assert error_text(ValueError()) == ""


def test_halves_of_a_message_are_those_of_its_translation(japanese):
    found, remedy = part(
        Message("{text!r} is neither an age nor a date. Write 12h, 90d, 6w or 2024-01-31.", text="x")
    )
    assert (found, remedy) == ("'x' is neither an age nor a date.", "Write 12h, 90d, 6w or 2024-01-31.")
    assert _(found) == "'x' は期間でも日付でもありません。"
    assert _("→ {remedy}", remedy=remedy) == "→ 12h、90d、6w、2024-01-31 のように書いてください。"


# Lines


def test_lines_are_broken_by_the_columns_that_characters_take():
    assert wrapped("あいうえおかきく", 8) == ["あいうえ", "おかきく"]
    assert wrapped("use kizami list then", 12) == ["use kizami", "list then"]


def test_no_line_begins_with_punctuation_or_ends_with_an_opening_bracket():
    assert wrapped("あいうえ。かき「くけ」", 9) == ["あいう", "え。かき", "「くけ」"]
    assert wrapped("ラップしません", 4) == ["ラッ", "プし", "ませ", "ん"]


def test_words_and_paths_stay_whole_and_spaces_end_a_line_unseen():
    assert wrapped("設定は /tmp/config.json です", 16) == ["設定は", "/tmp/config.json", "です"]
    assert wrapped("a/very/long/path/to/it を読む", 10) == ["a/very/long/path/to/it", "を読む"]
    assert wrapped("", 10) == []


def test_rich_breaks_japanese_where_japanese_may_be_broken_and_keeps_its_marks():
    text = WideText("やり取りは保存されます。次は検索です")
    text.stylize("red", 9, 14)
    console = Console(width=21)
    lines = text.wrap(console, 21)
    assert [(line.plain, line.spans) for line in lines] == [
        ("やり取りは保存されま", [Span(9, 10, "red")]),
        ("す。次は検索です", [Span(0, 4, "red")]),
    ]
    words = "nothing wide stands in this line of words"
    assert list(WideText(words).wrap(console, 21)) == list(Text(words).wrap(console, 21))


def test_a_line_end_between_japanese_characters_is_no_space():
    assert wrapped("日本語の\n文と word\nです", 80) == ["日本語の文と word です"]


# The command line


@pytest.mark.parametrize("arguments", [(), *((name,) for name in BUILT_IN), ("project", "rename")])
def test_japanese_help_of_every_command_fits_into_80_columns(home, arguments):
    done = home.run(*arguments, "--help", env=JAPANESE | {"COLUMNS": "80"})
    text = done.stdout.decode()
    assert done.returncode == 0
    assert text.startswith(f"使い方: kizami {' '.join(arguments)}".rstrip() + " [OPTIONS]")
    assert "この説明を表示して終了します。" in text
    assert [line for line in text.split("\n") if columns_of(line) > 80] == []
    assert [line for line in text.split("\n") if re.search(r"(^ *|  )[A-Z][a-z]+ [a-z]+ [a-z]+", line)] == []


def test_language_is_taken_before_and_after_the_command_and_from_the_locale(home):
    expected = "保存したセッションを一覧します。"
    for arguments, env in (
        (("--lang", "ja", "--help"), {}),
        (("--help", "--lang=ja"), {}),
        (("--help",), JAPANESE),
        (("--help",), {"KIZAMI_LANG": "ja"}),
    ):
        assert expected in home.run(*arguments, env=env).stdout.decode()
    for arguments, env in ((("--help",), {"LANG": "C"}), (("--lang", "en", "--help"), JAPANESE)):
        assert "List the saved sessions." in home.run(*arguments, env=env).stdout.decode()


def test_errors_of_kizami_and_of_click_are_japanese(home):
    done = home.run("list", env=JAPANESE)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        f"エラー: {home.database} にデータベースがまだありません。`kizami setup` を実行すると、"
        "やり取りが回答のたびに保存されるようになります。\n"
    )
    done = home.run("lst", "--lang", "ja")
    assert done.returncode == 2
    assert done.stderr.decode().endswith("コマンド 'lst' はありません。`kizami list` のことですか?\n")
    done = home.run("list", "--limit", "0", env=JAPANESE)
    usage, hint, _empty, error, _end = done.stderr.decode().split("\n")
    assert usage == "使い方: kizami list [OPTIONS]"
    assert re.fullmatch(r"使い方は 'kizami list (--help|-h)' で表示できます。", hint)
    assert error == "エラー: '--limit' の値が正しくありません: 0 は範囲 x>=1 の外です。"
    done = home.run("list", "--lang", "fr", env=JAPANESE)
    assert "'fr' は使えません。選べるのは 'ja', 'en' です。" in done.stderr.decode()


def test_what_commands_say_is_japanese_and_their_json_is_not(home):
    home.save(("状態管理は？", "React Hook Form を採用します。"))
    (home.path / ".config").mkdir(exist_ok=True)
    home.run("setup", "--yes")
    for arguments in (
        ("doctor", "--json"),
        ("search", "React", "--json"),
        ("why", "--prompt", "状態管理は？", "--json"),
        ("setup", "--status", "--json"),
        ("list", "--json"),
        ("stats", "--json"),
        ("export",),
    ):
        english, japanese = (home.run(*arguments, env=env) for env in ({"LANG": "C.UTF-8"}, JAPANESE))
        assert english.returncode == japanese.returncode
        assert without_times(english.stdout) == without_times(japanese.stdout)
    assert home.run("doctor", env=JAPANESE).stdout.decode().startswith("正常\tpython\t")
    found = home.run("search", "Redux", env=JAPANESE).stderr.decode()
    assert found == "当てはまる記憶はありません。--all-projects で全プロジェクトを検索できます。\n"
    assert "関連度" in home.run("search", "React", env=JAPANESE).stdout.decode()
    moved = home.run("delete", "--session", SESSION_ID, "--yes", env=JAPANESE)
    assert moved.stdout.decode() == "チャンク 1 個を消去しました(うちセッション全体が 1 個)。\n"


def without_times(output):
    """JSON without the figures that differ between two runs."""
    text = re.sub(r'"(milliseconds|figures)": \{[^}]*\}', "", output.decode())
    return re.sub(r"[0-9]+(\.[0-9]+)?( MB free)?", "0", text)


def test_tables_with_japanese_headings_stay_aligned(home, on_terminal):
    home.env |= JAPANESE
    home.save(("状態管理のライブラリは何を使うことにした？ 理由も知りたい", "React Hook Form を採用。"))
    home.run("pin", "1")
    code, seen = on_terminal("pin")
    head, row = plain(seen).rstrip("\n").split("\n")
    assert code == 0
    assert head.split() == ["ID", "日時", "印", "記憶"]
    for column, cell in (("日時", "2099-01-01"), ("印", "固定"), ("記憶", "状態管理")):
        assert columns_of(head[: head.index(column)]) == columns_of(row[: row.index(cell)])
    assert columns_of(row) <= 80


def test_labels_stand_in_a_column_of_their_own(home, on_terminal):
    home.env |= JAPANESE
    home.save(("状態管理は？", "React Hook Form を採用します。"))
    piped = home.run("setup", "--status").stdout.decode().split("\n")
    seen = plain(on_terminal("setup", "--status")[1]).split("\n")
    for lines in (piped, seen):
        for label in ("データベース", "設定", "フック"):
            (line,) = (line for line in lines if line.startswith(label))
            assert columns_of(line[: line.index("/")]) == 15


def test_the_language_does_not_hide_a_hook():
    assert hook_name(["--lang", "ja", "recall", "--stdin"]) == "recall"
    assert hook_name(["--lang=ja", "save", "--stdin"]) == "save"


def test_hooks_write_english_whatever_the_locale(home):
    home.write_config(hooks={"recallLimit": "many"})
    done = home.hook("recall", home.prompt("状態管理は？"), env=JAPANESE | {"KIZAMI_LANG": "ja"})
    assert done.out == ""
    assert "hooks.recallLimit must be a whole number" in done.err
    assert not HAS_JAPANESE.search(done.err)
    assert not HAS_JAPANESE.search(home.error_log.read_text(encoding="utf-8"))


def test_json_errors_stay_english(home):
    home.save(("状態管理は？", "React Hook Form を採用します。"))
    status = json.loads(home.run("setup", "--status", "--json", env=JAPANESE).stdout)
    assert not HAS_JAPANESE.search(json.dumps(status, ensure_ascii=False).replace(str(home.path), ""))


def plain(seen):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)


def test_a_line_of_japanese_breaks_before_a_word_rather_than_within_it():
    sentence = "アーカイブ(別のマシンの記憶、控え、メンテナンスで外した分)を取り込みます。"
    assert wrapped(sentence, 59) == [
        "アーカイブ(別のマシンの記憶、控え、メンテナンスで外した",
        "分)を取り込みます。",
    ]
    assert wrapped("漢字" * 8, 20) == ["漢字漢字漢字漢字漢字", "漢字漢字漢字"]
