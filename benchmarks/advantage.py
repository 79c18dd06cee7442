"""What is the home advantage worth: on football, and on a game whose sides should be equal?

Every system with its defaults, three times: without an advantage, with a fixed one and with a
learned one (learn_home_advantage=true, all else as it is). The fixed one is the value of 0, 20 ..
200 rating points with the least log loss on the first half of the matches, of which the first tenth
is not scored. Scored is the second half, players with five or more earlier matches; systems enter
it with what they learned of the first. Differences are on the same matches; their 95 % intervals
come from 1,000 resamples of the matches.

Football: national teams, a quarter of the matches drawn; matches on neutral ground have no side at
home. A single team is a player. UT4: two teams, Red and Blue, of one to six; Red counts as at home.
The learned advantage is that after the last match, with its deviation: the deviation takes the
advantage for constant, and all ratings before a match for known up to their deviations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from equipoise.analysis.reading import HistoryRequest, read
from equipoise.data.backtest import Backtest
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.rating.base_system import belief_of
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from report import DATA, Part, needs, report_parts

#: Rating points that are tried on the first half.
TRIED = tuple(20.0 * step for step in range(11))
DUELS = (
    *("elo", "glicko", "glicko2", "team-glicko2"),
    *("plackett-luce", "bradley-terry", "trueskill", "trueskill-spb"),
)
TEAMS = ("elo", "team-glicko2", "plackett-luce", "bradley-terry", "trueskill", "trueskill-spb")


def football() -> History:
    """Return the football matches."""
    return read(HistoryRequest(source=str(needs(DATA / "football.parquet"))))[0]


def ut4() -> History:
    """Return the matches of Unreal Tournament 4 in which Red is at home."""
    history = read(HistoryRequest(source=str(needs(DATA / "ut4.parquet"))))[0]
    labels = history.team_labels
    assert labels is not None
    red = (labels.astype(str) == "Red").astype(np.float64)
    return dataclasses.replace(history, attributes={"at_home": red})


def scored(
    name: str, given: Mapping[str, Mapping[str, object]], history: History, first: int, draws: int
) -> Backtest:
    """Return the backtest of one system with several parameters, by label."""
    return backtest(
        {label: make_system(name, parameters) for label, parameters in given.items()},
        history,
        first=first,
        resamples=draws,
    )


def chosen(name: str, early: History) -> float:
    """Return the advantage with the least log loss on a part of the history."""
    given = {str(value): {"home_advantage": value} for value in TRIED}
    found = scored(name, given, early, early.matches // 10, 0)
    return min((found.of(str(value)).metrics["log_loss"], value) for value in TRIED)[1]


def less(found: Backtest, label: str, other: str) -> str:
    """Return how much more log loss one has than another, with the interval."""
    one = next(one for one in found.differences if {one.first, one.second} == {label, other})
    value, (low, high) = one.metrics["log_loss"], one.intervals["log_loss"]
    if one.first != label:
        value, low, high = -value, -high, -low
    return f"{value:+.4f} ({low:+.4f} to {high:+.4f})"


def line(name: str, history: History) -> tuple[str, ...]:
    """Return a line of the table."""
    half = history.matches // 2
    fixed = chosen(name, history.slice(0, half))
    learns = {"learn_home_advantage": True}
    found = scored(
        name,
        {"without": {}, "fixed": {"home_advantage": fixed}, "learned": learns},
        history,
        half,
        1000,
    )
    belief = belief_of(replay(make_system(name, learns), history).state.state.shared)
    assert belief is not None
    print(name, fixed, belief, flush=True)
    return (
        name,
        f"{found.of('without').metrics['log_loss']:.4f}",
        f"{fixed:.0f}",
        "the same" if fixed == 0.0 else less(found, "fixed", "without"),
        f"{belief[0]:.1f} ± {belief[1]:.1f}",
        less(found, "learned", "without"),
        less(found, "learned", "fixed"),
    )


def part(heading: str, history: History, systems: Sequence[str]) -> Part:
    """Return the table of a game."""
    columns = (
        *("system", "log loss without", "fixed", "fixed less without (95 %)"),
        *("learned", "learned less without (95 %)", "learned less fixed (95 %)"),
    )
    half = history.matches // 2
    note = f"Matches: {history.matches:,}, of which the last {history.matches - half:,} are scored."
    return Part(heading, columns, [line(name, history) for name in systems], note)


def against_elo(history: History) -> Part:
    """Return the table of all systems with a learned advantage, the best first."""
    systems = {name: make_system(name, {"learn_home_advantage": True}) for name in DUELS}
    found = backtest(systems, history, first=history.matches // 2, resamples=1000)
    loss = {name: found.of(name).metrics["log_loss"] for name in DUELS}
    rows = [
        (name, f"{loss[name]:.4f}", "" if name == "elo" else less(found, name, "elo"))
        for name in sorted(loss, key=lambda name: loss[name])
    ]
    columns = ("system", "log loss", "less that of elo (95 %)")
    return Part("Football, every system with a learned advantage", columns, rows)


def main() -> None:
    """Measure and report."""
    matches = football()
    parts = [
        part("Football", matches, DUELS),
        against_elo(matches),
        part("UT4, Red and Blue", ut4(), TEAMS),
    ]
    report_parts("advantage", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
