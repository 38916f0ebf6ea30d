"""Projects: which folder a working directory belongs to.

A memory made in a sub-directory or in a worktree is found from the whole repository. Only the file system is
looked at, no process is started.
"""

from __future__ import annotations

import os

_MAX_POINTER_BYTES = 8_192  # what a .git file or a commondir file may hold; theirs are one path


def resolve_project(cwd: str) -> str:
    r"""Return the project path of a working directory.

    It is the root of the git repository around it (for a worktree: of the repository it was made from; a
    submodule is a repository of its own), else the directory itself, without symbolic links. The home
    directory and ``/`` are never the repository around something: dotfiles kept there would make one project
    of all. A directory that is gone is resolved as far as it can be. What is no path of this system
    (``C:\src`` in a transcript read on Linux) and "" stay as they are.
    """
    if os.name != "nt" and not cwd.startswith("/"):
        return cwd
    try:
        path = os.path.realpath(cwd)
        # A name that is not UTF-8 becomes the text that Claude Code makes of it.
        return os.fsencode(_repository_root(path) or path).decode("utf-8", "replace")
    except ValueError:  # a NUL or a lone surrogate: no file has such a name
        return cwd


def _repository_root(path: str) -> str | None:
    home = os.path.realpath(os.path.expanduser("~"))
    while path not in (home, os.path.dirname(path)):
        marker = os.path.join(path, ".git")
        if os.path.isdir(marker):
            return path
        if os.path.isfile(marker):
            return _main_root(path, marker) or path
        path = os.path.dirname(path)
    return None


def _main_root(path: str, marker: str) -> str | None:
    """Return the root that a worktree's ``.git`` file leads to, None when the file marks a root itself."""
    pointer = _first_line(marker)
    git_dir = os.path.join(path, pointer.removeprefix("gitdir:").strip())
    common = _first_line(os.path.join(git_dir, "commondir"))
    if not pointer.startswith("gitdir:") or not common:
        return None
    common_dir = os.path.realpath(os.path.join(git_dir, common))
    root = os.path.dirname(common_dir)
    # A bare repository has no folder around it that is the project, unless a .git there points to it.
    return root if os.path.lexists(os.path.join(root, ".git")) else common_dir


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_MAX_POINTER_BYTES).split(b"\n")[0]).strip()
    except OSError:
        return ""
