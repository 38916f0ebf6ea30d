"""The embedder: what turns texts into vectors. Ruri is one; the tests have a small one of their own."""

from __future__ import annotations

from kizami_core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Protocol

    import numpy as np
    from numpy.typing import NDArray

    # A question and the passage that answers it are embedded differently.
    Kind = Literal["query", "document"]
    Vectors = NDArray[np.float32]

    class Embedder(Protocol):
        """Turns texts into vectors; may be called from several threads at once."""

        @property
        def model(self) -> ModelIdentity:
            """Whose vectors these are."""

        def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
            """Return ``float32[len(texts), dimensions]``, each row L2-normalised, in the order of the texts.

            Raises:
                ModelDamagedError: the model fails, or gives something else than vectors.
            """


class ModelIdentity(Record):
    """Which model made a vector: vectors of different identities can't be compared.

    ``revision`` is a digest of the model's own files, so it is the same wherever they came from.
    """

    name: str
    revision: str
    dimensions: int
