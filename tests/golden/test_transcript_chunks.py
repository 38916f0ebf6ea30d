"""Small transcripts, one for each family of hard cases, and the chunks that they give.

``python tests/golden/test_transcript_chunks.py`` writes the expected files anew; look at what changed.
"""

from pathlib import Path

import pytest

from kizami_core.transcript.chunker import chunk_role, split_chunks
from kizami_core.transcript.metadata import extract_metadata
from kizami_core.transcript.rendering import render_turn
from kizami_core.transcript.tokens import estimate_tokens
from kizami_core.transcript.turns import TranscriptReader

_TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.jsonl"))


def chunks_text(path):
    """Return the turns of a transcript, their chunks and the report as one readable text."""
    reader = TranscriptReader(str(path))
    blocks = []
    for turn in reader:
        span = f"bytes {turn.start_offset} to {turn.end_offset}"
        blocks.append(f"=== turn {turn.uuid} | {turn.started_at} | {turn.cwd} | {span}")
        for chunk in split_chunks(render_turn(turn, head_lines=20, tail_lines=5), 512):
            metadata = extract_metadata(chunk)
            blocks.append(
                f"--- {chunk_role(chunk)}, {estimate_tokens(chunk)} tokens, {metadata.as_dict()}\n{chunk}"
            )
    report = reader.report()
    blocks.append(
        f"=== {report.entries} lines, {report.broken_lines} broken, skipped {dict(report.skipped_types)}\n"
    )
    return "\n".join(blocks)


@pytest.mark.parametrize("path", _TRANSCRIPTS, ids=[path.stem for path in _TRANSCRIPTS])
def test_a_transcript_gives_the_expected_chunks(path):
    assert chunks_text(path) == path.with_suffix(".expected.txt").read_text(encoding="utf-8")


def test_there_are_golden_transcripts():
    assert len(_TRANSCRIPTS) >= 7


if __name__ == "__main__":
    for transcript in _TRANSCRIPTS:
        transcript.with_suffix(".expected.txt").write_text(chunks_text(transcript), encoding="utf-8")
