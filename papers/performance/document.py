"""The inventory of performance rating equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from papers.items import Check, Document, Facts, Item, Kind
from papers.lines import Line, beyond, not_done, stated
from papers.performance import figures, options, roundings, statements, tables

_EQUATIONS = "docs/equations/performance.md"
_EXISTENCE = "docs/equations/performance-existence.md"
_GUIDE = "docs/guides/performance.md"


def _item(kind: Kind, number: str, says: str, check: Check, where: str) -> Item:
    return Item(kind=kind, number=number, says=says, where=where, check=check)


def _says(make: Callable[..., Line], *words: str) -> Check:
    """Return a check that computes nothing."""

    def check(_: Facts) -> Iterable[Line]:
        return [make(*words)]

    return check


_ITEMS = (
    _item("section", "2", "players, games w, points y; scores m", statements.setup, _EQUATIONS),
    _item("definition", "1", "the curve psi", statements.curves, "Curve"),
    _item("definition", "2", "an equilibrium is f(x) = x", statements.fixed_points, "Equilibrium"),
    _item(
        "definition",
        "3",
        "expected scores E(x), with a scale beta",
        statements.equivalence,
        "performance_equilibrium",
    ),
    _item(
        "remark", "1", "psi' is even; only differences matter", statements.slopes_are_even, "Curve"
    ),
    _item("lemma", "1", "f(x) = x exactly if E(x) = m", statements.equivalence, _EQUATIONS),
    _item("equation", "1", "f(x), by the score", statements.equation_1, "performance_function"),
    _item("proposition", "1", "Elo's curve is a psi", statements.curves, "Curve"),
    _item("equation", "2", "Elo's curve", statements.elo, _EQUATIONS),
    _item(
        "definition",
        "4",
        "the tournament performance rating",
        statements.equation_3,
        "tournament_performance",
    ),
    _item(
        "equation", "3", "TPR expects the score", statements.equation_3, "tournament_performance"
    ),
    _item(
        "assumption",
        "1",
        "games connect all players",
        _says(stated, "assumed; theorem-2 drops it", "components are rated one by one"),
        _EXISTENCE,
    ),
    _item(
        "assumption",
        "2",
        "no group took every point of others",
        _says(stated, "assumed; theorem-1 drops it", "sweeps are named, with bounds"),
        _EXISTENCE,
    ),
    _item(
        "section",
        "3",
        "A, G and the potential P",
        statements.potential,
        "performance_potential",
    ),
    _item(
        "proposition",
        "2",
        "P is concave; an equilibrium is its maximum",
        statements.proposition_2,
        "performance_potential",
    ),
    _item(
        "equation", "4", "second derivatives of P", statements.equation_4, "performance_potential"
    ),
    _item("theorem", "1", "existence", statements.theorem_1, _EXISTENCE),
    _item("equation", "5", "directional derivative of P", statements.equation_5, _EXISTENCE),
    _item("theorem", "2", "uniqueness, up to a constant", statements.theorem_2, _EQUATIONS),
    _item(
        "algorithm",
        "section 4",
        "the iteration from equal ratings",
        statements.selection,
        "performance_iteration",
    ),
    Item(
        kind="table",
        number="1",
        says="three players, two tournaments",
        where="performance",
        check=tables.table_1,
        draw=figures.table_1,
    ),
    Item(
        kind="table",
        number="2",
        says="Palma de Mallorca and Sharjah 2017",
        where="performance",
        check=tables.table_2,
        draw=figures.table_2,
    ),
    Item(
        kind="table",
        number="3",
        says="Interzonal 1970",
        where="performance",
        check=tables.table_3,
        draw=figures.table_3,
    ),
    _item(
        "example",
        "Table 1",
        "scores that printed PPRs expect",
        tables.expected_scores,
        "performance_function",
    ),
    _item("claim", "average", "2219 is the average of Table 1", tables.average, _GUIDE),
    _item(
        "claim",
        "note 11",
        "eight iterations",
        tables.eight_iterations,
        "performance_iteration",
    ),
    _item("claim", "note 8", "all ratings are rounded", roundings.roundings, "performance"),
    _item("claim", "tournament 2", "TPR and PPR disagree", tables.converses, _GUIDE),
    _item("claim", "Table 2", "who is first, and whose PPR is higher", tables.orders, _GUIDE),
    _item("claim", "Fischer", "more than 135 points ahead", tables.fischer, _GUIDE),
    _item(
        "claim",
        "independence",
        "PPRs do not depend on ratings before",
        statements.independent,
        "performance_equilibrium",
    ),
    _item(
        "claim",
        "recursive performance",
        "no fixed point",
        statements.not_a_fixed_point,
        "recursive_performance",
    ),
    _item(
        "claim",
        "paradox",
        "a win can lower recursive performance",
        statements.paradox,
        "docs/equations/performance-ratings.md",
    ),
    _item(
        "claim",
        "note 6",
        "CPR is defined for all scores",
        statements.complete,
        "complete_performance",
    ),
    _item(
        "claim",
        "note 10",
        "FIDE has approximations of its own (--k-factor)",
        options.fide,
        "fide_performance",
    ),
    _item(
        "claim",
        "other methods",
        "Landau, Wei, Kendall, row sums, PageRank, Rubinstein",
        _says(
            not_done,
            "rankings that are no performance ratings",
            "named as related work only; no formula is printed",
        ),
        _GUIDE,
    ),
    _item(
        "option",
        "start",
        "start from the initial ratings instead (--select, --anchor)",
        options.start,
        "performance_equilibrium",
    ),
    _item(
        "option",
        "curve",
        "any psi, any scale beta (--curve, --scale)",
        options.curves,
        "performance",
    ),
    _item(
        "option",
        "weights",
        "w may be any weights",
        options.weights,
        "read_games",
    ),
    _item(
        "future-work",
        "other sports",
        "PPR for other sports",
        _says(beyond, "any table of games, such as a football cup", "examples/worldcup2022.csv"),
        _GUIDE,
    ),
    _item(
        "future-work",
        "language models",
        "PPR for evaluations of language models",
        _says(beyond, "battles with ties", "examples/arena.csv"),
        "docs/guides/llm-arena.md",
    ),
    _item(
        "future-work",
        "dating and recommendation",
        "PPR for dating and recommender systems",
        _says(
            not_done,
            "no data of such a service is public and at hand",
            "choices of one among several are rated by ranking_strengths",
        ),
        "ranking_strengths",
    ),
    _item(
        "future-work",
        "periods",
        "PPR over predefined periods (--every, --chart)",
        options.periods,
        "equipoise leaderboard",
    ),
)

PERFORMANCE = Document(
    name="performance",
    title="Performance Rating Equilibrium",
    page="papers/performance",
    items=_ITEMS,
)
