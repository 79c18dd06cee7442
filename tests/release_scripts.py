"""Loads scripts that are no part of the package: those of `release` and of `benchmarks`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def script(name: str, folder: str = "release") -> Any:
    """Return a script as a module."""
    path = ROOT / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and NamedTuples look up the module in which they stand.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
