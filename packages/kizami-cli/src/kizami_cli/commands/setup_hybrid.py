"""What `kizami setup --hybrid` does besides: model, search mode, and vectors for what is there already."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack

import click

from kizami_cli.backends import installation
from kizami_cli.config_edit import check_editable, write_setting
from kizami_cli.console import count, show, show_field
from kizami_cli.language import _
from kizami_cli.progress import progress
from kizami_core.config import load_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def install_model(config: str, model_dir: str | None) -> None:
    """Bring the model to this machine: before anything is changed, so that a failure leaves all as it was.

    Raises:
        ConfigError: kizami-hybrid is not installed, or the configuration file can't be edited afterwards.
        KizamiError: the model can't be had, or is no model.
    """
    mode = installation("hybrid")
    check_editable(config, "search")
    with ExitStack() as stack:
        reached = 0
        bars: list[Callable[[int], None]] = []

        def tell(done: int, total: int) -> None:
            nonlocal reached
            if not bars:
                bars.append(stack.enter_context(progress("Embedding model", total)))
            bars[0](done - reached)
            reached = done

        installed = mode.install(
            config, os.environ, model_dir=model_dir and os.path.abspath(model_dir), progress=tell
        )
    show_field("Model", installed)


def choose_hybrid(config: str) -> None:
    """Set the search mode, unless it is set already.

    Raises:
        ConfigError: the configuration file can't be edited.
    """
    if load_config(config, os.environ)[0].search_mode == "hybrid":
        return
    backup = write_setting(config, "search", "mode", "hybrid", time.time())
    show_field("", _("search.mode is hybrid now"))
    show_field("", _("what the file was before: {backup}", backup=backup))


def offer_vectors(context: click.Context, config: str, *, yes: bool) -> None:
    """Make the vectors of the memories that have none, if the person wants that now."""
    mode = installation("hybrid")
    waiting = mode.chunks_to_embed(config, load_config(config, os.environ)[0].database_path, os.environ)
    if not waiting:
        return
    show()
    amount = count(waiting, "chunk")
    later = _("They are made in the background from the next prompt on. At once: kizami embed --backfill")
    if not yes and not sys.stdin.isatty():
        show(_("No vector yet: {amount}. {later}", amount=amount, later=later))
    elif yes or click.confirm(_("{amount} have no vector yet. Make them now?", amount=amount), default=True):
        mode.embed_all(context)
    else:
        show(later)
