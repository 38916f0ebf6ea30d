"""`kizami recall`: what a prompt would bring back. Claude Code calls it with ``--stdin``, see ``hooks``."""

from __future__ import annotations

import time

import click

from kizami_cli.console import say, show
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.recall import recall


@click.command("recall")
@common_options
@click.argument("prompt")
@click.option("--stdin", is_flag=True, help="Be the UserPromptSubmit hook: read its JSON from stdin.")
@click.pass_obj
def command(invocation: Invocation, prompt: str, *, stdin: bool) -> None:  # noqa: ARG001 - for --help
    """Print the block that Claude would receive with this prompt, typed in this project."""
    config = invocation.config
    if invocation.all_projects:
        config = config.replace(project_scope=False)
    now = time.time()
    with invocation.database() as connection, invocation.vectors(prompt, now) as vectors:
        project = invocation.project_path()
        block = recall(
            connection,
            prompt,
            session_id="",
            project_path=project,
            config=config,
            now=now,
            vectors=vectors,
        ).block
    if block:
        show(block.rstrip("\n"))
    else:
        say(
            _(
                "Nothing: no memory is relevant enough, or the prompt asks for none. "
                "Why: kizami why --prompt …"
            )
        )
