"""What other packages bring by entry points: commands, checks (`kizami.doctor`) and repairs."""

import json
import os

import pytest

_MODULE = '''
import click
from kizami_core.maintenance.findings import Finding

@click.command()
@click.option("--loud", is_flag=True)
@click.pass_obj
def greet(invocation, loud):
    """Greet the project."""
    click.echo(f"{invocation.project_filter(is_default_all=True)} {loud}")

def check(config_path, config, env):
    return [Finding("neighbour", "ok", config.search_mode)]

def mend(config_path, config, env):
    return [f"neighbour: mended in {config.search_mode} mode"]

def broken(config_path, config, env):
    raise RuntimeError("out of order")
'''
_ENTRY_POINTS = """
[kizami.commands]
greet = neighbour:greet

[kizami.doctor]
broken = neighbour:broken
neighbour = neighbour:check

[kizami.repair]
broken = neighbour:broken
neighbour = neighbour:mend
"""


@pytest.fixture
def neighbour(tmp_path):
    """The environment in which another package is installed."""
    packages = tmp_path / "packages"
    about = packages / "neighbour-1.0.dist-info"
    about.mkdir(parents=True)
    (packages / "neighbour.py").write_text(_MODULE, encoding="utf-8")
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: neighbour\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH", ""))))}


def test_a_command_of_another_package_takes_the_common_options(home, neighbour):
    done = home.run("greet", "--loud", "--project", str(home.project), env=neighbour)
    assert (done.returncode, done.stdout.decode()) == (0, f"{home.project} True\n")
    done = home.run("greet", env=neighbour)
    assert done.stdout == b"None False\n"
    assert b"--config" in home.run("greet", "--help", env=neighbour).stdout
    assert b"Greet the project." in home.run("--help", env=neighbour).stdout


def test_doctor_asks_other_packages_and_survives_one_that_fails(home, neighbour):
    home.run("setup", "--yes")
    checks = json.loads(home.run("doctor", "--json", env=neighbour).stdout)["checks"]
    brought = {item["check"]: (item["state"], item["found"]) for item in checks}
    assert brought["neighbour"] == ("ok", "core")
    assert brought["broken"] == ("warning", "this check fails (RuntimeError: out of order)")


def test_repair_asks_other_packages_and_survives_one_that_fails(home, neighbour):
    home.run("setup", "--yes")
    told = json.loads(home.run("doctor", "--repair", "--json", env=neighbour).stdout)
    assert told["repaired"][-1] == "neighbour: mended in core mode"
    assert [item["check"] for item in told["checks"]].count("broken") == 2
