"""Every database that claude-mem's own migrations made: counts as its README's policy says."""

import json

import pytest

from transcripts import rows

_NAMES = (
    "old-v4.3.0-schema10.db",
    "mid-v10.5.0-schema23.db",
    "latest-v13.25.3-schema52.db",
    "migrated-v4.3.0-to-v13.25.3.db",
    "migrated-v10.5.0-to-v13.25.3.db",
    "live-wal/claude-mem.db",
)


@pytest.fixture(scope="module")
def real(shared):
    folder = shared / "data" / "claude-mem"
    if not folder.is_dir():
        pytest.skip("the databases of claude-mem (../shared/data/claude-mem) are not here")
    return folder


@pytest.mark.parametrize("name", _NAMES)
def test_counts_are_those_of_the_policy_and_a_second_import_adds_nothing(target, real, name):
    expected = json.loads((real / "expected.json").read_text(encoding="utf-8"))[name]
    report = target.import_claude_mem(real / name)
    sessions = target.connection.execute(
        "SELECT count(DISTINCT session_id) FROM turns WHERE uuid NOT LIKE 'claude-mem:prompt:%'"
    ).fetchone()[0]
    assert {**report.imported, "sessions": sessions} == {
        "observation": expected["importable_observations_without_internal"],
        "summary": expected["importable_summaries"],
        "prompt": expected["tables"]["user_prompts"] - 1,
        "sessions": expected["sessions_with_importable_rows_without_internal"],
    }
    assert report.skipped == {
        "empty": {
            "observation": len(expected["empty_observation_ids"]),
            "summary": len(expected["empty_summary_ids"]),
        },
        "internal": {"observation": len(expected["internal_observer_ids"]), "prompt": 1},
    }
    before = rows(target.connection)
    again = target.import_claude_mem(real / name)
    assert (again.imported, again.updated, again.moved) == ({}, {}, 0)
    assert rows(target.connection) == before
    assert not any("raw" in content and "tool_input" in content for content in target.contents())


@pytest.mark.parametrize(
    ("name", "observations"), [("old-v4.3.0-schema10.db", 17), ("latest-v13.25.3-schema52.db", 20)]
)
def test_one_project(target, real, name, observations):
    report = target.import_claude_mem(real / name, project="my-app")
    assert (report.imported["observation"], report.imported["summary"]) == (observations, 5)
    assert report.skipped["empty"] == {"observation": 3}


def test_rows_of_version_3(target, real):
    report = target.import_claude_mem(real / "ancient-v3.9.16-schema3.db")
    assert (report.imported, report.skipped) == ({"observation": 4, "summary": 2}, {})


def test_an_upgraded_database_brings_nothing_that_the_old_one_brought(target, real):
    target.import_claude_mem(real / "old-v4.3.0-schema10.db")
    report = target.import_claude_mem(real / "migrated-v4.3.0-to-v13.25.3.db")
    assert (report.imported, report.updated) == ({}, {})
    report = target.import_claude_mem(real / "latest-v13.25.3-schema52.db")
    assert report.imported == {"observation": 3}


def test_secrets_and_tags_of_the_odd_row_are_gone(target, real):
    target.import_claude_mem(real / "latest-v13.25.3-schema52.db")
    (content,) = [text for text in target.contents() if text.startswith("[Assistant]\nContains secret")]
    for hidden in ("hidden part", "ctx", "example-not-real-123"):
        assert hidden not in content
    assert "before [private] after" in content
