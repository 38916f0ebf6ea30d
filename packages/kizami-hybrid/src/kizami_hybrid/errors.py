"""Errors of the model, its process and the vectors.

::

    KizamiError
    ├── VectorsStaleError        the saved vectors are not those of the model in use: kizami embed --backfill
    └── ModelError               the embedding model can't be used
        ├── ModelMissingError        it is not installed: kizami setup --hybrid
        └── ModelDamagedError        its files are not those that were installed, or it gives no vectors
"""

from __future__ import annotations

from kizami_core.errors import KizamiError


class ModelError(KizamiError):
    """The embedding model can't be used; Kizami goes on without vectors."""


class ModelMissingError(ModelError):
    """The model is not installed: run `kizami setup --hybrid`."""


class ModelDamagedError(ModelError):
    """A file of the model is gone or altered, or the model gives no vectors: install it again."""


class VectorsStaleError(KizamiError):
    """The saved vectors are another model's, or there are none yet: run `kizami embed --backfill`."""
