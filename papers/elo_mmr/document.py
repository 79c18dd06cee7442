"""The inventory of Elo-MMR: equations (1) to (10), and every other statement of the paper."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from papers.elo_mmr import formulas, options, tables, theorems
from papers.elo_mmr.figures import figure1, figure_lines
from papers.items import Check, Document, Facts, Item, Kind
from papers.lines import Line, stated

if TYPE_CHECKING:
    from collections.abc import Sequence


def _item(kind: Kind, number: str, says: str, check: Check, where: str = "EloMMR") -> Item:
    return Item(kind=kind, number=number, says=says, where=where, check=check)


def _stated(what: str, why: str) -> Check:
    """Return the check of an assumption, which computes nothing."""

    def check(facts: Facts) -> list[Line]:
        return [stated(what, why)]

    return check


def _algorithm(*names: str) -> Check:
    return partial(formulas.algorithm, names=names)


_LINEAR = "equations/linear-time"

_EQUATIONS: Sequence[Item] = (
    _item(
        "equation",
        "1",
        "the joint distribution factorises",
        _stated(
            "prior, evolution, performance and evidence",
            "The model. `simulate` draws from it, and the synthetic row of Table 2 is rated on "
            "such draws.",
        ),
        "simulate",
    ),
    _item(
        "equation",
        "2",
        "the belief before a round",
        _stated("pi(s)", "A name; its form is (7), and equation-7 checks it."),
    ),
    _item(
        "equation",
        "3",
        "the posterior, by Bayes' rule",
        _stated("posterior", "Bayes' rule; (5) is its limit, and equation-5 checks that."),
    ),
    _item(
        "equation",
        "4",
        "the evidence as an integral over performances",
        _stated(
            "Pr(e | s)",
            "Intractable, as the paper says; theorem-2.1 replaces it by the performance, and is "
            "tried there.",
        ),
    ),
    _item("equation", "5", "the rating maximises the posterior", formulas.mode),
    _item("equation", "6", "the prior of a performance is a convolution", formulas.convolution),
    _item("equation", "7", "the posterior density", formulas.mode),
    _item("equation", "8", "its derivative, dL/ds", formulas.derivative),
    _item("equation", "9", "the uncertainty of a skill", formulas.uncertainty),
    _item("equation", "10", "diffusion as an integral", formulas.diffused),
)

_DEFINITIONS: Sequence[Item] = (
    _item("definition", "3.1", "log-concave densities", theorems.log_concave),
    _item(
        "definition",
        "section 3.1 l d v",
        "losses, draws and victories as derivatives",
        theorems.ordered_functions,
    ),
    _item(
        "definition",
        "section 3.1 logistic",
        "F and f of a logistic performance, and their relations",
        formulas.logistic_functions,
    ),
    _item(
        "definition",
        "section 3.1 rank",
        "the performance is where expected and observed rank agree",
        formulas.expected_rank,
    ),
    _item(
        "definition",
        "section 3.2 mean",
        "the rating is a weighted mean of performances",
        formulas.weighted_mean,
        "explain",
    ),
    _item(
        "definition",
        "section 6.1 synthetic",
        "the synthetic data",
        tables.synthetic_data,
        "simulate",
    ),
    _item(
        "definition",
        "section 6.2 metrics",
        "pair inversion, rank deviation and their mean",
        tables.metrics,
        "backtest(ties_as_authors=True)",
    ),
)

_TABLES: Sequence[Item] = (
    _item("table", "1", "the data sets", tables.first, "backtest"),
    _item("table", "2", "what five systems predict", tables.second, "backtest"),
    _item("table", "3", "what they take", tables.third, "guides/speed"),
    Item(
        kind="figure",
        number="1",
        says="L_2 and L_R; the logistic and the normal density",
        where="equations/elo-mmr",
        check=figure_lines,
        draw=figure1,
    ),
)

_THEOREMS: Sequence[Item] = (
    _item("theorem", "2.1", "performances concentrate as opponents increase", theorems.doob),
    _item("lemma", "3.1", "l < d < v, each decreasing", theorems.ordered_functions),
    _item("theorem", "3.2", "one zero of Q, the most likely performance", theorems.unique_zero),
    _item("theorem", "4.1", "what diffusion preserves", theorems.diffusion),
    _item("lemma", "5.1", "wins raise, losses lower a performance", theorems.terms_added),
    _item("theorem", "5.2", "a better place, a better performance", theorems.better_place),
    _item("lemma", "5.3", "monotonic in rating and place", theorems.monotonic_performance),
    _item("lemma", "5.4", "monotonic in past performances", theorems.monotonic_rating),
    _item(
        "theorem",
        "5.5",
        "aligned incentives: doing worse never pays",
        theorems.aligned_incentives,
        "audit incentives",
    ),
    _item("theorem", "5.6", "monotonicity without memory", theorems.memoryless),
    _item("theorem", "5.7", "a contest moves a rating within bounds", theorems.robust, "explain"),
)

_ALGORITHMS: Sequence[Item] = (
    _item("algorithm", "1", "a round", _algorithm("performance", "rating", "deviation")),
    _item("algorithm", "2", "diffuse", formulas.diffusion_as_printed),
    _item("algorithm", "3", "update", _algorithm("performance", "rating")),
)

_OPTIONS: Sequence[Item] = (
    _item(
        "option",
        "statistic",
        "section 2: any statistic of the posterior",
        formulas.uncertainty,
    ),
    _item(
        "option",
        "split ties",
        "footnote 2: half a win and half a loss",
        options.split_ties,
        "EloMMR(split_ties=True)",
    ),
    _item(
        "option",
        "tie weights",
        "footnote 2: w_l losses and w_v wins",
        options.tie_weights,
        "EloMMR(tie_loss=, tie_win=)",
    ),
    _item("option", "Gaussian", "sections 3 and 4: Elo-MMR-chi", formulas.diffused, "EloMMX"),
    _item("option", "newcomers", "section 4.1: their mean and variance", options.initial_values),
    _item("option", "rho", "section 4.1: momentum", options.rho, "EloMMR(rho=)"),
    _item("option", "beta and gamma", "sections 3 and 4: their sizes", options.limits),
    _item(
        "option",
        "subsampling",
        "section 5.3: the nearest opponents only",
        options.subsampling,
        "papers.elo_mmr.nearest",
    ),
    _item(
        "option",
        "history compression",
        "section 5.3: few logistic terms",
        options.remembered,
        "EloMMR(remembered=)",
    ),
    _item("option", "threads", "section 5.3: players in parallel", options.parallel),
    _item(
        "option",
        "hyperparameters",
        "section 6.3: a grid on the first tenth",
        options.search_of_parameters,
        "tune",
    ),
)

_CLAIMS: Sequence[Item] = (
    _item("claim", "speed", "sections 1, 5.3 and 6.3: faster than others", tables.faster, _LINEAR),
    _item("claim", "runtime", "section 5.3: the time of a round", options.runtime, _LINEAR),
    _item(
        "claim",
        "volatility",
        "section 5.1: TopCoder and Glicko-2 reward losing",
        options.farming,
        "audit incentives",
    ),
    _item(
        "claim",
        "robustness",
        "section 5.2: Codeforces and TrueSkill have no bound",
        options.unbounded,
    ),
    _item("claim", "accuracy", "section 6.3: better predictions", tables.more_accurate, "backtest"),
    _item("claim", "rho", "section 6.3: rho does not matter much", tables.by_rho, "backtest"),
    _item(
        "claim",
        "convergence",
        "section 6.3: better convergence, so the filter of newcomers hurts",
        tables.filtered,
        "guides/entry",
    ),
)

_FUTURE: Sequence[Item] = tuple(
    _item("future-work", name, f"section 7: {name}", partial(options.future_work, what=name), where)
    for name, where in (
        ("sub-sampling", _LINEAR),
        ("interpolation", _LINEAR),
        ("factor graph", "reference/systems"),
        ("release", "equations/elo-mmr"),
    )
)

ELO_MMR = Document(
    name="elo-mmr",
    title="Elo-MMR: A Rating System for Massive Multiplayer Competitions",
    page="papers/elo-mmr",
    items=(
        *_TABLES,
        *_EQUATIONS,
        *_DEFINITIONS,
        *_THEOREMS,
        *_ALGORITHMS,
        *_OPTIONS,
        *_CLAIMS,
        *_FUTURE,
    ),
)
