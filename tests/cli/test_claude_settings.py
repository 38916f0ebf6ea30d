import json
import os
import stat

import pytest

from kizami_cli import claude_settings
from kizami_cli.claude_settings import read_settings, with_hooks, without_hooks, write_settings
from kizami_cli.hook_command import Program
from kizami_core.errors import SettingsError

PROGRAM = Program("/home/dev/.local/bin/kizami")
SAVE = {"type": "command", "command": "/home/dev/.local/bin/kizami save --stdin", "timeout": 30}
RECALL = {"type": "command", "command": "/home/dev/.local/bin/kizami recall --stdin", "timeout": 10}
INJECT = {"type": "command", "command": "/home/dev/.local/bin/kizami inject --stdin", "timeout": 10}
ALL = {
    "Stop": [{"hooks": [SAVE]}],
    "PreCompact": [{"hooks": [SAVE]}],
    "SessionEnd": [{"hooks": [SAVE]}],
    "UserPromptSubmit": [{"hooks": [RECALL]}],
    "SessionStart": [{"hooks": [INJECT]}],
}
OTHER = {"type": "command", "command": "mytool --日本語"}
TYPESCRIPT_SAVE = {
    "type": "command",
    "command": """bash -c 'trap "" INT TERM; kizami save --stdin 2>> /home/dev/kizami/error.log'""",
}
TYPESCRIPT_RECALL = {"type": "command", "command": "kizami recall --stdin"}
NOW = 1_920_000_000.0

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the golden commands are those of a POSIX shell")


@pytest.fixture
def settings_of(tmp_path):
    def write(content):
        path = tmp_path / "settings.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_settings(str(path))

    return write


def pretty(value, indent=2):
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


UNTOUCHED = [
    "{}\n",
    "{}",
    '{"model":"opus"}',
    '{ "model": "opus", "n": 1.50e3, "s": "\\u65e5\\/" }\n',
    pretty({"model": "opus", "env": {"名前": "値"}, "permissions": {"allow": ["Bash(ls:*)", "Read"]}}),
    '{\n    "permissions": {"allow": ["Bash(ls:*)"]},\n    "n": 12345678901234567890,\n    "x": []\n}\n',
    '{\r\n\t"model": "opus"\r\n}\r\n',
    "\ufeff" + pretty({"model": "opus"}),
    pretty({"hooks": {"Stop": [{"hooks": [OTHER]}]}, "model": "opus"}),
    pretty({"hooks": {"SessionEnd": [{"matcher": "clear", "hooks": [OTHER]}], "PreToolUse": []}}, indent=4),
    '{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"prompt","prompt":"kizami recall --stdin"}]}]}}',
    pretty({"hooks": {"SessionEnd": [{"hooks": []}, "odd", {"hooks": {"a": 1}}, {}], "Odd": "shape"}}),
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_uninstalling_gives_back_every_byte_of_what_was_there(settings_of, text):
    settings = settings_of(text)
    installed = with_hooks(settings, PROGRAM)
    write_settings(settings, installed, NOW)
    settings = read_settings(settings.path)
    assert with_hooks(settings, PROGRAM) == settings.text
    write_settings(settings, without_hooks(settings), NOW)
    with open(settings.path, "rb") as file:
        assert file.read() == text.encode()


@pytest.mark.parametrize("text", UNTOUCHED)
def test_installing_adds_the_hooks_and_nothing_else(settings_of, text):
    settings = settings_of(text)
    before, after = json.loads(settings.text), json.loads(with_hooks(settings, PROGRAM))
    hooks = before.get("hooks", {})
    added = {event: [*hooks.get(event, []), *ALL[event]] for event in ALL}
    assert after == {**before, "hooks": {**hooks, **added}}
    assert list(after)[: len(before)] == list(before)


def test_a_new_file_is_laid_out_like_claude_codes(settings_of):
    assert with_hooks(settings_of("{}\n"), PROGRAM) == pretty({"hooks": ALL})


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        pytest.param(
            {
                "SessionEnd": [{"hooks": [TYPESCRIPT_SAVE]}],
                "UserPromptSubmit": [{"hooks": [TYPESCRIPT_RECALL]}],
            },
            {**ALL},
            id="the TypeScript Kizami's hooks are replaced in place",
        ),
        pytest.param(
            {"UserPromptSubmit": [{"matcher": "", "hooks": [OTHER, TYPESCRIPT_RECALL, OTHER]}]},
            {
                **ALL,
                "UserPromptSubmit": [{"matcher": "", "hooks": [OTHER, RECALL, OTHER]}],
            },
            id="a block shared with another tool keeps it",
        ),
        pytest.param(
            {
                "SubagentStop": [{"hooks": [TYPESCRIPT_SAVE]}, {"hooks": [OTHER]}],
                "SessionEnd": [{"hooks": [TYPESCRIPT_SAVE]}],
            },
            {"SubagentStop": [{"hooks": [OTHER]}], **ALL},
            id="a hook on an event that is not used any more goes",
        ),
        pytest.param(
            {event: ALL[event] for event in ("SessionEnd", "UserPromptSubmit", "SessionStart")},
            ALL,
            id="those of a version that saved only at the end stay and the others are added",
        ),
        pytest.param(
            {"SessionEnd": [{"hooks": [SAVE, TYPESCRIPT_SAVE]}, {"hooks": [SAVE]}]},
            ALL,
            id="what stands twice stands once",
        ),
        pytest.param(
            {**ALL, "SessionEnd": [{"hooks": [{**SAVE, "timeout": 55}]}]},
            {**ALL, "SessionEnd": [{"hooks": [{**SAVE, "timeout": 55}]}]},
            id="a timeout that a person chose stays",
        ),
        pytest.param(
            {**ALL, "SessionEnd": [{"hooks": [{"type": "command", "command": SAVE["command"]}]}]},
            ALL,
            id="a missing timeout is added",
        ),
        pytest.param(
            {"SessionEnd": [{"hooks": [{**SAVE, "command": "/old/venv/bin/kizami save --stdin"}]}]},
            ALL,
            id="a path that moved is corrected",
        ),
        pytest.param(
            {"SessionEnd": [{"hooks": [{"type": "command", "command": "mytool && kizami save --stdin"}]}]},
            {
                **ALL,
                "SessionEnd": [
                    {"hooks": [{"type": "command", "command": "mytool && kizami save --stdin"}]},
                    *ALL["SessionEnd"],
                ],
            },
            id="one command that also runs another tool is left",
        ),
    ],
)
def test_installing_over_older_hooks(settings_of, hooks, expected):
    settings = settings_of(pretty({"hooks": hooks}))
    text = with_hooks(settings, PROGRAM)
    assert json.loads(text) == {"hooks": expected}
    assert with_hooks(settings_of(text), PROGRAM) == text


def test_uninstalling_removes_every_kizami_and_what_it_leaves_empty(settings_of):
    hooks = {
        "SessionEnd": [{"hooks": [TYPESCRIPT_SAVE]}, {"matcher": "x", "hooks": [SAVE]}],
        "UserPromptSubmit": [{"hooks": [OTHER, RECALL]}],
        "SessionStart": [{"hooks": [INJECT]}],
    }
    text = without_hooks(settings_of(pretty({"hooks": hooks, "model": "opus"})))
    assert text == pretty({"hooks": {"UserPromptSubmit": [{"hooks": [OTHER]}]}, "model": "opus"})
    assert without_hooks(settings_of(pretty({"hooks": ALL}))) == "{}\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{\n  // a remark\n  "model": "opus"\n}', "not valid JSON"),
        (b'{"model": "opus",}', "not valid JSON"),
        (b'{"hooks": {}, "hooks": {}}', "stands twice"),
        (b"[]", "the file is not an object"),
        (b'{"hooks": []}', '"hooks" is not an object'),
        (b'{"hooks": null}', '"hooks" is not an object'),
        (b'{"hooks": {"SessionEnd": {}}}', '"hooks.SessionEnd" is not a list'),
        (b'{"model": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_not_understood_is_refused_and_left(settings_of, tmp_path, content, reason):
    with pytest.raises(SettingsError, match=reason) as caught:
        settings_of(content)
    assert str(caught.value).endswith("then try again.")
    assert (tmp_path / "settings.json").read_bytes() == content
    assert os.listdir(tmp_path) == ["settings.json"]


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_an_empty_file_counts_as_no_settings(settings_of, content):
    assert json.loads(with_hooks(settings_of(content), PROGRAM)) == {"hooks": ALL}


def test_each_change_keeps_a_backup_and_the_mode(settings_of, tmp_path):
    settings = settings_of('{"a": 1}')
    os.chmod(settings.path, 0o640)
    first = write_settings(settings, '{"a": 2}', NOW)
    second = write_settings(read_settings(settings.path), '{"a": 3}', NOW)
    contents = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert contents == {
        "settings.json": '{"a": 3}',
        os.path.basename(first): '{"a": 1}',
        os.path.basename(second): '{"a": 2}',
    }
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in (settings.path, first, second)} == {0o640}


def test_a_missing_file_is_created_private(tmp_path):
    path = str(tmp_path / "claude" / "settings.json")
    settings = read_settings(path)
    assert (settings.original, write_settings(settings, "{}\n", NOW)) == (None, "")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path / "claude") == ["settings.json"]


def test_a_symbolic_link_stays_a_link(tmp_path):
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text("{}", encoding="utf-8")
    link = tmp_path / "settings.json"
    link.symlink_to(dotfiles / "claude.json")
    settings = read_settings(str(link))
    backup = write_settings(settings, '{"a": 1}', NOW)
    assert link.is_symlink()
    assert (dotfiles / "claude.json").read_text(encoding="utf-8") == '{"a": 1}'
    assert os.path.dirname(backup) == str(dotfiles)


def test_a_file_that_changed_meanwhile_is_not_overwritten(settings_of, tmp_path):
    settings = settings_of('{"a": 1}')
    (tmp_path / "settings.json").write_text('{"a": "by Claude Code"}', encoding="utf-8")
    with pytest.raises(SettingsError, match="changed by another program"):
        write_settings(settings, '{"a": 2}', NOW)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ['{"a": "by Claude Code"}']


def test_a_directory_that_cant_be_written_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    settings = claude_settings.SettingsFile(str(tmp_path / "file" / "settings.json"), None, "{}\n")
    with pytest.raises(SettingsError, match="mend the permissions"):
        write_settings(settings, "{}", NOW)


def test_what_keeps_hooks_from_working_is_said(settings_of):
    settings = settings_of(
        pretty(
            {"disableAllHooks": True, "hooks": {"Stop": [{"hooks": [{"command": "a; kizami save --stdin"}]}]}}
        )
    )
    warnings = claude_settings.warnings(settings, Program("/home/dev/.cache/uv/archive-v0/x/bin/kizami"))
    assert [warning.split(",")[0].split(" lies")[0] for warning in warnings] == [
        '"disableAllHooks" is true there',
        "Stop runs Kizami together with something else; take it out there: a; kizami save --stdin",
        "/home/dev/.cache/uv/archive-v0/x/bin/kizami",
    ]
    assert claude_settings.warnings(settings_of("{}"), PROGRAM) == []
