"""What team Glicko-2 says of its factors, its form and its design, as experiments.

Source: [TG2]_ sections 4, 5.3, 8, 10.3, 11 and 14; numbers in brackets are its equations.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from equipoise.arrays import Ints
from equipoise.data.history import History, with_performance
from equipoise.data.ratings import EffectiveRating
from equipoise.rating.replay import replay
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from papers.items import Facts
from papers.lines import (
    Line,
    agrees,
    beyond,
    compared,
    dropped,
    holds,
    largest,
    never,
    not_done,
)
from papers.team_glicko2.formulas import (
    F_MAX,
    F_MIN,
    STEEP,
    Rated,
    players,
    random_history,
    rated,
    updates,
)

_MICROSECONDS_PER_DAY = 86_400_000_000
#: A change this small, in rating points, is rounding.
_NOTHING = 1e-9


def typical_values(facts: Facts) -> list[Line]:
    """Return the printed constants beside our defaults."""
    ours = TeamGlicko2()
    printed = (
        ("R_0", "1400", ours.initial_rating),
        ("RD_0", "350", ours.initial_deviation),
        ("sigma_0", "0.06", ours.initial_volatility),
        ("beta [9]", "0.2", ours.beta),
        ("f_min [10]", "0.5", ours.factor_min),
        ("f_max [10]", "1.5", ours.factor_max),
        ("z_max [33]", "3.0", ours.form_clip),
        ("N_window [34]", "10", ours.form_window),
        ("beta [36], points a unit of form", "80", ours.form_points),
        ("cap [37], deviations", "2", ours.form_cap_deviations),
        ("cap [37], points", "200", ours.form_cap),
        ("C [39]", "80", ours.deviation_scale),
        ("largest weight [40]", "0.5", ours.blend),
        ("N_min", "3", ours.activity_matches),
        ("T_period, days", "7", ours.period_days),
        ("RD_max [44]", "350", ours.max_deviation),
    )
    lines = [compared(what, text, float(value)) for what, text, value in printed]
    return [
        *lines,
        beyond(
            "D, the days of the activity rule",
            f"{ours.activity_window:g}",
            reason="D is not printed. Any D up to the period of 7 days would make the rule empty, "
            "so activity_window is 28 days (reading A8).",
        ),
        beyond("tau", f"{ours.tau:g}", reason="No value of tau is printed; 0.5 is Glickman's."),
    ]


def behaviour(facts: Facts) -> list[Line]:
    """Return the four cases of section 5.3, counted."""
    one = rated(facts.cases, facts.seed)
    change = one.trace["rating_unscaled"] - one.trace["rating_before"]
    gained = one.trace["rating"] - one.trace["rating_before"]
    z = one.trace["z"]
    more = np.abs(gained) - np.abs(change)
    found = []
    for name, rises in (("gain", True), ("lose", False)):
        for who, good in (("good", True), ("poor", False)):
            chosen = ((change > 0) == rises) & (change != 0) & ((z > 0) == good) & (z != 0)
            grows = rises == good
            wrong = chosen & ~((more > 0) if grows else (more < 0))
            what = f"{who} performers {name} {'more' if grows else 'less'}"
            found.append(never(what, int(wrong.sum()), int(chosen.sum()), of="participation"))
    return found


def _teams(one: Rated) -> list[Ints]:
    """Return the rows of every team."""
    history = one.history
    key = 2 * history.match_rows() + history.team
    order = np.argsort(key, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


def mean_factor(facts: Facts) -> list[Line]:
    """Return how often E[f] is 1 over a team, and what scaling does to the total."""
    one, steep = rated(facts.cases, facts.seed), rated(facts.cases, facts.seed, False, STEEP)
    teams = [team for team in _teams(one) if len(team) > 1]
    change = one.trace["rating_unscaled"] - one.trace["rating_before"]
    gained = one.trace["rating"] - one.trace["rating_before"]
    alike = [t for t in teams if np.ptp(np.sign(change[t])) == 0]
    off = sum(_mean_is_off(one, t) for t in alike)
    clamped = [
        t for t in teams if ((f := steep.trace["factor"][t]) <= F_MIN).any() or (f >= F_MAX).any()
    ]
    moved = [abs(float(gained[t].sum() - change[t].sum())) for t in teams]
    inflated = sum(not points <= _NOTHING for points in moved)
    kept = replay(TeamGlicko2(conserve=True), one.history, trace=True).trace
    assert kept is not None
    own = kept.columns
    made = [abs(float((own["rating"][t] - own["rating_unscaled"][t]).sum())) for t in teams]
    reason = (
        "E[f] = 1 is true of factors within their bounds. The total is kept only if, moreover, all "
        "members of a team have the same change; their deviations differ, so they have not "
        "(reading A11). `audit drift` measures it, and conserve=True removes it."
    )
    return [
        never("E[f] = 1 where no factor is clamped", off, len(alike), of="team"),
        dropped(
            f"E[f] is not 1 where one is clamped (beta {STEEP:g})",
            sum(_mean_is_off(steep, t) for t in clamped),
            len(clamped),
            of="team",
        ),
        holds(
            "scaling neither inflates nor deflates the total",
            "0 violations",
            f"{inflated:,} in {len(teams):,} teams; mean {np.mean(moved):.1f} points",
            inflated == 0,
            reason=reason,
        ),
        beyond(
            "the same with conserve=True",
            f"{sum(not points <= 1e3 * _NOTHING for points in made):,} in {len(made):,} teams",
        ),
    ]


def _mean_is_off(one: Rated, team: Ints) -> bool:
    """Return whether the factors of a team have another mean than 1."""
    return not abs(one.trace["factor"][team].mean() - 1.0) <= _NOTHING


def average_change(facts: Facts) -> list[Line]:
    """Return how far the mean change of a team is from that of plain Glicko-2 (section 14)."""
    one = rated(facts.cases, facts.seed)
    before = one.trace["rating_before"]
    plain, scaled = one.trace["rating_unscaled"] - before, one.trace["rating"] - before
    teams = [team for team in _teams(one) if len(team) > 1]
    apart = np.mean([abs(plain[t].mean() - scaled[t].mean()) for t in teams])
    size = np.mean([abs(plain[t].mean()) for t in teams])
    return [
        holds(
            "the mean change of a team is close to that of factors 1",
            "close",
            f"{apart:.1f} points apart, of {size:.1f}",
            bool(apart < 0.2 * size),
        )
    ]


def incentives(facts: Facts) -> list[Line]:
    """Return whether a better performance always helps its player, in wins and in losses."""
    one, rng = rated(facts.cases, facts.seed), np.random.default_rng(facts.seed + 1)
    history, system = one.history, TeamGlicko2()
    wrong = cases = 0
    offsets = history.offsets
    for m in range(min(history.matches, max(facts.cases // 10, 1))):
        match = history.slice(m, m + 1)
        size = int(offsets[m + 1] - offsets[m])
        i = int(rng.integers(size))
        assert match.performance is not None
        better = match.performance.copy()
        better[i] += rng.uniform(0.5, 5.0)
        was = replay(system, match, trace=True).trace
        now = replay(system, replace(match, performance=better), trace=True).trace
        assert was is not None
        assert now is not None
        cases += 1
        wrong += not now.columns["rating"][i] >= was.columns["rating"][i] - _NOTHING
    return [never("a better performance lowers its player's rating", wrong, cases, of="match")]


def dominated(facts: Facts) -> list[Line]:
    """Return whether the result decides the sign of every change (section 14)."""
    one = rated(facts.cases, facts.seed)
    gained = one.trace["rating"] - one.trace["rating_before"]
    won = np.array([player.score for player in players(facts.cases, facts.seed)])
    wrong = int((((won == 1) & ~(gained >= 0)) | ((won == 0) & ~(gained <= 0))).sum())
    decided = int((won != 0.5).sum())
    return [never("a winner loses rating, or a loser gains", wrong, decided, of="participation")]


def uncertainty_untouched(facts: Facts, column: str) -> list[Line]:
    """Return whether deviations or volatilities depend on performances directly."""
    one = rated(facts.cases, facts.seed)
    wrong = cases = 0
    for m in range(min(one.history.matches, max(facts.cases // 10, 1))):
        match = one.history.slice(m, m + 1)
        played = replay(TeamGlicko2(), match, trace=True).trace
        without = replay(TeamGlicko2(), replace(match, performance=None), trace=True).trace
        assert played is not None
        assert without is not None
        wrong += int((played.columns[column] != without.columns[column]).sum())
        cases += len(played.columns[column])
    return [never(f"{column} differs without performances", wrong, cases, of="participation")]


def whole_update(facts: Facts) -> list[Line]:
    """Return a line on section 9: the whole update of every match."""
    one = rated(facts.cases, facts.seed)
    found = updates(facts.cases, facts.seed)
    mu = (one.trace["rating"] - 1400.0) / 173.7178
    phi = one.trace["deviation"] / 173.7178
    worst = largest(
        *(
            largest(abs(mu[i] - update.mu_new), abs(phi[i] - update.phi_new))
            for i, update in enumerate(found)
        )
    )
    return [agrees("(R, RD) after all seven steps", worst, 1e-9, len(found), of="participation")]


def monotonic(facts: Facts) -> list[Line]:
    """Return what transformations of performances do to ratings (reading A12)."""
    history = rated(facts.cases, facts.seed).history
    plain = replay(TeamGlicko2(), history).ratings.rating
    assert history.performance is not None
    found = []
    for name, changed in (
        ("3 p + 7", 3.0 * history.performance + 7.0),
        ("p^3", history.performance**3),
    ):
        ratings = replay(TeamGlicko2(), replace(history, performance=changed)).ratings.rating
        most = float(np.abs(ratings - plain).max())
        found.append(
            holds(
                f"ratings with {name} in place of p",
                "the same",
                "the same" if most < 1e-6 else f"up to {most:.0f} points apart",
                most < 1e-6,
                reason="Only increasing affine transformations keep z-scores. Others change how "
                "far team-mates are apart, and with it the factors (reading A12).",
            )
        )
    return found


def weighted_statistics(facts: Facts) -> list[Line]:
    """Return a line on the weights of section 4 by the package's own sum."""
    rng = np.random.default_rng(facts.seed)
    history = random_history(facts.cases, facts.seed)
    n = history.participations
    columns = {
        "kills": rng.integers(0, 30, n).astype(float),
        "deaths": rng.integers(0, 30, n).astype(float),
        "damage": rng.uniform(0, 4000, n),
    }
    weights = {"kills": 1.0, "deaths": -1.0, "damage": 1.0 / 220.0}
    ours = with_performance(replace(history, statistics=columns), weights).performance
    assert ours is not None
    printed = columns["kills"] - columns["deaths"] + columns["damage"] / 220.0
    worst = float(np.abs(ours - printed).max())
    return [agrees("kills - deaths + damage/220", worst, 1e-9, n, of="participation")]


def steady_form(facts: Facts) -> list[Line]:
    """Return the form of players who are always one deviation above, at, and below their team."""
    matches = 40
    history = History(
        match_ids=np.arange(matches),
        player_ids=np.array(["above", "below", "above too", "below too"], dtype=object),
        offsets=np.arange(0, 4 * matches + 1, 4),
        player=np.tile([0, 1, 2, 3], matches),
        team=np.tile([0, 0, 1, 1], matches),
        rank=np.tile([0, 0, 1, 1], matches),
        performance=np.tile([12.0, 8.0, 5.0, 3.0], matches),
    )
    form = replay(TeamGlicko2(), history).ratings.extra["form"]
    equal = replace(history, performance=np.full(4 * matches, 7.0))
    level = replay(TeamGlicko2(), equal).ratings.extra["form"]
    return [
        compared("always at the mean of the team", "0", float(level[0])),
        compared("always one deviation above", "1", float(form[0])),
        compared("always one deviation below", "-1", float(form[1])),
    ]


def effective(facts: Facts) -> list[Line]:
    """Return a line on the effective rating, by [36]-[41] in plain floats."""
    rng = np.random.default_rng(facts.seed)
    rating = rng.uniform(800, 2400, facts.cases)
    deviation = rng.uniform(20, 350, facts.cases)
    form = rng.uniform(-3, 3, facts.cases)
    ours = EffectiveRating().rating(rating, deviation, form)
    worst = 0.0
    for r, rd, ema, own in zip(rating, deviation, form, ours, strict=True):
        boost = min(2 * rd, 200.0)
        recent = r + min(boost, max(-boost, 80.0 * ema))
        w = 0.5 * (rd**2 / (rd**2 + 80.0**2))
        worst = largest(worst, abs(own - (r + w * (recent - r))))
    return [agrees("R_eff", worst, 1e-9, facts.cases)]


def capped(facts: Facts) -> list[Line]:
    """Return lines on [36]: the boost without its cap, and how often the cap binds."""
    rng = np.random.default_rng(facts.seed)
    deviation = rng.uniform(20, 350, facts.cases)
    form = rng.uniform(-3, 3, facts.cases)
    ours = EffectiveRating(form_cap=1e9, form_cap_deviations=1e9)
    worst = float(np.abs(ours.boost(deviation, form) - 80.0 * form).max())
    bound = int((np.abs(EffectiveRating().boost(deviation, form)) < np.abs(80.0 * form)).sum())
    return [
        agrees("beta perfEMA without the cap", worst, 1e-9, facts.cases),
        beyond("the cap [37] binds", f"{bound:,} in {facts.cases:,} cases"),
    ]


def blending(facts: Facts) -> list[Line]:
    """Return the weights that section 11.3 illustrates."""
    deviations = np.array([30.0, 40.0, 80.0, 160.0, 350.0])
    weights = EffectiveRating().weight(deviations)
    shown = ", ".join(f"{w:.2f} at {rd:g}" for rd, w in zip(deviations, weights, strict=True))
    reason = (
        "Illustrations: 10 % is the weight at RD 40, and 40 % that at RD 160. The weight has no "
        "other reading of low and high (reading A9)."
    )
    return [
        compared("% recent, at RD 40", "10", 100 * float(weights[1]), reason=reason),
        compared("% recent, at RD 160", "40", 100 * float(weights[3]), reason=reason),
        beyond("weights of recent form", shown, reason=reason),
    ]


def decayed(facts: Facts, *, cap: bool = False) -> list[Line]:
    """Return lines on [42]-[44]: deviations read after a pause, for players of few matches."""
    rng = np.random.default_rng(facts.seed)
    day = 20_000.0
    history = random_history(60, facts.seed)
    matches = history.matches
    history = replace(
        history, time=np.full(matches, int(day) * _MICROSECONDS_PER_DAY, dtype=np.int64)
    )
    system = TeamGlicko2(activity_matches=1_000)
    state = replay(system, history).ratings
    played = state.matches > 0
    phi, sigma = state.deviation / 173.7178, state.extra["volatility"]
    worst, cases, at_cap = 0.0, 0, 0
    for pause in rng.uniform(0, 4000, 40):
        ours = replay(system, history, at=day + pause).ratings.deviation / 173.7178
        periods = math.floor(pause / 7.0)
        for i in np.flatnonzero(played):
            value = float(phi[i])
            for _ in range(periods):
                value = math.sqrt(value**2 + sigma[i] ** 2)
                value = min(value, 350.0 / 173.7178)
            at_cap += value == 350.0 / 173.7178
            worst = largest(worst, abs(value - float(ours[i])))
            cases += 1
    found = [agrees("phi' after a pause, period by period", worst, 1e-9, cases, of="reading")]
    return [*found, beyond("at the cap", f"{at_cap:,} in {cases:,} readings")] if cap else found


def activity(facts: Facts) -> list[Line]:
    """Return a line on the activity rule: three matches within the window protect."""
    day, wrong = 20_000, 0
    gaps = range(1, 60)
    for gap in gaps:
        time = np.array([day, day + 1, day + 2], dtype=np.int64) * _MICROSECONDS_PER_DAY
        history = History(
            match_ids=np.arange(3),
            player_ids=np.array(["a", "b"], dtype=object),
            offsets=np.array([0, 2, 4, 6]),
            player=np.tile([0, 1], 3),
            team=np.tile([0, 1], 3),
            rank=np.array([0, 1, 1, 0, 0, 1]),
            time=time,
        )
        before = replay(TeamGlicko2(), history).ratings.deviation
        after = replay(TeamGlicko2(), history, at=float(day + 2 + gap)).ratings.deviation
        # Three matches in the past 28 days: the first of them is gap + 2 days ago.
        active, week = gap + 2 <= 28, gap >= 7
        grows = week and not active
        wrong += not ((after > before).all() if grows else (after == before).all())
    return [
        never("a deviation grows although active, or not although inactive", wrong, len(gaps)),
        not_done(
            "the same for the printed D",
            "D is not printed; see definition-typical-values.",
        ),
    ]


def roles(facts: Facts) -> list[Line]:
    """Return what the option for roles does: strict roles no longer decide the z-score."""
    rng = np.random.default_rng(facts.seed)
    matches = max(facts.cases // 8, 50)
    n = 8 * matches
    role = np.array(["support", "damage", "damage", "tank"] * (2 * matches), dtype=object)
    usual = np.where(role == "support", 4.0, np.where(role == "tank", 8.0, 16.0))
    history = History(
        match_ids=np.arange(matches),
        player_ids=np.arange(8),
        offsets=np.arange(0, n + 1, 8),
        player=np.tile(np.arange(8), matches),
        team=np.tile(np.repeat([0, 1], 4), matches),
        rank=np.where(
            np.repeat(rng.integers(0, 2, matches), 8) == np.tile(np.repeat([0, 1], 4), matches),
            0,
            1,
        ),
        performance=usual * rng.uniform(0.8, 1.2, n),
        attributes={"role": role},
    )
    found = []
    for system, what in (
        (TeamGlicko2(), "mean z of supports"),
        (TeamGlicko2(roles=True), "the same with roles=True"),
    ):
        trace = replay(system, history, trace=True).trace
        assert trace is not None
        found.append(beyond(what, f"{float(trace.columns['z'][role == 'support'].mean()):+.2f}"))
    return found


def effective_apart(facts: Facts) -> list[Line]:
    """Return whether the parameters of the effective rating change any rating."""
    history = rated(facts.cases, facts.seed).history
    plain = replay(TeamGlicko2(), history).ratings.rating
    other = TeamGlicko2(form_points=300.0, form_cap=900.0, blend=1.0, form_window=3, form_clip=1.0)
    ratings = replay(other, history).ratings.rating
    wrong = int((plain != ratings).sum())
    return [never("ratings that depend on form or the effective rating", wrong, len(plain))]


def short_term(facts: Facts) -> list[Line]:
    """Return how many matches form and rating need to follow a player who has become better.

    Ten players, all alike, then one performs two deviations above the others and wins no more.
    """
    rng = np.random.default_rng(facts.seed)
    before, after = 100, 20
    matches = before + after
    performance = rng.normal(10.0, 2.0, 10 * matches)
    mine = np.arange(10 * before, 10 * matches, 10)
    performance[mine] += 4.0
    history = History(
        match_ids=np.arange(matches),
        player_ids=np.arange(10),
        offsets=np.arange(0, 10 * matches + 1, 10),
        player=np.tile(np.arange(10), matches),
        team=np.tile(np.repeat([0, 1], 5), matches),
        rank=np.where(
            np.repeat(rng.integers(0, 2, matches), 10) == np.tile(np.repeat([0, 1], 5), matches),
            0,
            1,
        ),
        performance=performance,
    )
    trace = replay(TeamGlicko2(), history, trace=True).trace
    assert trace is not None
    form, earlier = trace.columns["form"][mine], float(trace.columns["form"][mine[0] - 10])
    return [
        holds(
            "form after 10 matches of +2 deviations",
            "rises",
            f"{form[9]:+.2f}, from {earlier:+.2f}",
            bool(form[9] > earlier + 0.5),
        )
    ]


def returning(facts: Facts) -> list[Line]:
    """Return the deviation of an established player before a pause, after it, and after matches."""
    rng = np.random.default_rng(facts.seed)
    days = [*range(60), *range(800, 812)]
    history = History(
        match_ids=np.arange(len(days)),
        player_ids=np.arange(2),
        offsets=np.arange(0, 2 * len(days) + 1, 2),
        player=np.tile([0, 1], len(days)),
        team=np.tile([0, 1], len(days)),
        rank=np.stack([1 - (r := rng.integers(0, 2, len(days))), r], axis=1).ravel(),
        time=(20_000 + np.array(days, dtype=np.int64)) * _MICROSECONDS_PER_DAY,
    )
    trace = replay(TeamGlicko2(), history, trace=True).trace
    assert trace is not None
    before = float(trace.columns["deviation"][2 * 59])
    back = float(trace.columns["deviation_before"][2 * 60])
    again = float(trace.columns["deviation"][2 * 71])
    shown = f"{before:.0f}, then {back:.0f}, and {again:.0f} after 12 matches"
    return [
        holds(
            "RD, after 740 days without a match", "rises, then falls", shown, again < back > before
        )
    ]
