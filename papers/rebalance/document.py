"""The inventory of matchmaking rebalance: rules, rulesets, examples and options."""

from __future__ import annotations

from papers.items import Check, Document, Item, Kind
from papers.rebalance import examples

_GUIDE = "docs/guides/rebalancing.md"


def _item(kind: Kind, number: str, says: str, check: Check, where: str = "rebalance") -> Item:
    return Item(kind=kind, number=number, says=says, where=where, check=check)


REBALANCE = Document(
    name="rebalance",
    title="Matchmaking rebalance",
    page="papers/rebalance",
    items=(
        _item(
            "claim",
            "overview",
            "parties stay together; the most even teams are chosen",
            examples.rules_hold,
        ),
        _item("option", "rebalance_enable", "on unless it is set", examples.options),
        _item("algorithm", "methods", "when each of the three is used", examples.methods, _GUIDE),
        _item(
            "algorithm",
            "permutation",
            "horizontally: every order of the parties",
            examples.permutation_is_not_optimal,
        ),
        _item("ruleset", "permutation", "up to two teams of up to three", examples.auto_backfill),
        _item("table", "permutation", "six sequences", examples.permutation),
        _item("example", "permutation", "the backfill of session 1", examples.result_6),
        _item("algorithm", "combination", "vertically: full teams", examples.strict_rules_hold),
        _item("ruleset", "combination", "two teams of three", examples.options),
        _item("table", "combination", "eight sequences", examples.combination),
        _item("example", "combination", "the new match", examples.result_7),
        _item("algorithm", "greedy", "largest total to least total", examples.sorted_parties),
        _item("ruleset", "greedy", "two teams of seven", examples.methods),
        _item("table", "greedy", "eight steps", examples.greedy),
        _item("example", "greedy", "how even the three answers are", examples.optimum),
        _item("option", "auto_backfill", "of a ruleset", examples.auto_backfill),
        _item("option", "matching_rule", "attribute, criteria, reference, max", examples.fields),
    ),
)
