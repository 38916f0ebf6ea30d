#!/usr/bin/env python3
"""Prove the hooks with the real Claude Code client against a stand-in API; print a table of checks.

    python benchmarks/client_lab.py TOOLS CLIENT [KIZAMI] [--keep FOLDER]

TOOLS is the folder with `client_lab` and `stand_in_api.py`; CLIENT the folder that `client_lab install` filled;
KIZAMI the command under test (by default the one on PATH). Each scenario has a home, a project and an API of its
own, in a temporary folder unless --keep names one. Nothing leaves this machine. Linux; exit code 1 when a check
failed.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

SECONDS = 150  # for one run of the client; client_lab itself ends it after 120
BLOCK = re.compile(r"UserPromptSubmit hook success: (<kizami-memory>.*?</kizami-memory>)", re.DOTALL)
OVERVIEW = re.compile(r"SessionStart:(\w+) hook success: (<kizami-memory>.*?</kizami-memory>)", re.DOTALL)
TIMED = re.compile(
    r"^\S+Z .*?Hooks: (\w+).*?( \(plugin \S+\))? finished with status 0 \((\d+)ms\)", re.MULTILINE
)
ENDED = re.compile(r"^(\S+Z) .*SessionEnd:\w+ \[.*save --stdin.*\] completed with status 0", re.MULTILINE)
ANSWERED = re.compile(r"^(\S+Z) .*\[engine\] turn \d+ end", re.MULTILINE)

DECISIONS = {
    "Japanese": (
        "決済ワーカーの再試行は指数バックオフで五回まで、その後はデッドレターキューへ送ると決めました",
        "決済が失敗したとき、再試行は何回で諦める約束だった?",
    ),
    "English": (
        "We settled it: the search index is rebuilt every night at two, never during business hours.",
        "When did we say that rebuilding the search index should happen?",
    ),
}


class Lab:
    """A home, the client, and the API that it talks to."""

    def __init__(self, options, folder):
        self.folder = folder
        self.home = folder / "home"
        (self.home / ".claude").mkdir(parents=True)
        (folder / "package").symlink_to(options.client / "package")
        self._tool = options.tools / "client_lab"
        self.command = options.kizami
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._env = {**os.environ, "LAB_PORT": str(probe.getsockname()[1])}
        self._runs = 0
        self.timings = defaultdict(list)
        subprocess.run(["bash", self._tool, "start", folder], env=self._env, check=True)

    def stop(self):
        subprocess.run(["bash", self._tool, "stop", self.folder], env=self._env, check=True)

    def kizami(self, *arguments):
        """Run a command of Kizami's in the project; return what it printed."""
        project = self.folder / "project"
        project.mkdir(exist_ok=True)
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        done = subprocess.run(
            [self.command, *arguments],
            env=env,
            cwd=project,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"kizami {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def extend_path(self, folder):
        """Let the client, its hooks and its tools find what is in a folder."""
        self._env["LAB_PATH"] = str(folder)

    def client(self, *arguments):
        """Run the client to its end with these arguments; return what it printed."""
        done = subprocess.run(
            ["bash", self._tool, "run", self.folder, "project", *arguments],
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"claude {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, prompt, *arguments):
        """Start the client in print mode, in a process group of its own."""
        self._runs += 1
        self._debug = self.folder / f"debug-{self._runs}.txt"
        command = ["bash", self._tool, "run", self.folder, "project", "--debug-file", self._debug]
        return subprocess.Popen(
            [*command, *arguments, "-p", prompt],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )

    def converse(self):
        """Start a client that takes prompts as lines of JSON on stdin, in a process group of its own."""
        command = ["bash", self._tool, "run", self.folder, "project", "-p", "--verbose"]
        formats = ("--input-format", "stream-json", "--output-format", "stream-json")
        return subprocess.Popen(
            [*command, *formats],
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )

    def ask(self, prompt, *arguments):
        """Run the client to its end; return its exit code, its answer and the requests that it sent."""
        before = len(self.requests())
        with self.start(prompt, *arguments) as client:
            answer, _ = client.communicate(timeout=SECONDS)
        self._note_timings()
        return client.returncode, answer.strip(), self.requests()[before:]

    def requests(self):
        """Return the texts of each request so far, as (role, text)."""
        log = self.folder / "requests.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [
            [
                (message["role"], text)
                for message in json.loads(line)["messages"] or []
                for text in texts(message)
            ]
            for line in lines
        ]

    def transcripts(self):
        """Return the session files, the oldest first; not those of sub-agents."""
        found = self.home.glob(".claude/projects/*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime)

    def chunks(self):
        """Return every stored chunk, by the export."""
        sessions = json.loads(self.kizami("export", "--format", "json"))["sessions"]
        return [chunk for session in sessions for chunk in session["chunks"]]

    def turns_of(self, prompts):
        """Return how often each prompt opens a stored turn."""
        openings = Counter(chunk["content"].split("\n\n")[0] for chunk in self.chunks())
        return [openings[f"[User]\n{prompt}"] for prompt in prompts]

    def database(self):
        return self.home / ".local/share/kizami/memory.db"

    def error_lines(self):
        """Return the lines of the error log and remove it."""
        log = self.home / ".local/share/kizami/error.log"
        with contextlib.suppress(OSError):
            lines = log.read_text(encoding="utf-8").splitlines()
            log.unlink()
            # The first line of a log that setup began says what the file is for.
            return [line for line in lines if line[:1].isdigit()]
        return []

    def _note_timings(self):
        """Take from the client's debug log how long it waited for each hook, in milliseconds."""
        log = self._debug.read_text(encoding="utf-8", errors="replace")
        for event, plugin, duration in TIMED.findall(log):
            self.timings[f"{event} (plugin)" if plugin else event].append(int(duration))
        answered, ended = ANSWERED.findall(log), ENDED.findall(log)
        if answered and ended:
            self.timings["SessionEnd"].append(round((epoch(ended[-1]) - epoch(answered[-1])) * 1000))


def texts(message):
    content = message["content"]
    return [content] if isinstance(content, str) else [block.get("text", "") for block in content]


def epoch(moment):
    whole, _, millis = moment.rstrip("Z").partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + int(millis or 0) / 1000


def found(pattern, request):
    """Return role, whole match and last group of a pattern in a request's texts."""
    return [
        (role, match[0], match[match.re.groups]) for role, text in request for match in pattern.finditer(text)
    ]


def memory_arrives(lab, check):
    """What one session decides, another is told when it asks in other words."""
    for language, (decision, question) in DECISIONS.items():
        lab.ask(decision)
        _, _, requests = lab.ask(question)
        blocks = found(BLOCK, requests[-1])
        check(f"{language}: the request holds one memory block", len(blocks) == 1, f"{len(blocks)} blocks")
        check(f"{language}: the block holds the decision", any(decision in block for _, _, block in blocks))
        overviews = found(OVERVIEW, requests[-1])
        check(
            f"{language}: the overview names the session before",
            any(decision[:20] in block for _, _, block in overviews),
            f"{len(overviews)} overviews",
        )
        for role, whole, _ in blocks:
            print(f"\nAs it stood in the request ({role} message):\n{whole}\n")
    own = lab.transcripts()[-1].stem
    lab.ask("決済ワーカーの再試行は何回まで?", "-c")
    _, _, requests = lab.ask(question, "-c")
    blocks = [block for _, _, block in found(BLOCK, requests[-1])]
    check("a resumed session is told more", any(DECISIONS["Japanese"][0] in block for block in blocks))
    check("a session is never shown its own turns", not any(f" {own[:6]}]" in block for block in blocks))
    check("a resumed session gets no second overview", len(found(OVERVIEW, requests[-1])) == 1)
    errors = lab.error_lines()
    check("no hook reported an error", not errors, "; ".join(errors))


def killed_client(lab, check):
    """A client killed during a tool call and resumed loses no turn once the session has ended."""
    prompts = [
        "最初の質問: ログインの鍵は何日で失効させる?",
        "Second: try the build [[bash timeout 30 tail -f /dev/null]]",
        "三番目の質問: 先ほどの続きから進めて",
    ]
    lab.ask(prompts[0])
    client = lab.start(prompts[1], "-c", "--allowedTools", "Bash")
    (session,) = lab.transcripts()
    deadline = time.monotonic() + 30
    while '"tool_use"' not in session.read_text(encoding="utf-8") and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(client.pid, signal.SIGKILL)
    client.communicate()
    kinds = [kind for kind in ('"tool_use"', '"tool_result"') if kind in session.read_text(encoding="utf-8")]
    check("the client died during the tool call", kinds == ['"tool_use"'], " ".join(kinds))
    check("what had ended before is stored", lab.turns_of(prompts) == [1, 0, 0], lab.turns_of(prompts))
    lab.ask(prompts[2], "-c")
    check("export has every turn once", lab.turns_of(prompts) == [1, 1, 1], lab.turns_of(prompts))
    listed = json.loads(lab.kizami("list", "--json"))
    check(
        "list has one session",
        [row["session_id"] for row in listed] == [session.stem],
        f"{len(listed)} sessions",
    )
    shown = lab.kizami("show", session.stem[:8])
    counts = [shown.count(f"  [User]\n  {prompt}\n") for prompt in prompts]
    check("show has every turn once", counts == [1, 1, 1], counts)


def killed_before_the_end(lab, check):
    """A client that answers several prompts and is killed: each answered turn is there, without SessionEnd."""
    prompts = [f"生きている間の質問{number}: 締め切りの{number}番目は何曜日?" for number in range(1, 4)]
    with lab.converse() as client:
        for prompt in prompts:
            message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
            client.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
            client.stdin.flush()
            while '"type":"result"' not in client.stdout.readline():
                pass
        os.killpg(client.pid, signal.SIGKILL)
        client.wait()
    turns = lab.turns_of(prompts)
    check("killed before SessionEnd: every answered turn is stored", turns == [1, 1, 1], turns)
    hits = json.loads(lab.kizami("search", "--json", "締め切りの三番目は何曜日", "--limit", "9"))
    check("and found by a search at once", bool(hits), f"{len(hits)} hits")
    answers = sum("回答" in chunk["content"] for chunk in lab.chunks())
    check("with its answer", answers == len(prompts), f"{answers} answers")


def copies_and_helpers(lab, check):
    """Sub-agents, compaction and forks: each of a person's turns once, and none of what Kizami injected."""
    prompts = [
        "決済ワーカーの再試行は何回か調べて [[task Count the retries of the payment worker]]",
        "決済ワーカーの再試行の回数を教えて",
        "その間隔は指数的に伸ばすことにする",
        "圧縮の後の質問: キューの名前は?",
        "分岐: 別案として固定間隔を試す",
        "分岐の続き: 固定間隔は 3 秒",
    ]
    lab.ask(prompts[0], "--allowedTools", "Agent", "Task")
    agents = list(lab.home.glob(".claude/projects/*/*/subagents/*.jsonl"))
    check("a sub-agent ran", bool(agents), f"{len(agents)} files")
    _, _, requests = lab.ask(prompts[1])
    check("memory was injected here", bool(found(BLOCK, requests[-1])))
    lab.ask(prompts[2], "-c")
    lab.ask("/compact", "-c")
    compacted = lab.transcripts()[-1].read_text(encoding="utf-8")
    check("the session was compacted", "compact_boundary" in compacted)
    lab.ask(prompts[3], "-c")
    lab.ask(prompts[4], "-c", "--fork-session")
    lab.ask(prompts[5], "-c")
    check(
        "the fork is a session file of its own",
        len(lab.transcripts()) == 3,
        f"{len(lab.transcripts())} files",
    )
    counts = lab.turns_of(prompts)
    check("each of a person's turns is stored once", counts == [1] * len(prompts), counts)
    contents = [chunk["content"] for chunk in lab.chunks()]
    check("nothing else opens a turn", all(text.startswith("[User]\n") for text in contents))
    answers = Counter(re.findall(r"回答\d+", "\n".join(contents)))
    check("each answer is stored once", set(answers.values()) == {1}, dict(answers))
    stored = lab.database().read_bytes()
    for name in ("kizami-memory", "[Past Memory]", "hook success"):
        check(f"the database holds no {name!r}", name.encode() not in stored)
    written = [
        json.loads(lab.kizami("save", "--json", str(path)))["chunks_written"]
        for path in [*lab.transcripts(), *agents]
    ]
    check("saving every file again changes nothing", not any(written), written)


def faults(lab, check):
    """An error in a hook never costs the prompt, and is one line of the error log."""
    question = "決済ワーカーの再試行は何回までだった?"
    settings = lab.home / ".claude/settings.json"
    config = lab.home / ".config/kizami/config.json"
    lab.ask(DECISIONS["Japanese"][0])
    kept = {path: path.read_bytes() for path in (lab.database(), settings, config)}
    silenced = json.dumps(json.loads(kept[settings]) | {"env": {"KIZAMI_DISABLE": "1"}}).encode()
    # What is broken, by which bytes, how many of the four hooks of a session write a line, whether memory still
    # arrives. The catch-up that SessionStart starts may write one more.
    cases = [
        ("no database any more", lab.database(), b"this is no database" * 500, 4, False),
        ("a torn database", lab.database(), kept[lab.database()][:9000], 4, False),
        ("an empty database file", lab.database(), b"", 0, False),
        ("KIZAMI_DISABLE=1", settings, silenced, 0, False),
        ("a broken configuration", config, b"{not json", 4, True),
    ]
    for name, path, data, lines, has_memory in cases:
        path.write_bytes(data)
        code, answer, requests = lab.ask(question)
        logged = lab.error_lines()
        check(
            f"{name}: the prompt is answered",
            code == 0 and bool(answer) and len(requests) == 1,
            f"exit {code}",
        )
        expected = (lines, lines + 1) if lines else (0,)
        check(
            f"{name}: {lines} hooks say so in the error log", len(logged) in expected, f"{len(logged)} lines"
        )
        check(
            f"{name}: memory {'arrives' if has_memory else 'is silent'}",
            bool(found(BLOCK, requests[-1])) == has_memory,
        )
        path.write_bytes(kept[path])
    data = lab.database().parent
    shutil.rmtree(data)
    data.write_text("a file where the folder should be", encoding="utf-8")
    code, answer, requests = lab.ask(question)
    check(
        "a folder that can't be written: the prompt is answered",
        code == 0 and bool(answer) and len(requests) == 1,
    )


SCENARIOS = (memory_arrives, killed_client, killed_before_the_end, copies_and_helpers, faults)


def set_up(lab):
    """Install Kizami as a person does."""
    lab.kizami("setup")


def main(scenarios=SCENARIOS, prepare=set_up, description=__doc__):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tools", metavar="TOOLS", type=lambda text: Path(text).resolve())
    parser.add_argument("client", metavar="CLIENT", type=lambda text: Path(text).resolve())
    parser.add_argument("kizami", metavar="KIZAMI", nargs="?", default="kizami")
    parser.add_argument("--keep", metavar="FOLDER", type=lambda text: Path(text).resolve())
    options = parser.parse_args()
    options.kizami = os.path.abspath(
        shutil.which(options.kizami) or sys.exit(f"{options.kizami} is not there")
    )
    rows = []
    timings = defaultdict(list)
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for scenario in scenarios:
            lab = Lab(options, folder / scenario.__name__)
            prepare(lab)

            def check(name, is_ok, detail="", scenario=scenario):
                rows.append((scenario.__name__, "ok" if is_ok else "failed", name, detail))

            try:
                scenario(lab, check)
            finally:
                lab.stop()
            for event, values in lab.timings.items():
                timings[event] += values
    for scenario, verdict, name, detail in rows:
        print(f"{scenario:<25} {verdict:<8} {name:<60} {detail}")
    print(
        "\nms that the client waited (SessionEnd: from the last answer to the end of the save; its budget is the"
    )
    print("hook's timeout of 30 s)")
    for event, values in timings.items():
        values.sort()
        print(f"{event:<25} median {values[len(values) // 2]:>5}  largest {values[-1]:>5}  of {len(values)}")
    failed = sum(verdict == "failed" for _, verdict, _, _ in rows)
    print(f"\n{len(rows) - failed} ok, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
