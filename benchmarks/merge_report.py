"""Merging: what it costs on a large memory, and whether the index finds what comparing all pairs finds.

The memory is generated (``generated_memory``) in one project; every tenth chunk is then a changed copy of another one: words
replaced, lines left out or added, at random, so that the similarities of the copies lie on both sides of the
threshold. Prints time, memory and pairs compared on many chunks, and on fewer of them the share of the pairs above
the threshold that the index offers for comparison, and of the chunks that all-pairs merging removes.

    python benchmarks/merge_report.py [--chunks 20000] [--pairs-of 2000]
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generated_memory import ENGLISH, Words

from kizami_core.maintenance.merging import DEFAULT_THRESHOLD, merge
from kizami_core.maintenance.similarity import Index, Search, Text, frequencies_of
from kizami_core.records import Chunk, Metadata
from kizami_core.retrieval.likeness import jaccard, trigrams
from kizami_core.storage.chunks import NewChunk
from kizami_core.storage.connection import open_database, transaction
from kizami_core.storage.sessions import refresh_session
from kizami_core.storage.turns import NewTurn, store_turn


def changed(text, rng):
    """Return a copy of a text with up to a third of its words replaced and lines left out or added."""
    share = rng.random() * 0.35
    lines = []
    for line in text.split("\n"):
        if rng.random() < share / 3:
            continue
        words = [rng.choice(ENGLISH) if rng.random() < share else word for word in line.split(" ")]
        lines.append(" ".join(words))
        if rng.random() < share / 3:
            lines.append(f"{rng.choice(ENGLISH)} {rng.choice(ENGLISH)} {rng.randrange(1000)}")
    return "\n".join(lines)


def texts(count, seed):
    """Return generated texts, every tenth of them a changed copy of an earlier one."""
    words, rng = Words(seed), random.Random(seed)
    made = []
    for number in range(count):
        made.append(changed(rng.choice(made), rng) if number % 10 == 9 else words.exchange())
    return made


def large(count, seed):
    """Merge a database of so many chunks, as the command does."""
    with tempfile.TemporaryDirectory() as folder:
        connection = open_database(str(Path(folder) / "memory.db"))
        with transaction(connection):
            for number, text in enumerate(texts(count, seed)):
                session = f"session-{number // 50}"
                turn = NewTurn(
                    f"turn-{number}",
                    "2026-01-01 00:00:00",
                    len(text),
                    [NewChunk(text, "mixed", Metadata(), 1)],
                )
                store_turn(connection, session, "/p", turn)
            for number in range((count + 49) // 50):
                refresh_session(connection, f"session-{number}")
        started = time.perf_counter()
        pairs = merge(connection, project_path=None, now=time.time(), archive_max_mb=200, dry_run=True)
        found = time.perf_counter()
        search = Search(DEFAULT_THRESHOLD)
        chunks = [_chunk(number, text) for number, text in enumerate(texts(count, seed))]
        search.pairs(chunks)
        looked = time.perf_counter()
        merge(connection, project_path=None, now=time.time(), archive_max_mb=200)
        done = time.perf_counter()
        connection.close()
    every = count * (count - 1) // 2
    print(
        f"{count:,} chunks: {len(pairs):,} merged; dry run {found - started:.1f} s, merge {done - looked:.1f} s"
    )
    print(
        f"  compared {search.compared:,} of {every:,} pairs ({search.compared / every:.5%}, {search.compared / count:.2f} a chunk)"
    )


def small(count, seed):
    """Compare the index with all pairs."""
    chunks = [_chunk(number, text) for number, text in enumerate(texts(count, seed))]
    sets = [trigrams(chunk.content) for chunk in chunks]
    alike = {
        (other, one)
        for one in range(count)
        for other in range(one)
        if min(len(sets[one]), len(sets[other])) >= DEFAULT_THRESHOLD * max(len(sets[one]), len(sets[other]))
        and jaccard(sets[one], sets[other]) >= DEFAULT_THRESHOLD
    }
    made = sorted(map(Text, chunks), key=lambda text: text.richness, reverse=True)
    index = Index(frequencies_of(made, DEFAULT_THRESHOLD), DEFAULT_THRESHOLD)
    offered = set()
    for text in made:
        for candidate in index.candidates(text):
            offered.add(tuple(sorted((text.chunk.id, candidate.chunk.id))))
        index.add(text)
    print(
        f"{count:,} chunks: {len(alike):,} pairs of similarity {DEFAULT_THRESHOLD} or more, "
        f"{len(alike & offered) / len(alike):.2%} of them found"
    )
    # Greedy merging over all pairs: what is removed there and stays here, and the reverse.
    order = sorted(range(count), key=lambda number: (len(sets[number]), number), reverse=True)
    partners = {}
    for one, other in alike:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    kept = set()
    for number in order:
        if not partners.get(number, set()) & kept:
            kept.add(number)
    removed = {pair.removed.id for pair in Search(DEFAULT_THRESHOLD).pairs(chunks)}
    expected = set(range(count)) - kept
    print(
        f"  all pairs remove {len(expected):,} chunks, the index {len(removed):,}: {len(expected & removed) / len(expected):.2%} of them"
    )


def _chunk(number, text):
    return Chunk(number, "s", "/p", number, text, "mixed", Metadata(), "2026-01-01 00:00:00", 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--pairs-of", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    small(options.pairs_of, options.seed)
    large(options.chunks, options.seed)


if __name__ == "__main__":
    main()
