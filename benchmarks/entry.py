"""Where should newcomers enter: at a fixed rating, or at one that is learned?

Run: python benchmarks/entry.py [--kept DIRECTORY] [--part PART ...] [--implementation NAME]

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from elo_mmr_paper import AS_RUN
from entry_prototype import Entry, EntryPrototype
from entry_scores import (
    Case,
    Choice,
    Implementation,
    Measured,
    Trial,
    change,
    choose,
    first_half,
    kept_path,
    made,
    measure,
    nine_tenths,
    second_half,
)
from entry_variants import (
    DUELS,
    POOLS,
    TEAMS,
    AtField,
    AtLevel,
    AtMean,
    BothWays,
    Capped,
    FirstTwo,
    Growth,
    LearnedDeviation,
    StillExperienced,
    Unweighted,
    everybody,
    simulate_arrivals,
)

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history
from equipoise.rating.registry import make_system
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
def case(name: str) -> Case:
    """Return a data set."""
    return Case(name, read_history(needs(DATA / f"{name}.parquet")))


def settings_of(data: str, system: str) -> Mapping[str, Any]:
    """Return the authors' parameters on Codeforces, defaults elsewhere."""
    if system == "elo, home advantage":
        return {"home_advantage": 100.0}  # as benchmarks/team_games.py tunes it
    return AS_RUN.get(system, {}) if data == "codeforces" else {}


@dataclass(frozen=True, slots=True)
class Study:
    """Measures what the tables show.

    kept : directory of earlier results; implementation : of the learned entry
    """

    kept: Path | None
    implementation: Implementation

    def made(self, name: str, settings: Mapping[str, Any], entry: Entry | None) -> RatingSystem:
        """Return a system with this entry."""
        return made(name, settings, entry, self.implementation)

    def chosen(self, data: str, name: str) -> Choice:
        """Return the constants of a system, chosen on the first half."""
        of_data, settings = case(data), settings_of(data, name)
        part = first_half(of_data.history)
        return choose(Trial(of_data, part, name, settings, self.kept, self.implementation))

    def later(self, data: str, system: RatingSystem) -> Measured:
        """Return what a system scores on the second half."""
        return measure(case(data), second_half(case(data).history), system, self.kept)

    def reproduced(self) -> Part:
        """Return the six rows of ENTRY.md's table."""
        of_data, authors = case("codeforces"), AS_RUN["elo-mmr"]
        rows = []
        for label, settings, entry in (
            ("fixed 1500", authors, None),
            ("learned only", authors, LEARNED_ONLY),
            ("level only", authors, LEVEL_ONLY),
            ("learned + level", authors, FIRST_STUDY),
            ("defaults, fixed", {}, None),
            ("defaults, learned + level", {}, FIRST_STUDY),
        ):
            system = self.made("elo-mmr", settings, entry)
            found = measure(of_data, nine_tenths(of_data.history), system, self.kept)
            rows.append((label, *_first_study_columns(found)))
        return Part(
            "ENTRY.md's table: elo-mmr, Codeforces, from 10 % on",
            ("elo-mmr", "all", "mh5"),
            rows,
            "Pair inversion / rank deviation / log loss.",
        )

    def of_data(self, data: str) -> list[Part]:
        """Return the choices, the scores and the differences on a data set."""
        choices, scores, gains = [], [], []
        for name in SYSTEMS[data]:
            choice, settings = self.chosen(data, name), settings_of(data, name)
            choices.append(_choice_row(name, choice))
            fixed = self.later(data, self.made(name, settings, None))
            scores.append((name, "fixed", *_scores(fixed)))
            labels: dict[str, Entry | None] = {"learned": choice.entry}
            if data == "codeforces" and name == "elo-mmr":
                labels["ENTRY.md's"] = FIRST_STUDY
            elif choice.entry is None:
                contests = data == "codeforces"
                labels = {"not chosen": FIRST_STUDY if contests else LEARNED_ONLY}
            for label, entry in labels.items():
                found = self.later(data, self.made(name, settings, entry))
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

    def gap(self) -> list[Part]:
        """Return where elo-mmr falls behind codeforces, and what removes how much of it."""
        data, authors = "codeforces", AS_RUN["elo-mmr"]
        found = self.chosen(data, "elo-mmr").entry or FIRST_STUDY
        inner = make_system("elo-mmr", authors)
        gap = self._gap()
        held = Entry(hold_level=0.2, level_step=1.0, level_memory=500.0)
        variants: dict[str, RatingSystem] = {
            "fixed entry": inner,
            "everybody recentred, fixed entry": everybody(BothWays(system=inner, parameters=held)),
            "level held, fixed entry": self.made("elo-mmr", authors, replace(found, entry="fixed")),
            "entry at the level of the experienced": AtLevel(system=inner, parameters=_FOLLOW),
            f"entry {-gap:.0f} below that level": AtLevel(
                system=inner, parameters=_FOLLOW, gap=gap
            ),
            "learned entry": self.made("elo-mmr", authors, replace(found, hold_level=0.0)),
            "learned entry, level held": self.made("elo-mmr", authors, found),
        }
        other = self.later(data, self.made("codeforces", AS_RUN["codeforces"], None))
        rows, first = [], self.later(data, inner)
        for label, system in variants.items():
            one = self.later(data, system)
            rows.append(
                (
                    f"elo-mmr, {label}",
                    *_scores(one),
                    change(one, other, "all", "pair_inversion").show(2),
                )
            )
        rows.append(("codeforces, fixed entry", *_scores(other), ""))
        pieces = []
        for group, label in (("first-timers", "0"), ("1-4", "1 to 4"), ("rest", "5 or more")):
            (part, ours), (_, theirs) = _pairs(first, group), _pairs(other, group)
            share = part / first.weight("all")
            bounds = (
                "" if group == "rest" else change(first, other, group, "pair_inversion").show(2)
            )
            pieces.append(
                (
                    label,
                    f"{100.0 * share:.1f} %",
                    bounds or f"{ours - theirs:+.2f}",
                    f"{share * (ours - theirs):+.2f}",
                )
            )
        return [
            Part(
                "What of the distance to codeforces is entry, what is drift? Second half",
                ("system", *_GROUPS, "all, less codeforces"),
                rows,
                "The gap below the level was chosen on the first half. That everybody is "
                "recentred, and an entry at the level or below it, only the prototype has.",
            ),
            Part(
                "In which pairs: elo-mmr less codeforces, both with a fixed entry, second half",
                ("earlier contests", "part of the pairs", "pair inversion", "points of all"),
                pieces,
                "By the less experienced of the two; all players of a contest are its field.",
            ),
        ]

    def _gap(self) -> float:
        """Return how far below the experienced newcomers enter best, on the first half."""
        inner, of_data = make_system("elo-mmr", AS_RUN["elo-mmr"]), case("codeforces")

        def early(gap: float) -> float:
            system = AtLevel(system=inner, parameters=_FOLLOW, gap=gap)
            part = first_half(of_data.history)
            return measure(of_data, part, system, self.kept).of("all", "log_loss")

        return min((0.0, -100.0, -200.0, -300.0, -400.0, -500.0), key=early)

    def variants(self) -> list[Part]:
        """Return what did not help in the first study, with the constants of this one."""
        data, authors = "codeforces", AS_RUN["elo-mmr"]
        found = self.chosen(data, "elo-mmr").entry or FIRST_STUDY
        inner, alone = make_system("elo-mmr", authors), replace(found, hold_level=0.0)
        unclipped, gap = replace(found, entry_clip=_UNCLIPPED), self._gap()
        tried: dict[str, RatingSystem] = {
            "the deviation is learned as well": LearnedDeviation(system=inner, parameters=found),
            "entry relative to the experienced of the field": AtField(
                system=inner, parameters=found
            ),
            "the same, level not held": AtField(system=inner, parameters=alone),
            "entry at the level of the experienced": AtLevel(system=inner, parameters=_FOLLOW),
            f"entry {-gap:.0f} below that level": AtLevel(
                system=inner, parameters=_FOLLOW, gap=gap
            ),
            "entry at the mean of all players": AtMean(system=inner, parameters=found),
            "everybody shifted to hold the level": everybody(
                EntryPrototype(system=inner, parameters=found)
            ),
            "mean change of the experienced held at 0": StillExperienced(
                system=inner, parameters=alone
            ),
            "growth learned instead of a held level": Growth(system=inner, parameters=alone),
            "delta may be negative": BothWays(system=inner, parameters=found),
            "first two performances": FirstTwo(system=inner, parameters=found),
            "at most 10 newcomers of a contest count": Capped(system=inner, parameters=found),
            "at most 100 newcomers of a contest count": Capped(
                system=inner, parameters=found, cap=100.0
            ),
            "unclipped": self.made("elo-mmr", authors, unclipped),
            "unclipped, first performances unweighted": Unweighted(
                system=inner, parameters=unclipped
            ),
        }
        learned = self.later(data, self.made("elo-mmr", authors, found))
        rows = []
        for label, system in tried.items():
            one = self.later(data, system)
            rows.append((label, *_scores(one), *_gains(one, learned)[:3]))
        return [
            Part(
                "What did not help: elo-mmr, Codeforces, second half, less learned with a held "
                "level",
                ("variant", *_GROUPS, "all", "mh5", "all, log loss"),
                rows,
            ),
            self._unweighted(),
            self._negative(),
        ]

    def _unweighted(self) -> Part:
        """Return where the entry ends if first performances are not weighted."""
        rows = []
        for data, name in (
            ("codeforces", "elo-mmr"),
            ("codeforces", "trueskill-spb"),
            ("football", "glicko2"),
            ("football", "trueskill-spb"),
            ("ut4", "trueskill"),
            ("ut4", "team-glicko2"),
        ):
            settings = settings_of(data, name)
            entry = FIRST_STUDY if data == "codeforces" else LEARNED_ONLY
            inner = make_system(name, settings)
            weighted = replace(entry, entry_clip=_UNCLIPPED)
            fixed = self.later(data, inner)
            for label, system in (
                ("as it is", EntryPrototype(system=inner, parameters=entry)),
                ("unclipped", EntryPrototype(system=inner, parameters=weighted)),
                ("unweighted", Unweighted(system=inner, parameters=entry)),
                ("unweighted, unclipped", Unweighted(system=inner, parameters=weighted)),
            ):
                one = self.later(data, system)
                every = change(one, fixed, "all", "pair_inversion").show(2)
                loss = change(one, fixed, "all", "log_loss").show(4)
                low, last, high = _entries(system, case(data), self.kept)
                entries = (f"{low:.0f} to {high:.0f}", f"{last:.0f}")
                rows.append((data, name, label, every, loss, *entries))
        return Part(
            "First performances, weighted or not: second half, less the fixed entry",
            ("data", "system", "performances", "all", "all, log loss", "entries", "last"),
            rows,
            "ENTRY.md's constants, without a held level outside contests. Entries are those of the "
            "complete history.",
        )

    def _negative(self) -> Part:
        """Return what a delta that may be negative does where the level rises."""
        found = self.chosen("codeforces", "elo-mmr").entry or FIRST_STUDY
        rows = []
        for pool in POOLS:
            history, skill = _simulate(pool)
            of_data, part = Case(pool, history), nine_tenths(history)
            for name, settings in _SIMULATED_CONTESTS.items():
                if name not in ("elo-mmr", "codeforces"):
                    continue
                system = self.made(name, settings, found)
                both = BothWays(system=make_system(name, settings), parameters=found)
                one, other = (measure(of_data, part, each, self.kept) for each in (both, system))
                bias = [f"{_bias(each, history, skill):+.0f}" for each in (system, both)]
                rows.append((pool, name, *_gains(one, other)[:3], *bias))
        return Part(
            "Delta may be negative: simulated pools, less learned with a held level",
            (
                "pool",
                "system",
                "all",
                "mh5",
                "all, log loss",
                "experienced less truth, delta at least 0",
                "any delta",
            ),
            rows,
        )

    def agreement(self) -> Part:
        """Return how far prototype and engine are apart with the same constants."""
        rows = []
        for data, names in SYSTEMS.items():
            for name in names:
                settings = settings_of(data, name)
                found = self.chosen(data, name).entry
                entry = found or (FIRST_STUDY if data == "codeforces" else LEARNED_ONLY)
                engine, slow = (
                    self.later(data, made(name, settings, entry, by))
                    for by in ("engine", "prototype")
                )
                rows.append(
                    (
                        data,
                        name,
                        *(
                            f"{abs(slow.of(group, metric) - engine.of(group, metric)):.0e}"
                            for group in ("all", "mh5")
                            for metric in ("pair_inversion", "log_loss")
                        ),
                    )
                )
        return Part(
            "Prototype and engine, second half: absolute differences",
            ("data", "system", "all", "all, log loss", "mh5", "mh5, log loss"),
            rows,
            "With the constants of the tables above.",
        )

    def levels(self) -> Part:
        """Return where the ratings of active players stand, year by year."""
        of_data, authors = case("codeforces"), AS_RUN["elo-mmr"]
        found = self.chosen("codeforces", "elo-mmr").entry or FIRST_STUDY
        years, rows = _years(of_data.history), []
        for label, entry in (
            ("fixed", None),
            ("learned only, ENTRY.md's", LEARNED_ONLY),
            ("learned + level, ENTRY.md's", FIRST_STUDY),
            ("learned + level, chosen", found),
        ):
            means = _active_means(self.made("elo-mmr", authors, entry), of_data.history, years)
            rows.append((label, *(f"{mean:.0f}" for mean in means.values())))
        return Part(
            "Mean rating of the players active in a year, after their last contest in it: elo-mmr",
            ("entry", *(str(year) for year in np.unique(years))),
            rows,
            "Codeforces; 2020 ends in July.",
        )

    def simulated(self) -> list[Part]:
        """Return the scores of simulated pools, with constants chosen on real histories."""
        contests = self.chosen("codeforces", "elo-mmr").entry or FIRST_STUDY
        rows = []
        for pool in _SIMULATED:
            for name, settings in _SIMULATED_CONTESTS.items():
                rows += self._of_pool(pool, name, settings, contests)
        for pool in DUELS:
            for name in ("glicko2", "elo", "trueskill", "plackett-luce"):
                found = self.chosen("football", name).entry or FIRST_STUDY
                held = replace(found, hold_level=found.hold_level or 0.05)
                rows += self._of_pool(pool, name, {}, held)
        for pool in TEAMS:
            for name in ("trueskill", "trueskill-spb", "plackett-luce", "elo", "team-glicko2"):
                rows += self._of_pool(pool, name, {}, FIRST_STUDY)
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
        self, pool: str, name: str, settings: Mapping[str, Any], held: Entry
    ) -> list[tuple[str, ...]]:
        """Return the rows of a system in a simulated pool: fixed, learned, learned and held."""
        history, skill = _simulate(pool)
        of_data, part = Case(pool, history), nine_tenths(history)
        plain = self.made(name, settings, None)
        fixed = measure(of_data, part, plain, self.kept)
        bias = _bias(plain, history, skill)
        rows: list[tuple[str, ...]] = [
            (pool, name, "fixed", _scores(fixed)[0], "", "", f"{bias:+.0f}")
        ]
        for label, entry in (
            ("learned", replace(held, hold_level=0.0)),
            ("learned, level held", held),
        ):
            system = self.made(name, settings, entry)
            one = measure(of_data, part, system, self.kept)
            bias = _bias(system, history, skill)
            every = change(one, fixed, "all", "pair_inversion").show(2)
            veterans = change(one, fixed, "mh5", "pair_inversion").show(2)
            rows.append((pool, name, label, _scores(one)[0], every, veterans, f"{bias:+.0f}"))
        return rows


#: The level is followed, and nothing is handed out.
_FOLLOW = Entry(hold_level=1e-300)

#: Nothing is clipped.
_UNCLIPPED = 100.0

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


def _pairs(found: Measured, group: str) -> tuple[float, float]:
    """Return the weight of the pairs of a group, and their pair inversion."""
    if group != "rest":
        return found.weight(group), found.of(group, "pair_inversion")
    parts = [(found.weight(one), found.of(one, "pair_inversion")) for one in _GROUPS[:3]]
    (new, of_new), (few, of_few), (every, of_all) = parts
    rest = every - new - few
    return rest, (every * of_all - new * of_new - few * of_few) / rest


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


def _entries(system: EntryPrototype, of_data: Case, kept: Path | None) -> Floats:
    """Return the least, the last and the largest entry of a history."""
    path = kept_path(kept, "entries", of_data.name, repr(system))
    if path is not None and path.exists():
        with np.load(path) as found:
            entries: Floats = found["entries"]
            return entries
    course: list[tuple[float, ...]] = []
    traced = replace(system, course=course)
    state = traced.initial(of_data.history.players)
    traced.run(state, of_data.history, 0, of_data.history.matches)
    every = [row[1] for row in course]
    entries = np.array([min(every), every[-1], max(every)])
    if path is not None:
        np.savez(path, entries=entries)
    return entries


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


#: What the results say of the implementation.
MEASURED: Mapping[Implementation, str] = {
    "engine": "Measured with the package: `--set entry=learned`. Only what the package does not "
    "have is measured with the prototype of `entry_prototype.py`: the tables of what did not help, "
    "except the rows unclipped and learned with a held level, and three rows of the distance to "
    "codeforces. A table below says how far package and prototype are apart.",
    "prototype": "Measured with the prototype.",
}

PARTS: Mapping[str, Callable[[Study], Sequence[Part]]] = {
    "table": lambda study: [study.reproduced()],
    "codeforces": lambda study: study.of_data("codeforces"),
    "football": lambda study: study.of_data("football"),
    "ut4": lambda study: study.of_data("ut4"),
    "gap": lambda study: study.gap(),
    "levels": lambda study: [study.levels()],
    "variants": lambda study: study.variants(),
    "simulated": lambda study: study.simulated(),
    "agreement": lambda study: [study.agreement()],
}


def main() -> None:
    """Measure and report; findings written below the tables are kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kept", type=Path, help="directory in which results are kept")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), help="measure, but only print")
    parser.add_argument("--implementation", choices=("engine", "prototype"), default="engine")
    given = parser.parse_args()
    study = Study(given.kept, given.implementation)
    parts = [one for name in given.part or PARTS for one in PARTS[name](study)]
    if given.part:
        for one in parts:
            print(f"## {one.heading}\n\n{lines_of(one.columns, one.rows)}\n\n{one.note}\n")
        return
    path = RESULTS / "entry.md"
    before = path.read_text() if path.exists() else ""
    question = f"{(__doc__ or '').strip()}\n\n{MEASURED[given.implementation]}"
    report_parts("entry", question, parts)
    if FINDINGS in before:
        path.write_text(path.read_text() + "\n" + before[before.index(FINDINGS) :])


if __name__ == "__main__":
    main()
