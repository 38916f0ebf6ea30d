"""Stored vectors as numbers: what the blobs of ``chunks_vec_map`` say, and which of them are vectors."""

from __future__ import annotations

import numpy as np

from kizami_hybrid.vector_schema import FLOAT_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kizami_hybrid.embedder import ModelIdentity, Vectors

    Block = Sequence[tuple[int, object]]
    Ids = NDArray[np.int64]

_TOLERANCE = 1e-3  # of a length that should be 1


def read_vectors(block: Block, model: ModelIdentity) -> tuple[Ids, Vectors]:
    """Return ids and vectors, ``float32[n, dimensions]``, of stored rows; other sizes are left out."""
    size = model.dimensions * FLOAT_BYTES
    sound = [(number, data) for number, data in block if isinstance(data, bytes) and len(data) == size]
    ids = np.array([number for number, _ in sound], np.int64)
    data = b"".join(data for _, data in sound)
    return ids, np.frombuffer(data, "<f4").reshape(len(ids), model.dimensions)


def sound_vectors(block: Block, model: ModelIdentity) -> tuple[Ids, Vectors]:
    """Return what ``read_vectors`` does, without what is not of length 1, as every embedder makes them."""
    ids, vectors = read_vectors(block, model)
    with np.errstate(all="ignore"):
        is_unit = np.abs(np.linalg.norm(vectors, axis=1) - 1) <= _TOLERANCE
    return ids[is_unit], vectors[is_unit]
