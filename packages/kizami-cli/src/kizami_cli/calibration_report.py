"""How a calibration is shown: the curve as a table, prompts near the gate with what they bring back."""

from __future__ import annotations

from kizami_cli.chunk_text import chunk_json, first_line
from kizami_cli.console import count, show, show_field, show_table
from kizami_cli.language import _
from kizami_core.calibration import GATES
from kizami_core.privacy import redact_for_display
from kizami_core.retrieval.snippet import cut
from kizami_core.timestamps import local_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kizami_core.calibration import Asked, Calibration, Rate

_SHOWN_GATES = (*(gate for gate in GATES if gate <= 0.6 and round(gate * 100) % 5 == 0), 0.7, 0.8, 0.9)  # noqa: PLR2004
_EXAMPLES = 3
_LINE_TOKENS = 24  # of a prompt or a memory: about a line


def show_curve(calibration: Calibration, present: float, chosen: float | None) -> None:
    """Write the sample and a row for each gate, the present and the chosen one marked."""
    prompts = [asked.prompt.chunk for asked in calibration.own]
    days = sorted(local_date(chunk.created_at) for chunk in prompts)
    projects = len({chunk.project_path for chunk in prompts})
    show_field(
        "Sample",
        _(
            "{prompts} of {projects}, {begin} to {end}",
            prompts=count(len(prompts), "prompt"),
            projects=count(projects, "project"),
            begin=days[0],
            end=days[-1],
        ),
    )
    if calibration.steering:
        show_field(
            "",
            _("{count:,} of them only steer: nothing is ever shown for these", count=calibration.steering),
        )
    show()
    marks: dict[float, list[str]] = {present: [_("present")]}
    if chosen is not None:
        marks.setdefault(chosen, []).append(_("chosen"))
    show_table(
        ("Gate", "Own prompts", "Unrelated memories", "Found again", ""),
        [
            (
                f"{gate:.2f}",
                percent(calibration.fires(gate)),
                _bounded(calibration.fires_falsely(gate)),
                percent(calibration.finds_again(gate)),
                ", ".join(marks.get(gate, ())),
            )
            for gate in sorted({*_SHOWN_GATES, *marks})
        ],
        right=("Gate", "Own prompts", "Unrelated memories", "Found again"),
    )
    show()
    show_field("Own prompts", _("as they were asked then: something would have been shown"))
    show_field("Unrelated", _("in an unrelated project: false (true rate within, 95 %)"))
    show_field("Found again", _("with half their words: their own turn would have been shown"))


def show_examples(calibration: Calibration, gate: float) -> None:
    """Write the prompts whose best memory is nearest to a gate, the most relevant first."""
    near = calibration.nearest(gate, _EXAMPLES)
    if not near:
        return
    show()
    show(_("Nearest to the gate of {gate:.2f} (kizami calibrate --review asks you about them):", gate=gate))
    for asked in sorted(near, key=_relevance, reverse=True):
        assert asked.best is not None
        memory = asked.best.chunk
        prompt = cut(" ".join(redact_for_display(asked.prompt.text).split()), _LINE_TOKENS)
        show(f"{_relevance(asked):.2f}  {prompt}", indent=2)
        show(
            f"#{memory.id} {local_date(memory.created_at)} {cut(first_line(memory), _LINE_TOKENS)}", indent=8
        )


def calibration_json(calibration: Calibration, present: float, chosen: float | None) -> dict[str, Any]:
    """Return the whole curve for JSON output."""
    return {
        "prompts": len(calibration.own),
        "steering": calibration.steering,
        "present_gate": present,
        "chosen_gate": chosen,
        "gates": [
            {
                "gate": gate,
                "own_prompts": _rate_json(calibration.fires(gate)),
                "unrelated_memories": _rate_json(calibration.fires_falsely(gate)),
                "found_again": _rate_json(calibration.finds_again(gate)),
            }
            for gate in sorted({*GATES, present})
        ],
        "nearest": [
            {
                "relevance": asked.best.relevance,
                "prompt": redact_for_display(asked.prompt.text),
                "memory": chunk_json(asked.best.chunk),
            }
            for asked in calibration.nearest(present if chosen is None else chosen, _EXAMPLES)
            if asked.best is not None
        ],
    }


def percent(rate: Rate) -> str:
    """Return a share in percent, "–" of nothing."""
    return f"{100 * rate.share:.0f} %" if rate.whole else "–"


def bounds(rate: Rate) -> str:
    """Return where the true share lies with 95 % confidence, in percent: "2–9"."""
    low, high = rate.interval()
    return f"{100 * low:.0f}–{100 * high:.0f}"


def _bounded(rate: Rate) -> str:
    return f"{percent(rate)} ({bounds(rate)})" if rate.whole else percent(rate)


def _relevance(asked: Asked) -> float:
    return asked.best.relevance if asked.best else 0.0


def _rate_json(rate: Rate) -> dict[str, float]:
    low, high = rate.interval()
    return {"part": rate.part, "whole": rate.whole, "share": rate.share, "low": low, "high": high}
