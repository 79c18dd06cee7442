"""The inventory of team Glicko-2: equations (1) to (48) and what stands between them."""

from __future__ import annotations

from equipoise.papers.items import Check, Document, Facts, Item
from equipoise.papers.lines import Line
from equipoise.papers.team_glicko2 import formulas

_EQUATIONS = "docs/equations/team-glicko2.md"


def _of(symbol: str, what: str) -> Check:
    def check(facts: Facts) -> list[Line]:
        return formulas.same(facts, symbol, what)

    return check


def _equation(number: str, says: str, check: Check, where: str = "TeamGlicko2") -> Item:
    return Item(kind="equation", number=number, says=says, where=where, check=check)


TEAM_GLICKO2 = Document(
    name="team-glicko2",
    title="Team-Based Glicko-2 Rating with Per-Player Performance Weighting",
    page="papers/team-glicko2",
    items=(_equation("8", "z-score within the team", _of("z", "z_i")),),
)
