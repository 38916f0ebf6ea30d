"""What a chunk mentions."""

import pytest

from kizami_core.records import Metadata
from kizami_core.transcript.metadata import extract_metadata


def test_a_chunk_mentions_files_tools_and_errors():
    text = """[User]
src/app.py の `設計/認証.md` と C:\\Users\\太郎\\x.py、C:\\work\\main.rs を見て

[Assistant]
Fixed lib/token.ts and README.md.

[Tool: Read] /home/dev/設計 書.md → 1→x
[Tool: mcp__a-b] q: x
[Tool: Bash] pytest -x → Error: Exit code 1
E   TypeError: can't add
[Tool: Read] /home/dev/設計 書.md"""
    assert extract_metadata(text) == Metadata(
        file_paths=(
            "/home/dev/設計 書.md",
            "src/app.py",
            "x.py",
            "C:\\work\\main.rs",
            "lib/token.ts",
            "README.md",
            "設計/認証.md",
        ),
        tool_names=("Read", "mcp__a-b", "Bash"),
        error_messages=("Error: Exit code 1", "E   TypeError: can't add"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "version 1.2.3, v2.0.rc1, 3.11",
        "example.com, user@example.com, https://github.com/a/b.git, http://localhost:3000/index.html",
        "github.com/AlecAivazis/survey/main.go www.example.co.jp/a/b.html",
        "obra/dev.example.com",
        "console.log(e.g. this.state) and/or, Node.js Next.js",
        "`https://example.com/日本語.md` `関数.呼び出し`",
        "1/2.5 2024/01/15 ... ./ ../ .. a/b",
        "",
    ],
)
def test_versions_domains_and_urls_are_no_files(text):
    assert extract_metadata(text).file_paths == ()


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/app.tsを直す", ("src/app.ts",)),
        ("修正したsrc/app.ts:12:3", ("src/app.ts",)),
        ("@docs/plan.md を読んで", ("docs/plan.md",)),
        ("(./a/b.test.tsx), ../c.go. ~/d.toml", ("./a/b.test.tsx", "../c.go", "~/d.toml")),
        ("/etc/nginx/nginx.conf /usr/lib/x.unknown", ("/etc/nginx/nginx.conf", "/usr/lib/x.unknown")),
        ("Dockerfile, api/Makefile, .env, .env.local", ("Dockerfile", "api/Makefile", ".env", ".env.local")),
        ("D:/repo/x.cs", ("D:/repo/x.cs",)),
        ("a.py a.py b.py", ("a.py", "b.py")),
        ("scripts/test.sh tools/app.dev", ("scripts/test.sh", "tools/app.dev")),
    ],
)
def test_paths_are_found_in_prose(text, paths):
    assert extract_metadata(text).file_paths == paths


@pytest.mark.parametrize(
    "line",
    [
        "TypeError: x is not a function",
        "error[E0308]: mismatched types",
        "npm error: missing script",
        "fatal: not a git repository",
        "java.lang.NullPointerException: null",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "Traceback (most recent call last):",
        "FAILED tests/test_a.py::test_b",
        "エラー: 接続できません",
        "ビルドに失敗しました",
    ],
)
def test_error_lines_are_found(line):
    assert extract_metadata(f"[Assistant]\n前\n{line}\n後").error_messages == (line,)


@pytest.mark.parametrize(
    "text",
    [
        "エラー処理を追加した。No errors found. error handling",
        '   10→    raise ValueError("Error: no")\n11\tError: x',
        "except ValueError:\n    raise TypeError: no",
        "console.error('Error: x'); const myError: string",
    ],
)
def test_code_and_prose_about_errors_are_none(text):
    assert extract_metadata(text).error_messages == ()


def test_an_error_behind_a_command_is_shown_without_the_command():
    text = "[Tool: Bash] git commit -m 'x\ny' → Error: hook failed\n[Tool: Bash] a → Error: b"
    assert extract_metadata(text).error_messages == ("Error: hook failed", "Error: b")


def test_a_line_with_two_errors_counts_once():
    assert extract_metadata("TypeError: x (ValueError: y)").error_messages == (
        "TypeError: x (ValueError: y)",
    )


def test_lists_are_bounded_and_without_repeats():
    text = (
        "\n".join(f"[Tool: T{n}] Error: {'長' * 300} {n} src/f{n}.py" for n in range(50))
        + "\n"
        + "x/" * 200
        + "y.py"
    )
    found = extract_metadata(text)
    assert (len(found.file_paths), len(found.tool_names), len(found.error_messages)) == (20, 20, 10)
    assert len(found.error_messages[0]) == 200
    assert all(len(path) <= 300 for path in found.file_paths)
