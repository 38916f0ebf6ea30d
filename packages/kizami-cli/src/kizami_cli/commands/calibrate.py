"""`kizami calibrate`: what each gate does on the person's own history, and setting it."""

from __future__ import annotations

import os
import sys
import time

import click

from kizami_cli.calibration_report import (
    bounds,
    calibration_json,
    percent,
    show_curve,
    show_examples,
)
from kizami_cli.console import count, say, show, show_field, show_json
from kizami_cli.gate_setting import write_gate
from kizami_cli.invocation import Invocation, common_options
from kizami_cli.language import _
from kizami_core.calibration import ENOUGH_ANSWERS, ENOUGH_PROMPTS, calibrate, fitted_gate, past_prompts
from kizami_core.errors import ConfigError, NotFoundError
from kizami_core.messages import Message
from kizami_core.paths import config_path
from kizami_core.privacy import redact_for_display
from kizami_core.retrieval.relevance import RECOMMENDED_GATE
from kizami_core.retrieval.snippet import cut, snippet
from kizami_core.timestamps import local_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.calibration import Calibration

_PROMPTS = 200
_REVIEWED = 24
_SHOWN_TOKENS = 125  # of a memory, as much as recall shows
_SHOW_PROGRESS_FROM = 50


def _read_share(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    """Read a share written as ``5%`` or ``0.05``."""
    if text is None:
        return None
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(_("{text!r} is no share. Write 5% or 0.05.", text=text))
    return share


@click.command("calibrate")
@common_options
@click.option(
    "--false-fires",
    metavar="SHARE",
    callback=_read_share,
    help="Choose the lowest gate with at most so many false fires: 5%.",
)
@click.option("--review", is_flag=True, help="Judge prompts and memories near the gate; fit it to that.")
@click.option("--write", is_flag=True, help="Set hooks.minRelevanceScore to what was chosen.")
@click.option("--force", is_flag=True, help=f"Choose from fewer than {ENOUGH_PROMPTS} prompts too.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_PROMPTS,
    show_default=True,
    help="Ask so many of the newest prompts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the whole curve.")
@click.pass_obj
def command(
    invocation: Invocation,
    false_fires: float | None,
    *,
    review: bool,
    write: bool,
    force: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show what each gate would do on your own prompts, and choose one.

    The newest prompts of all your projects in turn (with --project: of that one) are asked again, three
    times:

    Own prompts: as they were then, of the memories there were then. How often something would have been
    shown; whether you wanted it, only you can tell (--review).

    Unrelated memories: of another project that shares neither files nor a word of its name. What comes is
    false. Too high where such projects share a subject after all; too low for the hardest cases, which lie
    within one project.

    Found again: shortened to every second word, of today's memories. Whether the prompt's own turn comes
    back among the first. Compare gates by it: who asks in other words finds less, who says more finds more.

    Nothing is written without --write or your yes. The same history gives the same figures.
    """
    if review and (as_json or force or false_fires is not None):
        raise click.UsageError(_("--review goes without --json, --force and --false-fires."))
    if write and not review and false_fires is None:
        raise click.UsageError(_("--write needs what to choose by: --false-fires 5% or --review."))
    if review and not sys.stdin.isatty():
        raise ConfigError(Message("--review asks questions, and stdin is no terminal. Run it in a terminal."))
    calibration = _measure(invocation, limit)
    present = invocation.config.min_relevance_score
    if review:
        _review(invocation, calibration, present, write=write)
        return
    chosen = None if false_fires is None else calibration.lowest_gate(false_fires)
    refusal = "" if false_fires is None else _refusal(calibration, false_fires, force=force)
    if refusal:
        chosen = None
    if as_json:
        show_json(calibration_json(calibration, present, chosen))
    else:
        show_curve(calibration, present, chosen)
        show_examples(calibration, present if chosen is None else chosen)
    if refusal:
        raise ConfigError(refusal)
    if chosen is None or false_fires is None:
        return
    if not as_json:
        show()
        rate = calibration.fires_falsely(chosen)
        show_field(
            "Chosen",
            _(
                "{gate:.2f}: {part} of {whole} fire falsely, the true rate lies within {bounds} %",
                gate=chosen,
                part=rate.part,
                whole=rate.whole,
                bounds=bounds(rate),
            ),
        )
    if write:
        _write(invocation, chosen, is_quiet=as_json)
    elif not as_json:
        show_field(
            "",
            _("To set it: kizami calibrate --false-fires {percent:g}% --write", percent=100 * false_fires),
        )


def _measure(invocation: Invocation, limit: int) -> Calibration:
    """Ask the prompts again.

    Raises:
        NotFoundError: there are none.
    """
    if invocation.config.search_mode != "core":
        say(_("The gate is measured by words alone: vectors, which hybrid mode adds, are not asked here."))
    project = invocation.project_filter(is_default_all=True)
    calibration = None
    with invocation.database() as connection:
        prompts = past_prompts(connection, limit, project)
        steps = calibrate(connection, prompts, config=invocation.config, now=time.time())
        is_shown = len(prompts) >= _SHOW_PROGRESS_FROM and sys.stderr.isatty()
        with click.progressbar(
            steps, len(prompts), _("Asking again"), file=sys.stderr, hidden=not is_shown
        ) as shown:
            for known in shown:
                calibration = known
    if calibration is None:
        raise NotFoundError(Message("No prompt is saved yet. `kizami backfill` saves the history on disk."))
    return calibration


def _refusal(calibration: Calibration, false_fires: float, *, force: bool) -> str:
    """Return why no gate is chosen, "" if one may be."""
    asked = len(calibration.foreign)
    if calibration.again and not calibration.finds_again(0.0).part:
        return Message(
            "None of the shortened prompts finds its own turn at any gate, so the word index is not as it "
            "should be. `kizami doctor` tells what is wrong, and --repair builds it anew."
        )
    if not asked:
        return Message(
            "There are no two unrelated projects with memories, so no false fire can be told. "
            "`kizami calibrate --review` lets you judge."
        )
    if asked < ENOUGH_PROMPTS and not force:
        return Message(
            "Only {prompts} could be asked of unrelated memories, too few for a rate: "
            "{enough} are needed. `kizami backfill` saves more of your history; --review lets you "
            "judge; --force chooses all the same.",
            prompts=count(asked, "prompt"),
            enough=ENOUGH_PROMPTS,
        )
    if calibration.lowest_gate(false_fires) is None:
        return Message(
            "No gate has at most {percent:g} % false fires. Allow more: --false-fires 5%.",
            percent=100 * false_fires,
        )
    return ""


def _review(invocation: Invocation, calibration: Calibration, present: float, *, write: bool) -> None:
    pairs = calibration.nearest(present or RECOMMENDED_GATE, _REVIEWED)
    show(
        _(
            "{prompts} of yours, each with the memory that came nearest to the gate.\n"
            "Would you have wanted it before the prompt? y yes, n no, s skip, q enough",
            prompts=count(len(pairs), "prompt"),
        )
    )
    answers: list[tuple[float, bool]] = []
    for number, asked in enumerate(pairs, start=1):
        assert asked.best is not None
        memory = asked.best.chunk
        show()
        prompt = cut(redact_for_display(asked.prompt.text), _SHOWN_TOKENS)
        show(f"{number}/{len(pairs)}  {prompt}", style="bold")
        show(f"#{memory.id} {local_date(memory.created_at)}", indent=2)
        show(redact_for_display(snippet(memory.content, {}, _SHOWN_TOKENS)), indent=2)
        answer = click.prompt(_("Wanted?"), type=click.Choice(["y", "n", "s", "q"]), err=True)
        if answer == "q":
            break
        if answer != "s":
            answers.append((asked.best.relevance, answer == "y"))
    wanted = sum(is_wanted for _relevance, is_wanted in answers)
    show()
    show_field(
        "Your answers", _("{wanted} wanted, {others} not", wanted=wanted, others=len(answers) - wanted)
    )
    gate = fitted_gate(answers)
    if gate is None:
        raise ConfigError(
            Message(
                "That fits no gate: it takes {enough} answers, of both kinds. Nothing was changed. "
                "Run it again when there is more history, or choose by --false-fires 5%.",
                enough=ENOUGH_ANSWERS,
            )
        )
    fires, before = calibration.fires(gate), calibration.fires(present)
    show_field(
        "Gate",
        _(
            "{gate:.2f} agrees best; {percent} of your prompts would be shown something",
            gate=gate,
            percent=percent(fires),
        ),
    )
    show_field("", _("at present {gate:.2f}: {percent}", gate=present, percent=percent(before)))
    question = _("Set hooks.minRelevanceScore to {gate:.2f}?", gate=gate)
    if write or click.confirm(question, default=False, err=True):
        _write(invocation, gate, is_quiet=False)


def _write(invocation: Invocation, gate: float, *, is_quiet: bool) -> None:
    path = invocation.config_path or config_path(os.environ)
    backup = write_gate(path, gate, time.time())
    tell = say if is_quiet else (lambda text: show_field("Written", text))
    tell(_("hooks.minRelevanceScore {gate:.2f} in {path}", gate=gate, path=path))
    if backup:
        tell(_("what the file was before: {backup}", backup=backup))
