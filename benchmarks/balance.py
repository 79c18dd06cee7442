"""How fast are fair teams, and how far from the best?

Two teams: random lobbies without ties, median of 15, exact, with what every constraint cost. Ten
teams of six: 60 players with parties of 5, 4, 4, 3, 3, 2, 2, 2, 2, ratings N(1500, 300) rounded to
points; the largest difference of the teams' sums, against CP-SAT (ortools) on the same lobby in the
same run. "gap" is the distance from the bound that the same program proved.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median

import numpy as np
from ortools.sat.python import cp_model

from equipoise.data.lobby import Lobby
from equipoise.teams.lobby_split import balance
from report import report, timed

PARTIES = (5, 4, 4, 3, 3, 2, 2, 2, 2)
TEAMS, SIZE = 10, 6
#: Seconds that CP-SAT is given: as many as we take, about, and many more.
LIMITS = (1.0, 20.0)
#: The lobby of the requirement, and two more.
SEEDS = (7, 8, 9)


def plain_lobby(players: int, seed: int) -> Lobby:
    """Return a lobby of players without parties."""
    rng = np.random.default_rng(seed)
    return Lobby(
        player_ids=np.arange(players),
        rating=rng.normal(1500, 300, players),
        deviation=rng.uniform(40, 350, players),
    )


def party_lobby(seed: int) -> Lobby:
    """Return the lobby of sixty."""
    players = TEAMS * SIZE
    labels = [str(number) for number, size in enumerate(PARTIES) for _ in range(size)]
    return Lobby(
        player_ids=np.arange(players),
        rating=np.round(np.random.default_rng(seed).normal(1500, 300, players)),
        deviation=np.full(players, 80.0),
        party=np.array(labels + [""] * (players - len(labels)), dtype=object),
    )


def exact_rows() -> list[tuple[str, ...]]:
    """Measure two teams."""
    rows: list[tuple[str, ...]] = []
    for players in (10, 16, 20, 24, 30, 36):
        runs = []
        for seed in range(15):
            lobby = plain_lobby(players, seed)
            runs.append(timed(partial(balance, lobby)))
        seconds = median(one for one, _ in runs)
        found = [result for _, result in runs]
        exact = sum(one.gap == 0 for one in found)
        rows.append(
            (
                f"{players} players, 2 teams",
                "equipoise",
                f"{1000 * seconds:.1f} ms",
                f"{median(one.objective for one in found):.4f}",
                "0" if exact == len(found) else f"0 in {exact} of {len(found)}",
                f"{found[0].compared:,} splits",
            )
        )
    return rows


def sixty_rows(seed: int) -> list[tuple[str, ...]]:
    """Measure ten teams, and CP-SAT on the same lobby."""
    lobby, name = party_lobby(seed), f"60 players, 10 teams, seed {seed}"
    seconds, found = timed(lambda: balance(lobby, TEAMS, objective="sum", top_two=False))
    close = found.gap <= max(1.0, 0.01 * found.bound)
    verdict = "within 1 % or 1 point" if close else "not within 1 % or 1 point"
    rows: list[tuple[str, ...]] = [
        (
            name,
            "equipoise",
            f"{seconds:.2f} s",
            f"{found.objective:.0f}",
            f"{found.gap:.0f}",
            f"bound {found.bound:.0f}: {verdict}",
        )
    ]
    for limit in LIMITS:
        taken, objective, bound = cp_sat(lobby, limit)
        rows.append(
            (
                name,
                f"CP-SAT, {limit:.0f} s",
                f"{taken:.2f} s",
                f"{objective:.0f}",
                f"{objective - bound:.0f}",
                f"bound {bound:.0f}",
            )
        )
    return rows


def many_row() -> tuple[str, ...]:
    """Measure twenty lobbies of sixty, whatever comes."""
    runs = [
        timed(partial(balance, party_lobby(seed), TEAMS, objective="sum", top_two=False))
        for seed in range(20)
    ]
    found = [result for _, result in runs]
    close = sum(one.gap <= max(1.0, 0.01 * one.bound) for one in found)
    return (
        "60 players, 10 teams, seeds 0-19",
        "equipoise",
        f"{max(seconds for seconds, _ in runs):.2f} s at most",
        f"{median(one.objective for one in found):.0f}",
        f"{median(one.gap for one in found):.0f}",
        f"{close} of 20 within 1 % or 1 point, largest gap {max(one.gap for one in found):.0f}",
    )


def cp_sat(lobby: Lobby, limit: float) -> tuple[float, float, float]:
    """Return seconds, the largest difference of sums that CP-SAT found, and its bound."""
    assert lobby.party is not None
    labels = [label or f"alone {row}" for row, label in enumerate(lobby.party.tolist())]
    units = [
        [row for row, one in enumerate(labels) if one == label] for label in dict.fromkeys(labels)
    ]
    strength = [int(lobby.rating[rows].sum()) for rows in units]
    model = cp_model.CpModel()
    there = [
        [model.new_bool_var(f"{unit} in {team}") for team in range(TEAMS)]
        for unit in range(len(units))
    ]
    for unit in there:
        model.add_exactly_one(unit)
    total = sum(strength)
    low = model.new_int_var(0, total, "low")
    high = model.new_int_var(0, total, "high")
    for team in range(TEAMS):
        inside = [unit[team] for unit in there]
        model.add(sum(len(u) * x for u, x in zip(units, inside, strict=True)) == SIZE)
        model.add(sum(s * x for s, x in zip(strength, inside, strict=True)) >= low)
        model.add(sum(s * x for s, x in zip(strength, inside, strict=True)) <= high)
    # Teams have no names: the largest parties, which do not fit together, may be given one each.
    for team, unit in enumerate(there[:3]):
        model.add(unit[team] == 1)
    model.minimize(high - low)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit
    solver.parameters.num_workers = 2
    solver.parameters.random_seed = 7
    start = time.perf_counter()
    status = solver.solve(model)
    seconds = time.perf_counter() - start
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return seconds, float("inf"), solver.best_objective_bound
    return seconds, solver.objective_value, solver.best_objective_bound


def main() -> None:
    """Measure and report."""
    balance(plain_lobby(10, 0))
    rows = exact_rows()
    for seed in SEEDS:
        rows += sixty_rows(seed)
    rows.append(many_row())
    columns = ("lobby", "program", "time", "objective, points", "gap", "remark")
    report("balance", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    main()
