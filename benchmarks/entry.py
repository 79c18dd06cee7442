"""Where should newcomers enter: at a fixed rating, or at one that is learned?

Run: python benchmarks/entry.py [--part PART ...]

Constants are chosen on the first half of the matches in time: rated from the first match on, scored
from 10 % on. They are reported on the second half, which systems enter with what they learned of
the first. A split of players or of odd and even matches would not do: neighbouring matches share
players and the state of the pool, so each half would tell of the other, and who runs a pool can
only choose on the past. Chosen is the least log loss of all participants, among the constants with
which participants with five or more earlier matches lose at most 0.05 points of pair inversion;
the fixed entry if none is better. Constants are searched for every system on every history, one
after the other.

First-timers and 1-4: pairs by the less experienced of the two. All: all participants. mh5:
participants with five or more earlier matches, among themselves (`--min-history 5`). 95 % intervals
of differences from 1,000 resamples of the matches (blocks of consecutive ones beyond a thousand),
the same for both systems.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from elo_mmr_paper import AS_RUN
from entry_pools import DUELS, POOLS, TEAMS, simulate_arrivals
from entry_scores import (
    Choice,
    Entry,
    Measured,
    Trial,
    change,
    choose,
    first_half,
    made,
    measure,
    nine_tenths,
    second_half,
)

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history
from equipoise.rating.system import RatingSystem
from report import DATA, RESULTS, Part, lines_of, needs, report_parts

#: Constants of ENTRY.md, which were chosen on all of Codeforces.
FIRST_STUDY = Entry(entry="learned", hold_level=0.05)
LEARNED_ONLY = Entry(entry="learned")
LEVEL_ONLY = Entry(hold_level=0.05)

#: The systems of each data set; those of the paper with its authors' parameters.
SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "codeforces": (
        "elo-mmr",
        "elo-mmx",
        "codeforces",
        "topcoder",
        "trueskill-spb",
        "plackett-luce",
        "elo",
    ),
    "football": (
        "glicko2",
        "elo",
        "elo, home advantage",
        "trueskill-spb",
        "plackett-luce",
        "elo-mmr",
        "elo-mmx",
        "trueskill",
        "bradley-terry",
    ),
    "ut4": ("trueskill", "trueskill-spb", "plackett-luce", "elo", "team-glicko2", "bradley-terry"),
}

FINDINGS = "## Findings"


@functools.cache
def real_history(name: str) -> History:
    """Return a data set."""
    return read_history(needs(DATA / f"{name}.parquet"))


def settings_of(data: str, system: str) -> Mapping[str, Any]:
    """Return the authors' parameters on Codeforces, defaults elsewhere."""
    if system == "elo, home advantage":
        return {"home_advantage": 100.0}  # as benchmarks/team_games.py tunes it
    return AS_RUN.get(system, {}) if data == "codeforces" else {}


@functools.cache
def chosen(data: str, name: str) -> Choice:
    """Return the constants of a system, chosen on the first half."""
    history = real_history(data)
    return choose(Trial(history, first_half(history), name, settings_of(data, name)))


def later(data: str, system: RatingSystem) -> Measured:
    """Return what a system scores on the second half."""
    history = real_history(data)
    return measure(history, second_half(history), system)


def reproduced() -> Part:
    """Return the six rows of ENTRY.md's table."""
    history, authors = real_history("codeforces"), AS_RUN["elo-mmr"]
    rows = []
    for label, settings, entry in (
        ("fixed 1500", authors, None),
        ("learned only", authors, LEARNED_ONLY),
        ("level only", authors, LEVEL_ONLY),
        ("learned + level", authors, FIRST_STUDY),
        ("defaults, fixed", {}, None),
        ("defaults, learned + level", {}, FIRST_STUDY),
    ):
        system = made("elo-mmr", settings, entry)
        found = measure(history, nine_tenths(history), system)
        rows.append((label, *_first_study_columns(found)))
    return Part(
        "ENTRY.md's table: elo-mmr, Codeforces, from 10 % on",
        ("elo-mmr", "all", "mh5"),
        rows,
        "Pair inversion / rank deviation / log loss.",
    )


def data_parts(data: str) -> list[Part]:
    """Return the choices, the scores and the differences on a data set."""
    choices, scores, gains = [], [], []
    for name in SYSTEMS[data]:
        choice, settings = chosen(data, name), settings_of(data, name)
        choices.append(_choice_row(name, choice))
        fixed = later(data, made(name, settings, None))
        scores.append((name, "fixed", *_scores(fixed)))
        labels: dict[str, Entry | None] = {"learned": choice.entry}
        if data == "codeforces" and name == "elo-mmr":
            labels["ENTRY.md's"] = FIRST_STUDY
        elif choice.entry is None:
            contests = data == "codeforces"
            labels = {"not chosen": FIRST_STUDY if contests else LEARNED_ONLY}
        for label, entry in labels.items():
            found = later(data, made(name, settings, entry))
            scores.append((name, label, *_scores(found)))
            gains.append((name, label, *_gains(found, fixed)))
    half = f"{data}, second half"
    return [
        Part(f"{data}: constants chosen on the first half", _CHOICE_COLUMNS, choices),
        Part(
            f"{half}: scores",
            _SCORE_COLUMNS,
            scores,
            "Pair inversion, % / log loss. Not chosen: ENTRY.md's constants where the fixed "
            "entry was chosen, without a held level outside contests.",
        ),
        Part(f"{half}: less the fixed entry", _GAIN_COLUMNS, gains),
    ]


def levels() -> Part:
    """Return where the ratings of active players stand, year by year."""
    history, authors = real_history("codeforces"), AS_RUN["elo-mmr"]
    found = chosen("codeforces", "elo-mmr").entry or FIRST_STUDY
    years, rows = _years(history), []
    for label, entry in (
        ("fixed", None),
        ("learned only, ENTRY.md's", LEARNED_ONLY),
        ("learned + level, ENTRY.md's", FIRST_STUDY),
        ("learned + level, chosen", found),
    ):
        means = _active_means(made("elo-mmr", authors, entry), history, years)
        rows.append((label, *(f"{mean:.0f}" for mean in means.values())))
    return Part(
        "Mean rating of the players active in a year, after their last contest in it: elo-mmr",
        ("entry", *(str(year) for year in np.unique(years))),
        rows,
        "Codeforces; 2020 ends in July.",
    )


def simulated() -> list[Part]:
    """Return the scores of simulated pools, with constants chosen on real histories."""
    contests = chosen("codeforces", "elo-mmr").entry or FIRST_STUDY
    rows = []
    for pool in _SIMULATED:
        for name, settings in _SIMULATED_CONTESTS.items():
            rows += _of_pool(pool, name, settings, contests)
    for pool in DUELS:
        for name in ("glicko2", "elo", "trueskill", "plackett-luce"):
            found = chosen("football", name).entry or FIRST_STUDY
            held = replace(found, hold_level=found.hold_level or 0.05)
            rows += _of_pool(pool, name, {}, held)
    for pool in TEAMS:
        for name in ("trueskill", "trueskill-spb", "plackett-luce", "elo", "team-glicko2"):
            rows += _of_pool(pool, name, {}, FIRST_STUDY)
    return [
        Part(
            "Simulated pools: nothing chosen here",
            (
                "pool",
                "system",
                "entry",
                "first-timers",
                "all, less fixed",
                "mh5, less fixed",
                "experienced less truth",
            ),
            rows,
            "Contests: constants of elo-mmr on Codeforces. Duels: those of the system on "
            "football, with a held level of 0.05. Teams: ENTRY.md's. One history each, seed 7, "
            "scored from 10 % on. The last column: mean rating less true skill of participants "
            "with five or more earlier matches, last quarter.",
        )
    ]


def _of_pool(
    pool: str, name: str, settings: Mapping[str, Any], held: Entry
) -> list[tuple[str, ...]]:
    """Return the rows of a system in a simulated pool: fixed, learned, learned and held."""
    history, skill = _simulate(pool)
    part = nine_tenths(history)
    plain = made(name, settings, None)
    fixed = measure(history, part, plain)
    bias = _bias(plain, history, skill)
    rows: list[tuple[str, ...]] = [(pool, name, "fixed", _scores(fixed)[0], "", "", f"{bias:+.0f}")]
    for label, entry in (
        ("learned", replace(held, hold_level=0.0)),
        ("learned, level held", held),
    ):
        system = made(name, settings, entry)
        one = measure(history, part, system)
        bias = _bias(system, history, skill)
        every = change(one, fixed, "all", "pair_inversion").show(2)
        veterans = change(one, fixed, "mh5", "pair_inversion").show(2)
        rows.append((pool, name, label, _scores(one)[0], every, veterans, f"{bias:+.0f}"))
    return rows


_GROUPS = ("first-timers", "1-4", "all", "mh5")
_SCORE_COLUMNS = ("system", "entry", *_GROUPS)
_GAIN_COLUMNS = ("system", "entry", "all", "mh5", "all, log loss", "first-timers")
_CHOICE_COLUMNS = (
    "system",
    "H",
    "n0",
    "z",
    "hold_level",
    "matches, memory, step",
    "tried",
    "all",
    "mh5",
    "log loss",
)


def _first_study_columns(found: Measured) -> list[str]:
    metrics = ("pair_inversion", "rank_deviation", "log_loss")
    cells = []
    for group, digits in (("all", 2), ("mh5", 3)):
        pairs, places, loss = (found.of(group, metric) for metric in metrics)
        cells.append(f"{pairs:.{digits}f}/{places:.1f}/{loss:.5f}")
    return cells


def _scores(found: Measured) -> list[str]:
    return [
        f"{found.of(group, 'pair_inversion'):.2f} / {found.of(group, 'log_loss'):.4f}"
        for group in _GROUPS
    ]


def _gains(found: Measured, fixed: Measured) -> list[str]:
    return [
        change(found, fixed, "all", "pair_inversion").show(2),
        change(found, fixed, "mh5", "pair_inversion").show(3),
        change(found, fixed, "all", "log_loss").show(4),
        change(found, fixed, "first-timers", "pair_inversion").show(1),
    ]


def _choice_row(name: str, choice: Choice) -> tuple[str, ...]:
    gains = (f"{choice.gain:+.2f}", f"{choice.veterans:+.3f}", f"{choice.log_loss:+.4f}")
    if choice.entry is None:
        return (name, "fixed", "", "", "", "", str(choice.tried), *gains)
    own = choice.entry
    level = f"{own.hold_level_matches}, {own.level_memory:.0f}, {own.level_step:g}"
    return (
        name,
        f"{own.entry_half_life:.0f}",
        f"{own.entry_weight:g}",
        f"{own.entry_clip:g}",
        f"{own.hold_level:g}",
        level if own.hold_level else "",
        str(choice.tried),
        *gains,
    )


def _bias(system: RatingSystem, history: History, skill: Floats) -> float:
    """Return the mean of rating less true skill of the experienced, over the last quarter."""
    trace = {
        name: np.full(history.participations, np.nan)
        for name in ("rating_before", "deviation_before")
    }
    state = system.initial(history.players)
    system.run(state, history, 0, history.matches, trace)
    low = int(history.offsets[history.matches - history.matches // 4])
    seen: dict[int, int] = {}
    experienced = np.zeros(history.participations, bool)
    for i, player in enumerate(history.player.tolist()):
        experienced[i] = seen.get(player, 0) >= 5
        seen[player] = seen.get(player, 0) + 1
    rows = np.flatnonzero(experienced[low:]) + low
    return float(np.mean(trace["rating_before"][rows] - skill[rows]))


def _years(history: History) -> Ints:
    """Return the year of every match."""
    if history.time is None:
        return np.zeros(history.matches, np.int64)
    return history.time.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970


def _active_means(system: RatingSystem, history: History, years: Ints) -> dict[int, float]:
    """Return the mean rating of the players of every year, at its end."""
    state, means = system.initial(history.players), {}
    for year in np.unique(years).tolist():
        matches = np.flatnonzero(years == year)
        start, stop = int(matches[0]), int(matches[-1]) + 1
        system.run(state, history, start, stop)
        rows = slice(int(history.offsets[start]), int(history.offsets[stop]))
        active = np.unique(history.player[rows])
        means[year] = float(np.mean(system.at(state, active, None)["rating"]))
    return means


#: Systems in simulated contests; those with fitted performances.
_SIMULATED_CONTESTS: Mapping[str, Mapping[str, Any]] = {
    "elo-mmr": {"beta": 200.0, "gamma": 35.0},
    "elo-mmx": {"beta": 200.0, "gamma": 35.0},
    "codeforces": {},
    "topcoder": {},
    "trueskill-spb": AS_RUN["trueskill-spb"],
    "plackett-luce": {},
}

_MODEL = ContestModel(players=6000, contests=200, attendance=0.02)
_SIMULATED: Mapping[str, Callable[..., tuple[History, Floats]]] = {
    "equipoise simulate, attendance 0.02": functools.partial(simulate_contests, _MODEL),
    **{name: functools.partial(simulate_arrivals, pool) for name, pool in POOLS.items()},
}


@functools.lru_cache(1)
def _simulate(pool: str) -> tuple[History, Floats]:
    """Return a simulated pool by its name."""
    rng = np.random.default_rng(7)
    if pool in _SIMULATED:
        return _SIMULATED[pool](rng=rng)
    return simulate_arrivals({**DUELS, **TEAMS}[pool], rng=rng)


PARTS: Mapping[str, Callable[[], Sequence[Part]]] = {
    "table": lambda: [reproduced()],
    **{name: functools.partial(data_parts, name) for name in SYSTEMS},
    "levels": lambda: [levels()],
    "simulated": simulated,
}


def main() -> None:
    """Measure and report; findings written below the tables are kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="+", choices=list(PARTS), help="measure, but only print")
    given = parser.parse_args()
    parts = [one for name in given.part or PARTS for one in PARTS[name]()]
    if given.part:
        for one in parts:
            print(f"## {one.heading}\n\n{lines_of(one.columns, one.rows)}\n\n{one.note}\n")
        return
    path = RESULTS / "entry.md"
    before = path.read_text() if path.exists() else ""
    report_parts("entry", (__doc__ or "").strip(), parts)
    if FINDINGS in before:
        path.write_text(path.read_text() + "\n" + before[before.index(FINDINGS) :])


if __name__ == "__main__":
    main()
