"""The command line: each command reads its options, calls one function of `analysis` and prints.

Heavy libraries are imported inside the commands, so that `equipoise --help` is fast.
"""

from __future__ import annotations

from equipoise.cli.application import main, run

__all__ = ["main", "run"]
