import json

SESSION_ID = "0f6a2c41-7b1e-4f0a-9d53-8a9c1e2b7d10"


def write_session(
    home, *, session_id=SESSION_ID, command="npm run build", error="エラー: 型がありません TS2322"
):
    """Write a session in which a command fails, a file is edited and the command succeeds."""
    home_of_sessions = home.path / ".claude" / "projects" / "-work-shop"
    home_of_sessions.mkdir(parents=True, exist_ok=True)
    common = {"sessionId": session_id, "cwd": str(home.project), "timestamp": "2099-01-02T09:00:00.000Z"}

    def call(call_id, name, **arguments):
        return "assistant", [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]

    def result(call_id, output, *, is_error=False):
        block = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": is_error}
        return "user", [block]

    records = [
        ("user", "ビルドして"),
        call("a", "Bash", command=command),
        result("a", f"Exit code 2\n{error}", is_error=True),
        ("user", "直して"),
        ("assistant", [{"type": "text", "text": "型に press を足します。ほかは変えません。"}]),
        call("b", "Edit", file_path="src/types.ts", old_string="a", new_string="b"),
        result("b", "ok"),
        call("c", "Bash", command=command),
        result("c", "built"),
    ]
    path = home_of_sessions / f"{session_id}.jsonl"
    lines = [
        {
            **common,
            "type": role,
            "uuid": f"{session_id}-{number}",
            "message": {"role": role, "content": content},
        }
        for number, (role, content) in enumerate(records)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def save(home, **options):
    path = write_session(home, **options)
    home.hook("save", {"session_id": "x", "transcript_path": path, "cwd": str(home.project)})


def test_a_fixed_error_is_listed_with_what_fixed_it(home, kizami):
    save(home)
    done = kizami("resolutions")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "npm run build",
        "  session      0f6a2c41",
        "  failed       2099-01-02 09:00  #1",
        "               エラー: 型がありません TS2322",
        "  resolved     2099-01-02 09:00  #2",
        "  files        src/types.ts",
        "  explanation  型に press を足します。ほかは変えません。",
        "",
    ]


def test_json_has_this_shape_and_its_ids_are_accepted_by_show(home, kizami):
    save(home)
    found = json.loads(kizami("resolutions", "--json").stdout)
    assert found == [
        {
            "command": "npm run build",
            "error": "エラー: 型がありません TS2322",
            "files": ["src/types.ts"],
            "explanation": "型に press を足します。ほかは変えません。",
            "failed_at": "2099-01-02 09:00:00",
            "resolved_at": "2099-01-02 09:00:00",
            "session_id": SESSION_ID,
            "project_path": str(home.project),
            "failed_chunk": 1,
            "resolved_chunk": 2,
        }
    ]
    shown = [kizami("show", str(found[0][key])) for key in ("failed_chunk", "resolved_chunk", "session_id")]
    assert [done.exit_code for done in shown] == [0, 0, 0]
    assert "TS2322" in shown[0].stdout
    assert "src/types.ts" in shown[1].stdout


def test_words_choose_and_limit_bounds(home, kizami):
    save(home)
    save(home, session_id="1f6a2c41", command="make", error="cc: fatal error: no input files")

    def commands(*arguments):
        return [found["command"] for found in json.loads(kizami("resolutions", *arguments, "--json").stdout)]

    assert commands() == ["make", "npm run build"]
    assert commands("--limit", "1") == ["make"]
    assert commands("TS2322 の型エラー") == ["npm run build"]
    assert commands("fatal: no input") == ["make"]


def test_other_projects_are_looked_at_on_demand(home, kizami):
    save(home)
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir()
    done = kizami("resolutions", "--project", str(elsewhere))
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == ("No error is known to be fixed. --all-projects looks at those of all projects.\n")
    done = kizami("resolutions", "--all-projects")
    assert f"  project      {home.project}" in done.stdout.splitlines()
    done = kizami("resolutions", "天気", "--all-projects")
    assert done.stderr == "No error is known to be fixed that has these words.\n"


def test_it_reads_well_on_a_terminal(home, on_terminal):
    save(home)
    code, seen = on_terminal("resolutions")
    assert code == 0
    assert "src/types.ts" in seen


def test_a_secret_that_an_older_version_stored_is_masked(home, kizami):
    save(home)
    from kizami_core.storage.connection import open_database

    connection = open_database(str(home.database))
    connection.execute("UPDATE resolutions SET error = 'password=hunter2secret'")
    connection.close()
    assert "hunter2" not in kizami("resolutions").stdout + kizami("resolutions", "--json").stdout


def test_without_a_database_it_says_what_to_do(kizami):
    done = kizami("resolutions")
    assert done.exit_code == 1
    assert "kizami setup" in done.stderr
