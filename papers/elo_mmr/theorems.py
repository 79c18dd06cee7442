"""The lemmas and theorems of Elo-MMR as experiments: violations, counted over random cases.

Source: [EM]_ sections 2, 3, 4.1 and 5. A theorem is also tried where one of its assumptions is
dropped; it says nothing of these cases, and the counts show whether it needs the assumption.
A violation is a claim that does not hold, `not a > b`, so that NaN is one: `a <= b` would miss it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.evaluate.incentives import throwing
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.replay import replay
from papers.elo_mmr.fields import (
    MODELS,
    Belief,
    history_of,
    random_belief,
    random_field,
    random_ranks,
    rate_once,
    system,
)
from papers.elo_mmr.formulas import CAUCHY, LOGISTIC, NORMAL, Curve, ldv
from papers.elo_mmr.nearest import nearest
from papers.items import Facts
from papers.lines import Line, beyond, dropped, holds, largest, never

#: A difference of this many rating points is rounding: performances are solved to 1e-9.
_ROUNDING = 1e-7
#: Opponents that count where a theorem is tried with subsampling (section 5.3).
FEW = 5


def _performances(of: EloMMRParameters, field: tuple[Floats, Floats, Ints]) -> Floats:
    return rate_once(of, *field)["performance"]


def doob(facts: Facts) -> list[Line]:
    """Return a line on Theorem 2.1: the estimate concentrates as opponents become more."""
    rng, of, errors = np.random.default_rng(facts.seed), system(), []
    scale = math.sqrt(3) / math.pi * math.sqrt(300.0**2 + 35.0**2 + 200.0**2)
    for n in (10, 100, 1000):
        apart = []
        for _ in range(max(facts.cases // 20, 5)):
            drawn = rng.logistic(1500.0, scale, n + 1)
            ranks = np.unique(-drawn, return_inverse=True)[1].astype(np.int64)
            field = np.full(n + 1, 1500.0), np.full(n + 1, 300.0), ranks
            apart.append(abs(_performances(of, field)[0] - drawn[0]))
        errors.append(float(np.median(apart)))
    shown = f"{errors[0]:.0f}, {errors[1]:.0f}, {errors[2]:.0f} points"
    falls = errors[0] > errors[1] > errors[2]
    return [holds("median error, 10, 100 and 1,000 opponents", "tends to 0", shown, falls)]


def log_concave(facts: Facts) -> list[Line]:
    """Return lines on Definition 3.1: which densities satisfy its inequality."""
    rng, wrong = np.random.default_rng(facts.seed + 1), {"logistic": 0, "normal": 0, "Cauchy": 0}
    for _ in range(facts.cases):
        x, y = rng.normal(0, 3, 2).tolist()
        theta = float(rng.uniform(0.05, 0.95))
        for name, curve in (("logistic", LOGISTIC), ("normal", NORMAL), ("Cauchy", CAUCHY)):
            between = curve.log_density(theta * x + (1 - theta) * y)
            mixed = theta * curve.log_density(x) + (1 - theta) * curve.log_density(y)
            wrong[name] += not between >= mixed - 1e-12
    return [
        never("the logistic density", wrong["logistic"], facts.cases),
        never("the normal density", wrong["normal"], facts.cases),
        dropped("the Cauchy density, which is not log-concave", wrong["Cauchy"], facts.cases),
    ]


def ordered_functions(facts: Facts) -> list[Line]:
    """Return lines on Lemma 3.1: l < d < v, each strictly decreasing."""
    rng = np.random.default_rng(facts.seed + 2)
    pairs = np.sort(rng.normal(0, 2, (facts.cases, 2)), axis=1)
    # Closer than this, differences of derivatives by differences are rounding.
    pairs[:, 1] = np.maximum(pairs[:, 1], pairs[:, 0] + 0.01)

    def wrong(curve: Curve) -> int:
        count = 0
        for x, y in pairs.tolist():
            at, further = ldv(curve, x), ldv(curve, y)
            falls = all(a > b for a, b in zip(at, further, strict=True))
            count += not (at[0] < at[1] < at[2] and falls)
        return count

    return [
        never("logistic performances", wrong(LOGISTIC), facts.cases),
        never("normal performances", wrong(NORMAL), facts.cases),
        dropped("Cauchy performances, not log-concave", wrong(CAUCHY), facts.cases),
    ]


def unique_zero(facts: Facts) -> list[Line]:
    """Return lines on Theorem 3.2: Q has one zero, the most likely performance."""
    rng = np.random.default_rng(facts.seed + 4)
    wrong = {EloMMR: 0, EloMMX: 0}
    many = cases = 0
    for _ in range(max(facts.cases // 10, 5)):
        ratings, deviations, ranks = random_field(rng)
        scale = np.sqrt(deviations**2 + 35.0**2 + 200.0**2)
        i = int(rng.integers(len(ranks)))
        x = np.linspace(ratings.min() - 2500, ratings.max() + 2500, 1201)
        cases += 1
        for model, curve in ((EloMMR, LOGISTIC), (EloMMX, NORMAL)):
            likely = _log_posterior(curve, x, ratings, scale, ranks, i)
            found = _performances(system(model), (ratings, deviations, ranks))[i]
            top = float(x[int(np.argmax(likely))])
            rises = np.diff(likely) > 0
            # One maximum, in the step of the grid in which our zero of Q is.
            single = bool(np.all(rises[1:] <= rises[:-1]))
            outside = found <= x[0] or found >= x[-1]
            wrong[model] += not (single and (outside or abs(top - found) <= x[1] - x[0]))
        bumps = _log_posterior(CAUCHY, x, ratings, scale, ranks, i)
        rises = np.diff(bumps) > 0
        many += int((rises[:-1] & ~rises[1:]).sum()) > 1
    return [
        never("logistic: another or no single maximum", wrong[EloMMR], cases, of="contest"),
        never("normal: another or no single maximum", wrong[EloMMX], cases, of="contest"),
        dropped("Cauchy, not log-concave: several maxima", many, cases, of="contest"),
    ]


def _log_posterior(
    curve: Curve, x: Floats, ratings: Floats, scale: Floats, ranks: Ints, i: int
) -> Floats:
    """Return ln Pr(P_i = p | E_i) on a grid, as the proof of Theorem 3.2 has it."""
    total = np.zeros(len(x))
    for mean, delta, rank in zip(ratings, scale, ranks, strict=True):
        part = (
            curve.log_below
            if rank > ranks[i]
            else curve.log_above
            if rank < ranks[i]
            else curve.log_density
        )
        # Further out a normal tail is below the smallest double.
        z = np.clip((x - mean) / delta, -35.0, 35.0)
        total += [part(one) for one in z.tolist()]
    return total


# --- section 4.1 -----------------------------------------------------------------------------


def diffusion(facts: Facts) -> list[Line]:
    """Return lines on Theorem 4.1: the five properties beside aligned incentives."""
    rng = np.random.default_rng(facts.seed + 5)
    cases = max(facts.cases // 5, 5)
    wrong = dict.fromkeys(("preserved", "magnitude", "composed", "nothing", "certain"), 0)
    infinite = zero = 0
    for number in range(cases):
        rho = (0.04, 0.5, 1.0)[number % 3]
        gamma2, more = rng.uniform(1, 10_000, 2).tolist()
        belief = random_belief(rng, system(rho=rho))
        rating, variance = belief.rating, belief.variance
        once, twice, tiny = belief.copy(), belief.copy(), belief.copy()
        belief.diffuse(gamma2)
        wrong["preserved"] += belief.rating != rating or not (
            belief.slope(rating - 1e-6) < 0 < belief.slope(rating + 1e-6)
        )
        wrong["magnitude"] += not abs(belief.variance / (variance + gamma2) - 1) <= 1e-9
        once.diffuse(gamma2 + more)
        twice.diffuse(gamma2)
        twice.diffuse(more)
        wrong["composed"] += not _alike(once, twice, 1e-9)
        before = tiny.copy()
        tiny.diffuse(1e-9)
        wrong["nothing"] += not _alike(before, tiny, 1e-6)
        wrong["certain"] += not _is_certain(rng, rho, gamma2)
        forgetful = random_belief(rng, system(rho=math.inf))
        before = forgetful.copy()
        forgetful.diffuse(1e-9)
        infinite += not _alike(before, forgetful, 1e-6)
        zero += not _is_certain(rng, 0.0, gamma2)
    names = {
        "preserved": "rating preservation",
        "magnitude": "correct magnitude",
        "composed": "composability",
        "nothing": "zero diffusion",
        "certain": "zero uncertainty",
    }
    of = "player"
    return [
        *(never(f"{what}, 0 < rho < inf", wrong[key], cases, of=of) for key, what in names.items()),
        dropped("zero diffusion, rho = inf", infinite, cases, of=of, reason=_EXCLUDED),
        dropped("zero uncertainty, rho = 0", zero, cases, of=of, reason=_EXCLUDED),
    ]


_EXCLUDED = "The proof excludes these two values of rho, and says so."


def _alike(one: Belief, other: Belief, within: float) -> bool:
    """Return whether two beliefs have the same terms and weights, relative to the total weight."""
    (p, w, _), (q, v, _) = one.terms(), other.terms()
    if len(p) != len(q):
        return False
    total = 1.0 / one.variance
    (mean, weight), (centre, heavy) = one.gaussian, other.gaussian
    return bool(
        np.all(p == q)
        and np.all(np.abs(w - v) <= within * total)
        and abs(weight - heavy) <= within * total
        and abs(mean - centre) <= within * max(1.0, abs(mean))
    )


def _is_certain(rng: np.random.Generator, rho: float, gamma2: float) -> bool:
    """Return whether a player of almost no uncertainty becomes a Gaussian (mu, gamma^2)."""
    limit = 1e-100
    of = EloMMR(weight_limit=0.2, sigma_limit=limit, rho=rho, initial_rating=0.0)
    belief = Belief(of, 0.0, 3 * limit).play((limit * rng.normal(0, 2, 5)).tolist())
    rating = belief.rating
    belief.diffuse(gamma2)
    mean, weight = belief.gaussian
    left = belief.terms()[1]
    close = abs(mean - rating) <= 1e-6 and abs(weight * gamma2 - 1) <= 1e-6
    return bool(close and math.fsum(left) <= 1e-6 * weight)


# --- section 5.1 -----------------------------------------------------------------------------


def terms_added(facts: Facts) -> list[Line]:
    """Return lines on Lemma 5.1: a win more raises, a loss more lowers; likewise for ties."""
    lines = []
    for model in MODELS:
        rng, wrong = np.random.default_rng(facts.seed + 6), 0
        of = system(model)
        cases = max(facts.cases // 4, 5)
        for _ in range(cases):
            ratings, deviations, ranks = random_field(rng)
            before = _performances(of, (ratings, deviations, ranks))
            more = np.append(ratings, rng.normal(1500, 300)), np.append(deviations, 100.0)
            won = _performances(of, (*more, np.append(ranks, ranks.max() + 1)))[:-1]
            lost = _performances(of, (*more, np.append(ranks + 1, 0)))[:-1]
            wrong += not ((won > before).all() and (lost < before).all())
            j = int(rng.integers(len(ranks)))
            tied = (ranks == ranks[j]) & (np.arange(len(ranks)) != j)
            dropped_back = 2 * ranks
            dropped_back[j] += 1
            after = _performances(of, (ratings, deviations, dropped_back))
            moved = not tied.any() or after[j] < before[j]
            wrong += not ((after[tied] > before[tied]).all() and moved)
        lines.append(never(of.name, wrong, cases, of="contest"))
    return lines


def better_place(facts: Facts) -> list[Line]:
    """Return lines on Theorem 5.2: who beats another performs better."""
    lines = []
    for model in MODELS:
        rng = np.random.default_rng(facts.seed + 8)
        every, few, cases = 0, 0, max(facts.cases // 2, 5)
        of, subsampled = system(model), nearest(FEW, model)
        for _ in range(cases):
            field = random_field(rng)
            every += _disordered(_performances(of, field), field[2])
            few += _disordered(_performances(subsampled, field), field[2])
        lines.append(never(of.name, every, cases, of="contest"))
        lines.append(
            dropped(
                f"{of.name}, the {FEW} nearest opponents", few, cases, of="contest", reason=_WINDOW
            )
        )
    return lines


_WINDOW = (
    "Subsampling (section 5.3) compares neighbours in the ranking with different opponents, so "
    "theorems 5.2, 5.5 and 5.6 no longer hold. All opponents count here."
)


def _disordered(performances: Floats, ranks: Ints) -> bool:
    """Return whether somebody who placed better performs no better."""
    order = np.argsort(ranks, kind="stable")
    steps, falls = np.diff(ranks[order]), -np.diff(performances[order])
    return not (falls[steps > 0] > 0).all()


def monotonic_performance(facts: Facts) -> list[Line]:
    """Return lines on Lemma 5.3: higher ratings before, or better places, raise performances."""
    lines = []
    for model in MODELS:
        rng, of = np.random.default_rng(facts.seed + 9), system(model)
        by_rating = by_place = 0
        cases = max(facts.cases // 4, 5)
        for _ in range(cases):
            ratings, deviations, ranks = random_field(rng)
            i = int(rng.integers(len(ranks)))
            before = _performances(of, (ratings, deviations, ranks))[i]
            higher = ratings.copy()
            higher[i] += float(rng.uniform(1, 300))
            by_rating += not _performances(of, (higher, deviations, ranks))[i] > before
            if ranks[i] > 0:
                better = 2 * ranks
                # At least a tie with the next better player.
                better[i] -= int(rng.integers(2, 2 * ranks[i] + 1))
                by_place += not _performances(of, (ratings, deviations, better))[i] > before
        lines.append(never(f"{of.name}, by rating", by_rating, cases, of="contest"))
        lines.append(never(f"{of.name}, by place", by_place, cases, of="contest"))
    return lines


def monotonic_rating(facts: Facts) -> list[Line]:
    """Return lines on Lemma 5.4: a rating rises with each past performance."""
    lines = []
    for label, of in (
        *((f"elo-mmr, rho {rho:g}", system(rho=rho)) for rho in (0.0, 0.04, 1.0, math.inf)),
        ("elo-mmr, 3 performances remembered", system(remembered=3)),
        ("elo-mmx", system(EloMMX)),
    ):
        rng, wrong, cases = np.random.default_rng(facts.seed + 10), 0, max(facts.cases // 5, 5)
        for _ in range(cases):
            past = rng.normal(1500, 300, int(rng.integers(1, 10)))
            better = past.copy()
            better[int(rng.integers(len(past)))] += float(rng.uniform(1, 300))
            was, now = Belief(of).play(past.tolist()), Belief(of).play(better.tolist())
            wrong += not now.rating > was.rating
        lines.append(never(label, wrong, cases, of="player"))
    return lines


class _Season(NamedTuple):
    """Size of random histories: players, players of a contest from..to, and rounds."""

    players: int
    fewest: int
    rounds: int


#: Few players who meet often, where a thrown match returns as a rated opponent; and a field in
#: which only the nearest opponents can be counted.
_CLUB, _FIELD = _Season(3, 2, 12), _Season(20, 15, 6)
_FEWER = 2


def aligned_incentives(facts: Facts) -> list[Line]:
    """Return lines on Theorem 5.5: doing worse never raises a later rating."""
    throws, lines = max(facts.cases // 20, 5), []
    for model in MODELS:
        of = system(model)
        frozen = [_thrown(of, facts.seed, throws, size)[0] for size in (_CLUB, _FIELD)]
        what = f"{of.name}, the others frozen"
        lines.append(never(what, sum(frozen), 2 * throws, of="thrown match"))
    for model in MODELS:
        of, few = system(model), nearest(_FEWER, model)
        paid, most = _thrown(of, facts.seed, throws, _CLUB, replayed=True)
        what = f"{of.name}, the others replayed; gain up to {most:.1f}"
        lines.append(dropped(what, paid, throws, of="thrown match", reason=_REPLAYED))
        paid, most = _thrown(few, facts.seed, throws, _FIELD)
        what = f"{of.name}, the {_FEWER} nearest opponents; gain up to {most:.1f}"
        lines.append(dropped(what, paid, throws, of="thrown match", reason=_WINDOW))
    return lines


_REPLAYED = (
    "In a replay a thrown match changes the opponents' ratings, which the theorem holds fixed "
    "(reading B13)."
)


def _thrown(
    of: EloMMRParameters, seed: int, throws: int, size: _Season, *, replayed: bool = False
) -> tuple[int, float]:
    """Return how often throwing a match of the first half pays, and the largest gain.

    replayed : rate everything again, so that the others' ratings respond
    """
    rng, paid, most = np.random.default_rng(seed), 0, 0.0
    for _ in range(throws):
        skill = rng.normal(1500, 300, size.players)
        contests = []
        for _ in range(size.rounds):
            count = int(rng.integers(size.fewest, size.players + 1))
            member = rng.permutation(size.players)[:count]
            if 0 not in member:
                member[0] = 0
            played = skill[member] + rng.normal(0, 200, len(member))
            contests.append((member, np.unique(-played, return_inverse=True)[1].astype(np.int64)))
        thrown, history = int(rng.integers(size.rounds // 2)), history_of(contests, size.players)
        if replayed:
            before, after = (replay(of, one) for one in (history, _last_in(history, thrown)))
            gain = float(after.ratings.rating[0] - before.ratings.rating[0])
        else:
            gain = throwing(of, history, 0, [thrown]).gain
        paid += not gain <= 1e-6
        most = largest(most, gain)
    return paid, most


def _last_in(history: History, match: int) -> History:
    """Return the history with player 0 alone in the last place of a match."""
    rows = slice(int(history.offsets[match]), int(history.offsets[match + 1]))
    rank = history.rank.copy()
    own = np.where(history.player[rows] == 0, len(rank), rank[rows])
    rank[rows] = np.unique(own, return_inverse=True)[1]
    return replace(history, rank=rank)


def memoryless(facts: Facts) -> list[Line]:
    """Return lines on Theorem 5.6, in histories in which all play, so that deviations are equal."""
    lines = []
    rounds = max(facts.cases // 20, 3)
    for label, of, promised in (
        ("elo-mmr, rho inf", system(rho=math.inf), True),
        ("elo-mmx", system(EloMMX), True),
        ("elo-mmr, rho 0.04, which has a memory", system(rho=0.04), False),
        (f"elo-mmx, the {FEW} nearest opponents", nearest(FEW, EloMMX), False),
    ):
        wrong, cases = _exchanges(of, facts.seed, rounds)
        if promised:
            lines.append(never(label, wrong, cases, of="pair"))
        else:
            lines.append(dropped(label, wrong, cases, of="pair"))
    return lines


def _exchanges(of: EloMMRParameters, seed: int, histories: int) -> tuple[int, int]:
    """Return violations of Theorem 5.6 among all pairs of all rounds, and their number."""
    rng, wrong, cases = np.random.default_rng(seed + 13), 0, 0
    players, rounds = 10, 8
    for _ in range(histories):
        contests = [(np.arange(players), random_ranks(rng, players)) for _ in range(rounds)]
        found = replay(of, history_of(contests, players), trace=True)
        assert found.trace is not None
        before = found.trace.columns["rating_before"].reshape(rounds, players)
        after = found.trace.columns["rating"].reshape(rounds, players)
        for k, (_, ranks) in enumerate(contests):
            for i in range(players):
                for j in range(players):
                    if i == j or before[k, i] < before[k, j] or ranks[i] == ranks[j]:
                        continue
                    cases += 1
                    if ranks[i] < ranks[j]:
                        wrong += not after[k, i] > after[k, j]
                    else:
                        gained = after[k] - before[k]
                        wrong += not gained[j] > gained[i]
    return wrong, cases


# --- section 5.2 -----------------------------------------------------------------------------


def robust(facts: Facts) -> list[Line]:
    """Return lines on Theorem 5.7: the limits of one infinitely good or bad performance."""
    rng, low, high = np.random.default_rng(facts.seed + 14), 0, 0
    cases, tightest, widest = max(facts.cases // 4, 5), math.inf, 0.0
    for number in range(cases):
        of = system(rho=(0.04, 0.5, 1.0, math.inf)[number % 4])
        belief = random_belief(rng, of)
        belief.diffuse()
        rating, (_, weight) = belief.rating, belief.gaussian
        push = math.pi / math.sqrt(3 * belief.beta2)
        least = push / (weight + math.pi**2 / 6 * math.fsum(belief.terms()[1]))
        most = push / weight
        for sign in (1.0, -1.0):
            extreme = belief.copy()
            extreme.update(sign * 1e9)
            change = sign * (extreme.rating - rating)
            low += not change >= least * (1 - 1e-9)
            high += not change <= most * (1 + 1e-9)
            tightest, widest = -largest(-tightest, -change), largest(widest, change)
    far = []
    for distance in (1e3, 1e4, 1e5):
        gaussian = Belief(system(EloMMX)).play([1500.0] * 10)
        gaussian.diffuse()
        before = gaussian.rating
        gaussian.update(before + distance)
        far.append(gaussian.rating - before)
    return [
        never("Delta below the lower bound", low, 2 * cases, of="limit"),
        never("Delta above the upper bound", high, 2 * cases, of="limit"),
        beyond("the limits found", f"{tightest:.0f} to {widest:.0f} points"),
        beyond(
            "elo-mmx, a performance 1e3, 1e4 or 1e5 points away",
            ", ".join(f"{one:,.0f}" for one in far),
            reason="The theorem needs logistic terms. With Gaussian ones a rating moves in "
            "proportion to the performance, without a bound.",
        ),
    ]
