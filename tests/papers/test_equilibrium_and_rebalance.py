"""The inventories of two documents: complete, and every difference has its reason.

What is printed is in the bundled tables; that ours is within half of the last printed digit is
what the lines compare.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from papers.items import Document, Facts, Item
from papers.lines import Line
from papers.performance import statements
from papers.performance.document import PERFORMANCE
from papers.performance.tournaments import table
from papers.rebalance import examples
from papers.rebalance.document import REBALANCE

from equipoise.data.games import Games
from equipoise.teams.rebalance import rebalance
from equipoise.tournament.equilibrium import Equilibrium, performance_equilibrium
from formats.comparing import real_data

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "papers"
FEW = Facts(cases=20)
EVERY = [
    pytest.param(item, id=f"{document.name}-{item.name}")
    for document in (PERFORMANCE, REBALANCE)
    for item in document.items
]

#: All lines that are not as printed.
DIFFER = {
    "table-1": {"tournament 1, C: TPR"},
    "table-2": {"Palma, Jakovenko: TPR", "Sharjah, Jakovenko: PPR"},
    "table-3": {
        "Portisch: PPR without the game",
        "Smyslov: PPR without the game",
        "Polugaevsky: PPR without the game",
        "Gligoric: PPR without the game",
        "Rubinetti: points",
        "Rubinetti: PPR with all 276 games",
        "Jimenez: PPR with all 276 games",
    },
    "claim-note-8": {"the larger of two TPRs is not printed as the smaller number"},
    "claim-average": {"average rating of Table 1"},
    "table-permutation": {f"result {row}: distance" for row in (1, 5, 6)},
    "table-combination": {f"result {row}: distance" for row in range(1, 9)},
    "example-combination": {"result used"},
    "table-greedy": {"step 3: party"},
}


def numbers(document: Document, kind: str) -> list[str]:
    return [one.number for one in document.items if one.kind == kind]


def test_every_numbered_statement_of_the_equilibrium_is_listed():
    """As the text has them: (1) to (5), Definitions 1 to 4, Tables 1 to 3, two of each other."""
    assert numbers(PERFORMANCE, "equation") == ["1", "2", "3", "4", "5"]
    assert numbers(PERFORMANCE, "definition") == ["1", "2", "3", "4"]
    assert numbers(PERFORMANCE, "table") == ["1", "2", "3"]
    for kind in ("assumption", "proposition", "theorem"):
        assert numbers(PERFORMANCE, kind) == ["1", "2"]
    for kind in ("lemma", "remark"):
        assert numbers(PERFORMANCE, kind) == ["1"]


def test_every_method_of_the_rebalance_is_listed():
    """Each of the three has its rules, its ruleset, its table and its answer."""
    for kind in ("algorithm", "ruleset", "table", "example"):
        found = set(numbers(REBALANCE, kind)) - {"methods"}
        assert found == {"permutation", "combination", "greedy"}


@pytest.mark.parametrize("document", [PERFORMANCE, REBALANCE])
def test_names_are_unique(document: Document):
    assert max(Counter(one.name for one in document.items).values()) == 1


@pytest.mark.parametrize("item", EVERY)
def test_a_statement_is_reproduced_or_has_a_reason(item: Item):
    lines: list[Line] = list(item.check(FEW))
    assert lines
    assert {one.what for one in lines if one.outcome == "differs"} == DIFFER.get(item.name, set())
    for one in lines:
        assert one.reason or one.outcome not in ("differs", "not done")


@pytest.mark.parametrize("item", [one for one in PERFORMANCE.items if one.draw is not None])
@pytest.mark.slow
def test_the_tables_are_drawn(item: Item):
    pytest.importorskip("matplotlib")
    assert item.draw is not None
    assert item.draw(FEW).get_axes()


def test_shipped_facts_are_those_of_the_examples():
    """They are bundled with the package, which has no folder of examples when it is installed."""
    for bundled, example in (
        ("performance/interzonal1970.csv", "interzonal1970.csv"),
        ("rebalance/permutation.json", "rebalance.json"),
    ):
        assert (FOLDER / bundled).read_bytes() == (ROOT / "examples" / example).read_bytes()


def test_the_games_of_palma_are_those_of_the_records():
    """Same rounds, results and ratings; names are shorter. One game is marked."""
    path = real_data("chess_palma2017_grandprix.csv")
    theirs = pl.read_csv(path)
    ours = table("palma2017")
    same = ["round", "result", "white_elo", "black_elo"]
    assert ours.select(same).equals(theirs.select(same))
    assert ours["reconstructed"].drop_nulls().len() == theirs["note"].drop_nulls().len() == 1
    renamed = {
        names for side in ("white", "black") for names in zip(ours[side], theirs[side], strict=True)
    }
    assert len(renamed) == 18


def test_random_requests_of_full_teams_are_answered_by_combination():
    """The experiment on combination is of combination, and that on permutation of permutation."""
    for requests, method in (
        (examples.strict_requests(20, 0), "combination"),
        (examples.random_requests(20, 0), "permutation"),
    ):
        assert {rebalance(one).method for one in requests} == {method}


def test_uniqueness_and_independence_can_fail(monkeypatch: pytest.MonkeyPatch):
    """Both experiments compare with something that does not come from the same computation."""

    def wrong(games: Games, **more: object) -> Equilibrium:
        found = performance_equilibrium(games, **more)
        tilted = found.rating + 1e-3 * games.initial * np.arange(games.players)
        return replace(found, rating=tilted)

    monkeypatch.setattr(statements, "performance_equilibrium", wrong)
    facts = Facts(cases=24, seed=5)
    assert statements.theorem_2(facts)[0].outcome == "differs"
    assert statements.independent(facts)[0].outcome == "differs"


def test_the_iteration_moves_apart_after_every_sweep_also_with_idle_players():
    """Without an equilibrium it has no fixed point (Theorem 1); players without games count not."""
    (item,) = PERFORMANCE.chosen("theorem-1")
    (line,) = [one for one in item.check(Facts(cases=400)) if "200 steps" in one.what]
    moving, _, tried, _ = line.ours.split()
    assert int(moving) == int(tried) > 10
