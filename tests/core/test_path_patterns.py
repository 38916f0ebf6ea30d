"""Which folders a pattern of ``privacy.excludeProjects`` covers."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kizami_core.path_patterns import covers, is_anchored, literal_folder, matches_name

NAMES = st.text(alphabet="abcA*?[]!-.é", max_size=7)
PIECES = [
    "a",
    "é",
    "*",
    "?",
    "[a-c]",
    "[!a-b]",
    "[]a]",
    "[!]]",
    "[c-a]",
    "[a-]",
    "[-a]",
    "[a-c-é]",
    "[a",
    "-",
]


@given(NAMES | st.lists(st.sampled_from(PIECES), max_size=4).map("".join), NAMES)
def test_a_name_matches_as_fnmatch_says(pattern, name):
    assert matches_name(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**", "a*"]), min_size=1, max_size=5), st.text("ab/", max_size=9)
)
def test_a_pattern_covers_what_trying_every_split_finds(parts, path):
    names = [name for name in path.split("/") if name]

    def matches(parts, names):
        if not parts:
            return True  # what lies below is covered too
        if parts[0] == "**":
            return any(matches(parts[1:], names[skipped:]) for skipped in range(len(names) + 1))
        return bool(names) and fnmatch.fnmatchcase(names[0], parts[0]) and matches(parts[1:], names[1:])

    assert covers("/" + "/".join(parts), "/" + path, ignore_case=False) == matches(parts, names)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/home/dev/clients/**", "/home/dev/clients/acme"),
        ("/home/dev/clients/**", "/home/dev/clients"),
        ("/home/dev/clients", "/home/dev/clients/acme/src/ui"),
        ("/home/dev/clients/", "/home/dev/clients"),
        ("/home/*/clients", "/home/dev/clients/acme"),
        ("/home/**/secret-*", "/home/dev/a/b/secret-plan/src"),
        ("secret-*", "/srv/secret-plan"),
        ("clients/acme", "/home/dev/clients/acme"),
        ("./clients", "/home/dev/clients"),
        ("顧客?", "/home/dev/顧客A/見積"),
        ("プロジェクト", "/home/dev/プロジェクト"),  # composed in another way
        (r"C:\clients\*", r"C:\clients\acme\src"),
        ("C:/clients/*", r"C:\clients\acme"),
        (r"\\server\share\secret", r"\\server\share\secret\a"),
        ("/", "/home/dev"),
        ("**", "/home/dev"),
    ],
)
def test_covered(pattern, path):
    assert covers(pattern, path, ignore_case=False)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/home/dev/clients/*", "/home/dev/clients"),
        ("/home/dev/clients", "/home/dev/clients-old"),
        ("/home/*/acme", "/home/dev/clients/acme"),
        ("/clients", "/home/dev/clients"),
        ("secret-*", "/srv/my-secret-plan"),
        ("clients/acme", "/home/dev/clients/src/acme"),
        ("Clients", "/home/dev/clients"),
        (".", "/home/dev"),
        ("**/secret", "/home/dev"),
        (r"C:\clients", r"D:\clients"),
    ],
)
def test_not_covered(pattern, path):
    assert not covers(pattern, path, ignore_case=False)


def test_where_the_system_ignores_case_so_does_a_pattern():
    assert covers("/Users/dev/Clients/[A-M]*", "/users/Dev/clients/acme", ignore_case=True)
    assert not covers("/Users/dev/Clients/[A-M]*", "/users/dev/clients/zeta", ignore_case=True)


def test_the_folder_before_the_first_wildcard_is_named():
    assert [literal_folder(pattern) for pattern in ("/a/b/**/c", "/a/b", "/a/b*/c", "/*", "secret")] == [
        "/a/b", "/a/b", "/a", "", "secret",
    ]  # fmt: skip
    assert [is_anchored(pattern) for pattern in ("/a", "C:", "a", "**/a", "C:a")] == [
        True,
        True,
        False,
        False,
        False,
    ]
