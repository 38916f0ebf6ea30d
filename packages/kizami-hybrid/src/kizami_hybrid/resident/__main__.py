"""Where the resident process starts: `python -m kizami_hybrid.resident`, by `starting.start` alone."""

from __future__ import annotations

import os
import sys

from kizami_core.errors import KizamiError
from kizami_hybrid.resident.endpoint import Endpoint
from kizami_hybrid.resident.process import serve
from kizami_hybrid.settings import EmbeddingSettings


def main() -> None:
    """Serve as the arguments say; see ``starting.start``, which wrote them."""
    path, transport, model, precision, dimensions, cache_dir, database = sys.argv[1:]
    settings = EmbeddingSettings(
        model=model,
        revision="",
        is_quantized=precision == "int8",
        dimensions=int(dimensions),
        cache_dir=cache_dir,
    )
    os.chdir(os.sep)  # not the project's directory, which may be moved or unmounted
    try:
        serve(Endpoint(path, is_unix=transport == "unix"), settings, database, os.environ)
    except KizamiError as error:  # it is in the error log
        sys.exit(str(error))


if __name__ == "__main__":
    main()
