"""The same source gives the same bytes: whoever builds a release again can compare hashes."""

import hashlib
import os
import shutil
import subprocess

LEFT_BEHIND = shutil.ignore_patterns("__pycache__", ".*_cache")


def hashes(folder):
    archives = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}


def test_a_copy_with_other_times_and_permissions_gives_the_same_archives(root, uv, dist, tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(root / "packages", copy / "packages", ignore=LEFT_BEHIND, copy_function=shutil.copyfile)
    for name in (".gitignore", "pyproject.toml", "uv.lock"):
        shutil.copyfile(root / name, copy / name)
    for path in copy.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    built = tmp_path / "dist"
    subprocess.run([*uv, "build", "--quiet", "--all-packages", "--out-dir", built], cwd=copy, check=True)
    assert len(hashes(built)) == 8
    assert hashes(built) == hashes(dist)
