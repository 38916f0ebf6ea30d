"""Types the commands of the pages in sample homes, and prints what was seen: `recordings.py en [MODEL]`.

Each scene is a home. Within a scene commands follow each other, and what one does the next one meets. MODEL
is a folder with the files of an embedding model; without it the blocks that need one are left out.
"""

from __future__ import annotations

import json
import os
import sys

import click
from hybrid_scenes import with_model, without_hybrid
from scenes import ORDINARY
from terminal import Terminal
from trouble import TROUBLE

from kizami_cli.app import app


def record(language: str, model: str) -> dict[str, str]:
    """Return the blocks of the pages by name; those that need a model where there is one."""
    terminal = Terminal(language)
    _help(terminal)
    for scene in (*ORDINARY, without_hybrid, *TROUBLE):
        with terminal.new_home():
            scene(terminal)
    if model:
        with terminal.new_home() as home:
            os.symlink(model, os.path.join(home, "ruri-v3-30m"))
            with_model(terminal)
    return terminal.blocks


def _help(terminal: Terminal) -> None:
    with terminal.new_home():
        terminal.show("help", "kizami --help")
        context = click.Context(app)
        for name in app.list_commands(context):
            command = app.get_command(context, name)
            below = command.commands if isinstance(command, click.Group) else ()
            calls = [f"kizami {name} --help", *(f"kizami {name} {word} --help" for word in below)]
            terminal.show(f"help {name}", *calls)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    json.dump(record(*sys.argv[1:]), sys.stdout, ensure_ascii=False)
