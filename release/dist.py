"""Build the packages into dist: the source archive, and from it the wheel.

Run: python release/dist.py (or `make dist`)
The same commit gives the same bytes, in any folder and at any time: file times are a fixed day, and
permissions, owners and order are those that hatchling sets. This holds for one version of hatchling
and of the compression library of Python; constraints.txt pins the former.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: The file of checksums beside the packages.
SUMS = "SHA256SUMS"


def build(root: Path, out: Path) -> list[Path]:
    """Build the source archive of a tree, and the wheel from that archive; return both files.

    out : folder for both, which is made
    """
    out.mkdir(parents=True, exist_ok=True)
    archive = hatchling(root, "sdist", out)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as file:
            # Early versions of Python 3.11 have no filters.
            named: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            file.extractall(folder, **named)
        (unpacked,) = Path(folder).iterdir()
        wheel = hatchling(unpacked, "wheel", out)
    return [archive, wheel]


def hatchling(root: Path, target: str, out: Path) -> Path:
    """Build one package of a tree with the hatchling of this Python; return its file."""
    environment = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", target]
        done = subprocess.run(
            [*command, "--directory", folder],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"dist: the {target} could not be built\n{done.stdout}{done.stderr}")
        (built,) = Path(folder).iterdir()
        return Path(shutil.copyfile(built, out / built.name))


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed(root: Path) -> list[str]:
    """Return what differs from the last commit; nothing where there is no git repository."""
    command = ["git", "-C", str(root), "status", "--porcelain"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines()


def main() -> None:
    """Build, print the checksums, and keep them beside the packages."""
    different = changed(ROOT)
    if different:
        print(f"dist: not what is committed, the packages contain {len(different)} changes:")
        print(*different[:20], sep="\n")
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    lines = [f"{checksum(path)}  {path.name}" for path in build(ROOT, out)]
    print(*lines, sep="\n")
    (out / SUMS).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
