"""Measure the token estimate against a real tokenizer.

    python benchmarks/token_estimate.py TOKENIZER.json FOLDER

FOLDER holds one folder for each kind of text, with UTF-8 ``*.txt`` files in it. Needs ``tokenizers`` from
PyPI. A suitable tokenizer is ``anthropic/tokenizer.json`` in the wheel of anthropic 0.38.0.
"""

import statistics
import sys
import time
from pathlib import Path

from tokenizers import Tokenizer

from kizami_core.transcript.tokens import estimate_tokens


def main(tokenizer_path: str, folder: str) -> None:
    tokenizer = Tokenizer.from_file(tokenizer_path)
    print(f"{'kind':14}{'texts':>6}{'tokens':>9}{'mean':>8}{'p5':>8}{'p95':>8}{'chars/4':>9}")
    everything = []
    for kind in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        texts = [path.read_text(encoding="utf-8") for path in sorted(kind.glob("*.txt"))]
        everything += texts
        counts = [len(tokenizer.encode(text).ids) for text in texts]
        ratios = [estimate_tokens(text) / count for text, count in zip(texts, counts, strict=True)]
        quarters = statistics.mean(len(text) / 4 / count for text, count in zip(texts, counts, strict=True))
        twentieths = statistics.quantiles(ratios, n=20)
        print(
            f"{kind.name:14}{len(texts):6}{sum(counts):9}{statistics.mean(ratios):8.2f}"
            f"{twentieths[0]:8.2f}{twentieths[-1]:8.2f}{quarters:9.2f}"
        )
    size = sum(len(text.encode()) for text in everything)
    start = time.perf_counter()
    for text in everything:
        estimate_tokens(text)
    print(f"{size / (time.perf_counter() - start) / 1e6:.0f} MB/s")


if __name__ == "__main__":
    main(*sys.argv[1:])
