"""What rating systems compute, recorded before a change of the engine and compared after it.

    python tests/trials/record.py record FILE [SYSTEM ...]
    python tests/trials/record.py compare FILE [SYSTEM ...]

Every variant of tests/test_every_system.py rates random matches, and with it every system with a
home advantage, a learned entry and level, margins, shares and rating periods. Recorded are, by
name: tables and shared numbers of states, traces, ratings as of later days, explanations, matches
of a pool and of one call, what the parameters allow, and the messages of wrong ones. A difference
of numbers is printed with its size, and any other with both texts. Nothing recorded is kept here.
"""

# ruff: noqa: T201  # it prints what it found

from __future__ import annotations

import base64
import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import equipoise as eq
from equipoise.data.history import History
from equipoise.rating.explaining import explain_change, why_unrated
from equipoise.rating.federation_columns import FACTS
from equipoise.rating.registry import SYSTEMS, parameters_of, system_class
from equipoise.rating.replay import TRACE_COLUMNS
from equipoise.rating.state import start_counting
from test_every_system import VARIANTS

DAY = 86_400_000_000

#: Parameters that change what happens around an update, by name.
HOMES: dict[str, dict[str, object]] = {
    "fixed home": {"home_advantage": 55.0},
    "learned home": {
        "home_advantage": 20.0,
        "learn_home_advantage": True,
        "home_advantage_drift": 2.0,
    },
}
ENTRY: dict[str, object] = {
    "entry": "learned",
    "entry_half_life": 20,
    "hold_level": 0.5,
    "level_experienced": 1,
    "hold_level_matches": 10,
}

#: Values that most parameters refuse.
WRONG = (0, -1, 3, 1e10, 1e-9, 0.5, math.inf, -math.inf, math.nan, "x", None, True)

#: Matches of a history, of those that are explained, and of those rated one by one.
MATCHES, EXPLAINED, CALLED = 240, 50, 40


def variants(name: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (name, parameters) of what a system is recorded with."""
    known = {one.name: one.default for one in fields(system_class(name))}
    bases = [one.parameters for one in VARIANTS if one.name == name]
    if "margin_rule" in known:
        bases.append({"margin_rule": "square-root"})
    if "shares" in known:
        bases.append({"shares": "play"})
    if "roles" in known:
        bases.append({"roles": True})
    if known.get("period_days", 0) is None:
        bases.append({"period_days": 7.0})
    for base in bases:
        yield _named(base), base
        if base.get("entry") or base.get("hold_level"):
            continue
        entries: dict[str, dict[str, object]] = {"": {}, "entry": ENTRY}
        homes = {"": {}, **HOMES} if "home_advantage" in known else {"": {}}
        for home, more in homes.items():
            for entry, learns in entries.items():
                parameters = {**base, **more, **learns}
                if home or entry:
                    yield f"{_named(base)} {home} {entry}".strip(), parameters


def _named(parameters: Mapping[str, object]) -> str:
    return ",".join(f"{name}={value}" for name, value in parameters.items()) or "defaults"


def history_for(system: Any, seed: int, matches: int = MATCHES, players: int = 40) -> History:
    """Return random matches that a system can rate, with all columns that it uses."""
    rng, able = np.random.default_rng(seed), system.capabilities
    offsets, member, team, rank, home = [0], [], [], [], []
    for _ in range(matches):
        # Some matches are of one team, and change nothing.
        teams = 1 if rng.random() < 0.04 else int(rng.integers(2, (able.max_teams or 5) + 1))
        sizes = rng.integers(1, (able.max_team_size or 3) + 1, teams)
        ranks = rng.permutation(teams) if not able.draws else rng.integers(0, teams, teams)
        at_home = int(rng.integers(-1, teams))
        member += rng.choice(players, int(sizes.sum()), replace=False).tolist()
        team += np.repeat(np.arange(teams), sizes).tolist()
        rank += np.repeat(np.unique(ranks, return_inverse=True)[1], sizes).tolist()
        home += (np.repeat(np.arange(teams), sizes) == at_home).astype(float).tolist()
        offsets.append(len(member))
    n, uses = len(member), able.uses
    members, teams_of = np.array(member), np.array(team)
    # A team has one score.
    scores = rng.integers(0, 6, (matches, 5)).astype(float)
    row = np.repeat(np.arange(matches), np.diff(offsets))
    columns = {
        "at_home": np.array(home),
        "score": scores[row, teams_of],
        "role": np.array(["tank", "healer", "scout"])[members % 3],
        "event": np.array([f"event {m // 20}" for m in row]),
        "birth_year": 1950.0 + members,
        "games_before": 7.0 * members,
        "events_before": 1.0 * members,
        "handicap": np.where((teams_of == 1) & (row % 3 == 0), 3.0, 0.0),
    }
    own = {"beta": rng.choice([np.nan, 150.0], matches), "gamma": rng.choice([np.nan, 40], matches)}
    return History(
        match_ids=np.arange(matches),
        player_ids=np.arange(players),
        offsets=np.array(offsets),
        player=members,
        team=teams_of,
        rank=np.array(rank),
        time=np.sort(rng.integers(0, 400 * DAY, matches)),
        time_kind="datetime",
        weight=rng.uniform(0.3, 2.0, matches),
        performance_ceiling=(
            rng.choice([np.nan, 1700.0], matches) if "performance_ceiling" in uses else None
        ),
        # Some are absent, and some are equal.
        performance=(
            np.where(rng.random(n) < 0.1, np.nan, rng.normal(0, 1, n).round(1))
            if "performance" in uses
            else None
        ),
        share=rng.uniform(0, 1, n) if "share" in uses else None,
        **{name: column for name, column in own.items() if name in uses},
        attributes={
            name: column
            for name, column in columns.items()
            if name in uses and (name in ("at_home", "role", "score") or name in FACTS)
        },
    )


def attempt(call: Any) -> Any:
    """Return what a call returns, or the message of its error."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001  # whatever it is, its message counts
        return f"{type(error).__name__}: {error}"


def rated(system: Any, seed: int, traced: bool, counted: bool) -> Iterator[tuple[str, Any]]:
    """Yield what a history leaves in a state and a trace."""
    history = history_for(system, seed)
    state = system.initial(history.players)
    if counted:
        start_counting(state)
    names = (*TRACE_COLUMNS, *system.trace_columns, "level_adjustment", "head_start")
    trace = {name: np.full(history.participations, np.nan) for name in names} if traced else None
    # In two pieces, because a replay has pieces.
    for low, high in ((0, MATCHES // 3), (MATCHES // 3, MATCHES)):
        failed = attempt(lambda low=low, high=high: system.run(state, history, low, high, trace))
        if failed is not None:
            yield "failure", failed
            return
    yield "table", state.table
    for name, numbers in state.shared.items():
        yield f"shared {name}", numbers
    for field in range(0 if state.runs is None else state.runs.fields):
        yield f"records {field}", state.runs.records(field)
    for name, column in (trace or {}).items():
        # Nobody reads what else is said of a match that was not rated.
        yield f"trace {name}", np.where(np.isnan(trace["rating"]), np.nan, column)
    if traced:
        for day in (None, 500.0):
            for name, column in system.at(state, np.arange(history.players), day).items():
                yield f"as of {day} {name}", column


def explained(system: Any, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield the explanations of the first matches."""
    history = history_for(system, seed)
    state = system.initial(history.players)
    for m in range(EXPLAINED):
        if why_unrated(system, history, m) is None:
            for row in range(history.offsets[m], history.offsets[m + 1]):
                found = attempt(lambda m=m, row=row: explain_change(system, state, history, m, row))
                yield f"explanation {m} {row}", repr(found)
        system.run(state, history, m, m + 1)


def called(system: Any, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield the ratings of matches that are posted one by one."""
    history, able = history_for(system, seed), system.capabilities
    pool, known = eq.Pool(system), None
    if not system.learned_in_pool:
        known = [system.rating() for _ in range(history.players)]
    for m in np.flatnonzero(history.teams()[:CALLED] > 1).tolist():
        low, high = int(history.offsets[m]), int(history.offsets[m + 1])
        team, player = history.team[low:high], history.player[low:high]
        split = np.flatnonzero(np.diff(team)) + 1
        options: dict[str, Any] = {}
        if "time" in able.uses:
            options["time"] = float(history.days(m, m + 1)[0])
        if "weight" in able.uses:
            options["weight"] = float(history.weights(m, m + 1)[0])
        for name in ("performance", "share"):
            if name in able.uses and getattr(history, name) is not None:
                column = getattr(history, name)[low:high]
                options[name] = [part.tolist() for part in np.split(column, split)]
        if "performance_ceiling" in able.uses and m % 3 == 0:
            options["performance_ceiling"] = 1700.0
        if "beta" in able.uses and m % 4 == 0:
            options["beta"] = 150.0
        if "at_home" in able.uses:
            flags = history.attributes["at_home"][low:high]
            options["home"] = int(team[flags > 0][0]) if flags.any() else None
        if "role" in able.uses:
            roles = history.attributes["role"][low:high]
            options["role"] = [part.tolist() for part in np.split(roles, split)]
        if "score" in able.uses:
            # The score decides the rank, as it does in a file.
            firsts = np.concatenate([[0], split])
            options["scores"] = history.attributes["score"][low:high][firsts].tolist()
        else:
            options["ranks"] = history.rank[low:high][np.concatenate([[0], split])].tolist()
        rows = [part.tolist() for part in np.split(player, split)]
        # In a pool, what players have of their own is given by name.
        named = {
            name: [dict(zip(*pair, strict=True)) for pair in zip(rows, options[name], strict=True)]
            for name in ("performance", "share", "role")
            if name in options
        }
        given = {**options, **named}
        found = attempt(lambda rows=rows, options=given: pool.rate(rows, **options))
        yield f"pool {m}", _numbers(found)
        if known is None:
            continue
        teams = [[known[one] for one in part] for part in rows]
        found = attempt(lambda teams=teams, options=options: system.rate(teams, **options))
        yield f"call {m}", _numbers(found)
        if not isinstance(found, str):
            for part, after in zip(rows, found, strict=True):
                for one, rating in zip(part, after, strict=True):
                    known[one] = rating
        yield f"prediction {m}", repr(attempt(lambda teams=teams: system.predict(teams).expected))


def _numbers(found: Any) -> Any:
    """Return the numbers of ratings, or a message as it is."""
    if isinstance(found, str):
        return found
    teams = [list(one.values()) if isinstance(one, dict) else one for one in found]
    return [[one._numbers for one in team] for team in teams]


def declared(system: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a system says of itself."""
    able = system.capabilities
    sets = {"uses": sorted(able.uses), "idle": sorted(able.idle), "needed": sorted(able.needed)}
    yield (
        "capabilities",
        f"{able} {able.needs_time} {able.skips_all_tied} {able.adds_players} {sets}",
    )
    yield "needed", repr(sorted(able.needed.items()))
    notes = getattr(system, "notes", ())
    yield "itself", f"{system!r} {notes} {system.learned_in_pool}"
    yield "newcomer", repr(dict(system.newcomer()))
    yield "trace columns", repr(list(system.trace_columns))
    outlook = attempt(lambda: system.outlook(np.array([1500.0, 1620]), np.array([80.0, 200])))
    if not isinstance(outlook, str):
        yield "outlook", repr((outlook.curve, outlook.team, outlook.shared))
        yield "centre", outlook.centre
        yield "scale", outlook.scale


def messages(name: str) -> Iterator[tuple[str, Any]]:
    """Yield what a system says of wrong parameters, and which parameters it has."""
    kind = system_class(name)
    kept = [(one.name, one.default, str(one.type)) for one in fields(kind)]
    yield "parameters", repr(sorted(kept))
    notes = [(one.name, one.metadata.get("note", "")) for one in fields(kind)]
    later = [one.name for one in fields(kind) if one.metadata.get("later")]
    yield "notes", repr(sorted(notes)) + repr(sorted(later))
    for parameter in parameters_of(kind()):
        for value in WRONG:
            made = attempt(lambda p=parameter, v=value: kind(**{p: v}))
            yield f"{parameter}={value}", repr(made)


def record(names: list[str]) -> dict[str, Any]:
    """Return everything by name."""
    found: dict[str, Any] = {}
    for name in names:
        found |= {f"{name} {what}": one for what, one in messages(name)}
        for number, (variant, parameters) in enumerate(variants(name)):
            where = f"{name} [{variant}]"
            system = attempt(lambda n=name, p=parameters: eq.make_system(n, p))
            if isinstance(system, str):
                found[where] = system
                continue
            runs = {
                "": declared(system),
                "plain ": rated(system, number, False, False),
                "counted ": rated(system, number, False, True),
                "traced ": rated(system, number, True, True),
                "explained ": explained(system, number),
                "called ": called(system, number),
            }
            for run, results in runs.items():
                for what, one in results:
                    found[f"{where} {run}{what}"] = _kept(one)
        print(f"{name}: {len(found)} results", file=sys.stderr, flush=True)
    return found


def _kept(one: Any) -> Any:
    """Return a result as JSON keeps it, with every bit."""
    if isinstance(one, np.ndarray):
        numbers = np.ascontiguousarray(one, np.float64)
        return {"array": base64.b64encode(numbers.tobytes()).decode()}
    return one if isinstance(one, str) else repr(one)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what differs, in words."""
    found = [f"gone: {name}" for name in before if name not in after]
    found += [f"new: {name}" for name in after if name not in before]
    for name in before:
        if name in after and before[name] != after[name]:
            found.append(f"{name}: {_difference(before[name], after[name])}")
    return found


def _difference(before: Any, after: Any) -> str:
    if isinstance(before, str) or isinstance(after, str):
        return f"\n    before  {before}\n    after   {after}"
    one, two = (np.frombuffer(base64.b64decode(kept["array"])) for kept in (before, after))
    if len(one) != len(two) or not np.array_equal(np.isnan(one), np.isnan(two)):
        return "other numbers"
    apart = np.nan_to_num(np.abs(one - two) / (1.0 + np.abs(one)))
    return f"{int(np.sum(one != two))} of {len(one)} numbers, by at most {apart.max():.1e}"


def main() -> None:
    """Record, or record again and compare."""
    warnings.simplefilter("ignore")
    mode, file, *names = sys.argv[1:]
    found = record(names or list(SYSTEMS))
    if mode == "record":
        Path(file).write_text(json.dumps(found))
        return
    before = json.loads(Path(file).read_text())
    if names:
        before = {name: one for name, one in before.items() if name.split()[0] in names}
    apart = differences(before, found)
    print("\n".join([*apart, f"{len(found)} results, {len(apart)} differ"]))
    sys.exit(bool(apart))


if __name__ == "__main__":
    main()
