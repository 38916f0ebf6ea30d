"""`kizami completion`: the script that makes a shell complete commands, options and ids."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kizami_cli.completion import VARIABLE
from kizami_cli.console import write_utf8
from kizami_cli.invocation import common_options


@click.command("completion")
@common_options
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script by which a shell completes kizami's commands, options, ids and projects.

    Write it once to where your shell looks for such scripts; from its next start on Tab completes.

    \b
    bash, with the package bash-completion (without: source the file in ~/.bashrc)
      mkdir -p ~/.local/share/bash-completion/completions
      kizami completion bash > ~/.local/share/bash-completion/completions/kizami
    zsh, with "fpath=(~/.zfunc $fpath)" before compinit in ~/.zshrc
      mkdir -p ~/.zfunc
      kizami completion zsh > ~/.zfunc/_kizami
    fish
      kizami completion fish > ~/.config/fish/completions/kizami.fish
    """  # noqa: D301 - click's mark for text that is not to be wrapped
    complete = get_completion_class(shell)
    assert complete is not None
    program = context.find_root().info_name or ""
    write_utf8(complete(context.find_root().command, {}, program, VARIABLE).source())
