"""What `kizami embed --backfill` costs on a model of Ruri's true shape, and that stopping it changes nothing.

    python benchmarks/hybrid_backfill.py --model-dir DIR [--chunks 1000]

DIR holds the model (hybrid_cost.py leaves one in its --dir). One copy of a generated memory is embedded in one go;
another is interrupted by Ctrl-C at half and embedded to its end by a second run. Printed: the speed, the most memory
of a process, and how far the vectors of the two differ.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from sqlite3 import OperationalError, connect

import numpy as np
from generated_memory import generate

from kizami_hybrid.model_files import install_model
from kizami_hybrid.settings import parse_settings

SECTION = {"model": "bench/ruri-v3-shape"}


class Copy:
    """A memory in a home of its own."""

    def __init__(self, home, model_dir):
        home.mkdir()
        foreign = ("XDG_", "CLAUDE", "KIZAMI")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)} | {"HOME": str(home)}
        settings, _ = parse_settings(SECTION, self.env)
        install_model(settings, self.env, model_dir=str(model_dir))
        self.database = home / "memory.db"
        self.config = home / "config.json"
        fields = {
            "database": {"path": str(self.database)},
            "search": {"mode": "hybrid"},
            "embedding": SECTION,
        }
        self.config.write_text(json.dumps(fields), encoding="utf-8")

    def embed(self, stop_at=None):
        """Embed, to be interrupted at so many vectors; print the seconds and the peak."""
        command = [sys.executable, "-m", "kizami_cli", "embed", "--backfill", "--config", str(self.config)]
        begun, before = time.monotonic(), self.vectors()
        process = subprocess.Popen(
            command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while stop_at is not None and self.vectors() < stop_at:
            time.sleep(0.2)
        if stop_at is not None:
            process.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(process.pid, 0)
        seconds, made = time.monotonic() - begun, self.vectors() - before
        cpu = usage.ru_utime + usage.ru_stime
        print(
            f"{made} chunks in {seconds:.0f} s ({made / seconds:.1f} a second, {cpu / made:.2f} s of processor time "
            f"each), at most {usage.ru_maxrss / 1000:.0f} MB",
            flush=True,
        )

    def vectors(self):
        with closing(connect(self.database)) as connection:
            try:
                return connection.execute("SELECT count(*) FROM chunks_vec_map").fetchone()[0]
            except OperationalError:  # no table yet
                return 0

    def rows(self):
        with closing(connect(self.database)) as connection:
            rows = connection.execute("SELECT chunk_id, embedding FROM chunks_vec_map ORDER BY 1").fetchall()
        return [row[0] for row in rows], np.array([np.frombuffer(row[1], "<f4") for row in rows])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model-dir", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=1_000)
    options = parser.parse_args()
    # In a background shell it is ignored, which the processes would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        whole, halves = (Copy(Path(folder, name), options.model_dir) for name in ("whole", "halves"))
        connection, _ = generate(str(whole.database), options.chunks)
        characters, size = connection.execute("SELECT avg(length(content)), count(*) FROM chunks").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        shutil.copy(whole.database, halves.database)
        print(f"{size} chunks of {characters:.0f} characters")
        halves.embed(stop_at=size // 2)
        halves.embed()
        whole.embed()
        (ids, vectors), (other_ids, others) = whole.rows(), halves.rows()
        print(
            f"the same chunks: {ids == other_ids}; vectors differ by {np.abs(vectors - others).max():.1e} at most"
        )


if __name__ == "__main__":
    main()
