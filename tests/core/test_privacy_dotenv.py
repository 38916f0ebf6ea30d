import pytest

from kizami_core.privacy.dotenv import (
    mask_env_values,
    prints_secret_variable,
    reads_env_file,
    writes_env_file,
)
from kizami_core.privacy.secrets import SECRET_MARKER as M


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(
            ("Read", {"file_path": path})
            for path in (".env", "/app/.env.local", "prod.env", "/x/.envrc", "C:\\a\\.env")
        ),
        ("Edit", {"file_path": "/app/.env", "old_string": "A=1", "new_string": "A=2"}),
        ("Write", {"file_path": "/app/.env.production", "content": "A=1"}),
        ("Grep", {"pattern": "KEY", "path": ".env"}),
        ("mcp__files__read", {"path": "/app/.ENV"}),
        *(
            ("Bash", {"command": command})
            for command in (
                "cat .env",
                "cat /app/.env.local | head",
                "grep KEY .env",
                "source .env && npm test",
                ". ./.env",
                "type .env",
                "cat <.env",
                "docker run --env-file=prod.env x",
                "git diff -- '.env'",
                "cat > .env <<EOF\nA=1\nEOF",
                "printenv",
                "printenv HOME",
                "env",
                "env | sort",
                "cd x && env",
                "docker exec web env",
                "export -p",
                "declare -x",
                "set",
            )
        ),
        ("PowerShell", {"command": "Get-Content .env"}),
        ("PowerShell", {"command": "Get-ChildItem Env:"}),
    ],
)
def test_reading_an_environment_is_recognised(name, arguments):
    assert reads_env_file(name, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(
            ("Read", {"file_path": path})
            for path in (".env.example", "/a/.env.local.sample", "env.py", "example.env", "x.environment")
        ),
        ("Glob", {"pattern": "**/.env", "path": ".env"}),
        ("Grep", {"pattern": "process.env"}),
        ("Read", {"file_path": 3}),
        ("Task", {}),
        *(
            ("Bash", {"command": command})
            for command in (
                "cat .env.example",
                "grep -r process.env src",
                "rg import.meta.env src/",
                "python -m venv .env/",
                "source .env/bin/activate",
                "env FOO=bar make test",
                "set -euo pipefail",
                "export PATH=/x:$PATH",
                "ls environments",
            )
        ),
    ],
)
def test_other_calls_are_not(name, arguments):
    assert not reads_env_file(name, arguments)


@pytest.mark.parametrize(
    "command", ["cat > .env <<EOF\nA=1\nEOF", "echo A=1 >> /app/.env.local", "echo A=1 | tee -a '.env'"]
)
def test_command_that_writes_a_file_itself_is_recognised(command):
    assert writes_env_file(command)


@pytest.mark.parametrize("command", ["cat .env > out.txt", "cat .env", "echo A=1 > .env.example"])
def test_command_that_writes_elsewhere_is_not(command):
    assert not writes_env_file(command)


@pytest.mark.parametrize(
    "command",
    ["printenv API_KEY", "echo $API_KEY", 'echo "${DB_PASSWORD}"', "echo $TOKEN | head -c 4", "$env:API_KEY"],
)
def test_printing_a_secret_variable_is_recognised(command):
    assert prints_secret_variable({"command": command})


@pytest.mark.parametrize(
    "command", ["printenv HOME", "echo $HOME", "echo API_KEY", "echo $API_KEY && npm test", 3, None]
)
def test_printing_anything_else_is_not(command):
    assert not prints_secret_variable({"command": command})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PORT=3000", f"PORT={M}"),
        ("export A=b c", f"export A={M}"),
        ("A=\nB=", "A=\nB="),
        ("A='b c'", f"A='{M}'"),
        ('A="b \\" c" # note', f'A="{M}" # note'),
        ('A="b"c"d"', f'A="{M}"'),
        ("A=b # note", f"A={M} # note"),
        ("A= # note", "A= # note"),
        ("A=#b", f"A={M}"),
        ("A = b", f"A = {M}"),
        ("A: b", f"A: {M}"),
        ("# A comment\n\nA=b\r\nB=c\r\n", f"# A comment\n\nA={M}\r\nB={M}\r\n"),
        ("     1→A=b\n     2→# c\n    10→export B='c'", f"     1→A={M}\n     2→# c\n    10→export B='{M}'"),
        ("1\tA=b\n2\tB=c", f"1\tA={M}\n2\tB={M}"),
        ("12:A=b\n.env:3:B=c\nsrc/.env.local:C=d", f"12:A={M}\n.env:3:B={M}\nsrc/.env.local:C={M}"),
        ("-A=b\n+A=c", f"-A={M}\n+A={M}"),
        ('A="b\nc\n"\nB=d', f'A="{M}"\nB={M}'),
        ("A='b\nB=c", f"A={M}\nB={M}"),
        ('declare -x A="b"', f'declare -x A="{M}"'),
        ("echo 'A=b' >> .env", f"echo 'A={M}"),
        ("$env:A = 'b'", f"$env:A = '{M}'"),
        ("tests passed: 12\nx = 5\nfoo: bar", "tests passed: 12\nx = 5\nfoo: bar"),
    ],
)
def test_values_are_masked_and_all_else_stays(text, expected):
    assert mask_env_values(text) == expected
    assert mask_env_values(expected) == expected


@pytest.mark.heavy
@pytest.mark.parametrize("unit", ["A=", "A=\n", "A='\n", 'A="', "a/", "1:", "export ", "A='b'c\n", "\\"])
def test_a_megabyte_of_hostile_lines_is_bounded_work(unit):
    text = unit * (1_000_000 // len(unit))
    assert len(mask_env_values(text)) > 0
    assert not reads_env_file("Bash", {"command": text + "x"})
