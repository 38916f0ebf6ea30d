"""Read every transcript under a folder and print what was found: files, lines, turns, chunks, what was skipped.

python benchmarks/transcript_report.py FOLDER
"""

import sys
import time
from collections import Counter
from pathlib import Path

from kizami_core.config import parse_config
from kizami_core.transcript.chunker import split_chunks
from kizami_core.transcript.names import is_agent_transcript
from kizami_core.transcript.rendering import render_turn
from kizami_core.transcript.turns import TranscriptReader


def main(folder: str) -> None:
    config, _ = parse_config({}, {})
    totals: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    seconds = {"reading": 0.0, "rendering and chunking": 0.0}
    print(f"{'lines':>7}{'broken':>8}{'turns':>7}{'chunks':>8}{'skipped':>9}  file")
    for path in sorted(Path(folder).rglob("*.jsonl")):
        reader = TranscriptReader(str(path))
        start = time.perf_counter()
        turns = list(reader)
        seconds["reading"] += time.perf_counter() - start
        start = time.perf_counter()
        chunks = 0
        for turn in turns:
            text = render_turn(
                turn,
                head_lines=config.truncate_tool_output_lines,
                tail_lines=config.truncate_tool_output_tail_lines,
            )
            chunks += len(split_chunks(text, config.max_tokens_per_chunk))
        seconds["rendering and chunking"] += time.perf_counter() - start
        report = reader.report()
        skipped.update(report.skipped_types)
        row = {
            "lines": report.entries,
            "broken": report.broken_lines,
            "turns": report.turns,
            "chunks": chunks,
        }
        totals.update({**row, "files": 1, "bytes": path.stat().st_size})
        left_out = sum(report.skipped_types.values())
        note = "  (sub-agent: not saved)" if is_agent_transcript(str(path)) else ""
        print(
            f"{row['lines']:7}{row['broken']:8}{row['turns']:7}{chunks:8}{left_out:9}"
            f"  {path.relative_to(folder)}{note}"
        )
    print(
        f"\n{totals['files']} files, {totals['lines']} lines, {totals['broken']} broken, "
        f"{totals['turns']} turns, {totals['chunks']} chunks"
    )
    for step, spent in seconds.items():
        print(f"{step}: {totals['bytes'] / spent / 1e6:.0f} MB/s of transcript")
    print("\nskipped records:")
    for name, count in skipped.most_common():
        print(f"{count:7}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
