"""The inventory of team Glicko-2: equations (1) to (48), and what its other sections say."""

from __future__ import annotations

from functools import partial

from equipoise.data.outlook import GLICKO2_SCALE
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from papers.items import Check, Document, Facts, Item
from papers.lines import Line, compared, stated
from papers.team_glicko2 import balancing, claims, formulas

_PAGE = "equations/team-glicko2"


def _of(symbol: str, what: str) -> Check:
    """Return the check of a symbol that the trace has."""

    def check(facts: Facts) -> list[Line]:
        return formulas.same(facts, symbol, what)

    return check


def _equation(number: int, says: str, check: Check, where: str = "TeamGlicko2") -> Item:
    return Item(kind="equation", number=str(number), says=says, where=where, check=check)


def _zero_of_the_scale(facts: Facts) -> list[Line]:
    return [
        compared("R_0", "1400", TeamGlicko2().initial_rating),
        *formulas.same(facts, "mu_star", "mu through the update"),
    ]


def _scale(facts: Facts) -> list[Line]:
    return [
        compared("points a unit", "173.7178", GLICKO2_SCALE),
        *formulas.same(facts, "phi_new", "phi through the update"),
    ]


_EQUATIONS = (
    _equation(1, "mu of a rating", _zero_of_the_scale),
    _equation(2, "phi of a deviation", _scale),
    _equation(3, "the rating of a mu", _of("mu_new", "R after the match, as mu")),
    _equation(4, "the deviation of a phi", _of("phi_new", "RD after the match, as phi")),
    _equation(5, "performance from statistics", claims.weighted_statistics, "rate --stat"),
    _equation(6, "mean performance of a team", _of("z", "z, which subtracts it")),
    _equation(7, "deviation of a team's performances", _of("z", "z, which divides by it")),
    _equation(8, "z-score within the team", _of("z", "z")),
    _equation(9, "factor of a change, with its sign", formulas.factor),
    _equation(10, "factor within bounds", formulas.bounded_factor),
    _equation(11, "mean rating of a team", _of("e", "E against that mean")),
    _equation(12, "deviation of a team", _of("e", "E against that deviation")),
    _equation(13, "weight g of a game", formulas.weight_of_a_game),
    _equation(14, "expected score", _of("e", "E")),
    _equation(15, "variance v of one game", partial(formulas.of_one_game, symbol="v")),
    _equation(16, "Delta", partial(formulas.of_one_game, symbol="delta")),
    _equation(17, "a, the logarithm of the variance", formulas.root),
    _equation(18, "the equation for the volatility", formulas.root),
    _equation(19, "f(x)", formulas.root),
    _equation(20, "the new volatility", formulas.bisected),
    _equation(21, "intermediate deviation", _of("phi_new", "phi', which contains it")),
    _equation(22, "new deviation", _of("phi_new", "phi'")),
    _equation(23, "mean before scaling", _of("mu_star", "mu*")),
    _equation(24, "change before scaling", _of("change", "mu* - mu")),
    _equation(25, "factor", formulas.bounded_factor),
    _equation(26, "mean after scaling", _of("mu_new", "mu'")),
    _equation(
        27,
        "performance leaves the deviation alone",
        partial(claims.uncertainty_untouched, column="deviation"),
    ),
    _equation(
        28,
        "performance leaves the volatility alone",
        partial(claims.uncertainty_untouched, column="volatility"),
    ),
    _equation(29, "the change to be clamped", formulas.clamped, "TeamGlicko2(max_change=)"),
    _equation(30, "the clamped change", formulas.clamped, "TeamGlicko2(max_change=)"),
    _equation(31, "the clamped rating", formulas.clamped, "TeamGlicko2(max_change=)"),
    _equation(32, "z-score, for form", _of("z", "z")),
    _equation(33, "clipped z-score", formulas.form),
    _equation(34, "form, a moving mean", formulas.form),
    _equation(35, "its smoothing factor", formulas.form),
    _equation(36, "recent rating before its cap", claims.capped, "EffectiveRating"),
    _equation(37, "the cap", claims.effective, "EffectiveRating"),
    _equation(38, "recent rating", claims.effective, "EffectiveRating"),
    _equation(39, "trust by the deviation", claims.effective, "EffectiveRating"),
    _equation(40, "weight of recent form", claims.effective, "EffectiveRating"),
    _equation(41, "effective rating", claims.effective, "EffectiveRating"),
    _equation(42, "periods without a match", claims.decayed, "replay(at=)"),
    _equation(43, "growth of the deviation in a period", claims.decayed, "replay(at=)"),
    _equation(44, "its cap", partial(claims.decayed, cap=True), "replay(at=)"),
    _equation(45, "score of a player for balancing", balancing.scores, "balance"),
    _equation(46, "strength of a team", balancing.strengths, "balance"),
    _equation(47, "uncertainty of a team", balancing.uncertainties, "balance"),
    _equation(48, "objective of a split", balancing.objective, "balance"),
)


def _risk_adjusted(facts: Facts) -> list[Line]:
    return [
        stated(
            "risk-adjusted scoring",
            "Section 1 promises it, section 13.1 says that none is applied; 13.1 holds (reading "
            "A13).",
        )
    ]


TEAM_GLICKO2 = Document(
    name="team-glicko2",
    title="Team-Based Glicko-2 Rating with Per-Player Performance Weighting",
    page="papers/team-glicko2",
    items=(
        *_EQUATIONS,
        Item(
            kind="definition",
            number="typical values",
            says="the constants of all sections",
            where="TeamGlicko2",
            check=claims.typical_values,
        ),
        Item(
            kind="definition",
            number="12.1",
            says="who is active: three matches in D days",
            where="TeamGlicko2(activity_window=)",
            check=claims.activity,
        ),
        Item(
            kind="algorithm",
            number="9",
            says="the whole update of a match, seven steps",
            where="TeamGlicko2",
            check=claims.whole_update,
        ),
        Item(
            kind="algorithm",
            number="13.5",
            says="all splits are enumerated; ties by rating, then by uncertainty",
            where="balance",
            check=balancing.tie_breaking,
        ),
        Item(
            kind="option",
            number="8.2",
            says="a largest change",
            where="TeamGlicko2(max_change=)",
            check=formulas.clamped,
        ),
        Item(
            kind="option",
            number="13.4 top two",
            says="the two best players are in different teams",
            where="balance(top_two=)",
            check=balancing.top_two,
        ),
        Item(
            kind="option",
            number="13.4 uneven",
            says="the best player is in the smaller team",
            where="balance(uneven=)",
            check=balancing.uneven,
        ),
        Item(
            kind="claim",
            number="1",
            says="balancing has risk-adjusted scoring",
            where="balance",
            check=_risk_adjusted,
        ),
        Item(
            kind="claim",
            number="4",
            says="any monotonic transformation of p is acceptable",
            where="TeamGlicko2",
            check=claims.monotonic,
        ),
        Item(
            kind="claim",
            number="5.3",
            says="good performers gain more and lose less, poor ones the reverse",
            where="TeamGlicko2",
            check=claims.behaviour,
        ),
        Item(
            kind="claim",
            number="5.3 mean",
            says="E[f] = 1 over a team, so the total is neither inflated nor deflated",
            where="TeamGlicko2(conserve=)",
            check=claims.mean_factor,
        ),
        Item(
            kind="claim",
            number="10.3",
            says="form is 0, +1 or -1 for players who are always at, above or below their team",
            where="TeamGlicko2",
            check=claims.steady_form,
        ),
        Item(
            kind="claim",
            number="11.3",
            says="10 % recent form for established players, 40 % for uncertain ones",
            where="EffectiveRating",
            check=claims.blending,
        ),
        Item(
            kind="claim",
            number="14.1",
            says="the result remains the primary driver",
            where="TeamGlicko2",
            check=claims.dominated,
        ),
        Item(
            kind="claim",
            number="14.2",
            says="the mean change of a team is close to that of plain Glicko-2",
            where="TeamGlicko2",
            check=claims.average_change,
        ),
        Item(
            kind="claim",
            number="14.3",
            says="carrying is rewarded and poor play penalised, whatever the result",
            where="TeamGlicko2",
            check=claims.incentives,
        ),
        Item(
            kind="claim",
            number="14.4",
            says="performances should be compared with players of the same role",
            where="TeamGlicko2(roles=True)",
            check=claims.roles,
        ),
        Item(
            kind="claim",
            number="14.5",
            says="form follows short-term changes that the rating does not show yet",
            where="TeamGlicko2",
            check=claims.short_term,
        ),
        Item(
            kind="claim",
            number="14.6",
            says="the effective rating is used for balancing only, never for the update",
            where="TeamGlicko2",
            check=claims.effective_apart,
        ),
        Item(
            kind="claim",
            number="14.7",
            says="decay makes returning players uncertain until they have played again",
            where="replay(at=)",
            check=claims.returning,
        ),
        Item(
            kind="claim",
            number="14.8",
            says="balancing evens out ratings and confidence",
            where="balance",
            check=balancing.confidence,
        ),
    ),
)
