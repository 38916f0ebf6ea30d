"""Where the resident process listens: a socket in a directory that only its owner can enter.

The socket's name holds everything that decides what would answer there: protocol, version of Kizami, model
and dimensions. After an upgrade, or with another model, hooks look for another name and start a process of
their own; the old one is asked no more and ends by itself.
"""

from __future__ import annotations

import os
import stat

from kizami_core import __version__
from kizami_core.messages import Message
from kizami_core.paths import data_dir, make_private_dir
from kizami_core.records import Record
from kizami_hybrid.errors import ModelError
from kizami_hybrid.manifest import read_manifest
from kizami_hybrid.resident.protocol import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kizami_hybrid.settings import EmbeddingSettings

# macOS takes 103 bytes, Linux 107; what is added to the name while it is being made has to fit as well.
_MAX_SOCKET_PATH = 90
HAS_UNIX_SOCKETS = os.name == "posix"


class Endpoint(Record):
    """The place of one resident process. Files beside the socket have its name and an ending of their own.

    ``is_unix`` tells the transport: a Unix socket at ``path``, else a loopback port with a token, written
    there.
    """

    path: str
    is_unix: bool = HAS_UNIX_SOCKETS

    @property
    def lock_path(self) -> str:
        """Locked by the process that serves here."""
        return self.path + ".lock"

    @property
    def pid_path(self) -> str:
        """Holds the number of the process that has the lock."""
        return self.path + ".pid"

    @property
    def attempt_path(self) -> str:
        """Its modification time is when a process was last started for this place."""
        return self.path + ".started"

    @property
    def failure_path(self) -> str:
        """Holds why the last process could not serve; not there while all is well."""
        return self.path + ".failed"


def find_endpoint(settings: EmbeddingSettings, env: Mapping[str, str]) -> Endpoint:
    """Return the place for the installed model and the present user; all that it touches is the manifest.

    Raises:
        ModelMissingError: no model is installed.
    """
    manifest = read_manifest(settings.model_dir)
    name = f"v{VERSION}-{__version__}-{manifest.revision}-{settings.dimensions}"
    return Endpoint(os.path.join(_runtime_dir(env, len(name)), name))


def is_private(path: str) -> bool:
    """Tell whether a directory is the user's own and closed to everybody else."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    # Windows keeps others out by inheritance from the profile's directory, and its modes say nothing.
    return os.name != "posix" or (found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077)


def make_runtime_dir(endpoint: Endpoint) -> None:
    """Make the directory of the socket.

    Raises:
        ModelError: it is somebody else's, or open to others.
    """
    make_private_dir(os.path.dirname(endpoint.path))
    require_private(endpoint)


def require_private(endpoint: Endpoint) -> None:
    """Refuse a directory that is not the user's alone, or gone.

    Raises:
        ModelError: it is so.
    """
    directory = os.path.dirname(endpoint.path)
    if not is_private(directory):
        raise ModelError(
            Message(
                "{directory} is not yours alone, so nothing listens there. Remove it, or close it: chmod 700",
                directory=directory,
            )
        )


def _runtime_dir(env: Mapping[str, str], name_length: int) -> str:
    """Return the directory for sockets: the session's own if there is one, else beside the database."""
    base = env.get("XDG_RUNTIME_DIR", "")
    directory = (
        os.path.join(base, "kizami")
        if os.path.isabs(base) and os.path.isdir(base)
        else os.path.join(data_dir(env), "run")
    )
    if os.name != "posix" or len(os.fsencode(directory)) + 1 + name_length <= _MAX_SOCKET_PATH:
        return directory
    return f"/tmp/kizami-{os.getuid()}"  # noqa: S108 - made private and checked before anything is trusted
