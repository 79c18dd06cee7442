"""Figures of the documentation are what their scripts draw, so none is edited by hand."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SLOW = ("tuning",)
#: The others are drawn from what a benchmark measures, or are pages.
DRAWN = ("arena", "comparing", "matchmaking_ratings", "season", "which_system", "worldcup", *SLOW)


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in DRAWN]
)
def test_a_figure_is_what_its_script_draws(name: str, tmp_path: Path) -> None:
    """Shape by shape: the last of six digits may differ from machine to machine."""
    pytest.importorskip("matplotlib")
    script, target = runpy.run_path(str(FIGURES / f"{name}.py")), tmp_path / f"{name}.svg"
    draw = script.get("draw") or script["main"]
    assert not draw(target)
    drawn, kept = (
        [element.tag for element in ET.parse(path).getroot().iter()]
        for path in (target, FIGURES / f"{name}.svg")
    )
    assert drawn == kept
