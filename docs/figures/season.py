"""Draw docs/figures/season.svg: three players of the bundled sample through their season.

Run: python docs/figures/season.py
The same as `equipoise plot examples/contests.csv` with these players, a title and this file.
"""

from __future__ import annotations

from pathlib import Path

from equipoise.cli import run

HERE = Path(__file__).parent
PLAYERS = ("jade-kite", "dune-crane", "birch-fox")
TITLE = "Three players through a season of 40 contests"


def main(target: Path = HERE / "season.svg") -> int:
    """Draw the chart; return the exit status."""
    arguments = ["plot", str(HERE.parents[1] / "examples" / "contests.csv")]
    for player in PLAYERS:
        arguments += ["--player", player]
    return run([*arguments, "--title", TITLE, "--output", str(target)])


if __name__ == "__main__":
    raise SystemExit(main())
