"""Tables 1, 2 and 3 of the Elo-MMR paper for the data we have, beside what the paper prints.

Run: python benchmarks/tables.py [--contests NAME=PATH ...]

Codeforces: players with five earlier contests, of nine tenths of the contests, the first tenth
being learned from; two threads. Systems with the parameters of the authors' own runs: elo-mmr
(0.23, 54, rho 0.04), elo-mmx (0.16, 74), codeforces (beta 65, weight 0.631), topcoder (weight_noob
0.905, weight_limit 0.18), trueskill-spb (11.5, 40, 1e-4, 10). Times are of rating alone, in total,
reading excluded, as READINGS B11 has those of Table 3; the paper's are from a machine of 24 cores.

Synthetic: ten histories of the default `ContestModel`, 2,500 players and 50 rounds, seeds 0 to 9.
Twice: with the parameters above, which nobody fitted to it, and with "fitted" ones: elo-mmr,
elo-mmx and trueskill-spb are told what the generator does (performances spread by 200, drift by
35, skills by 300), and codeforces and topcoder, whose parameters mean something else, take the best
of a small grid on seed 100, which is not scored.

The TopCoder and Reddit rows need data that is not public. Whoever has them, in contest JSON or any
other form of a history, adds them by --contests topcoder=DIRECTORY.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from itertools import product
from statistics import mean

import numpy as np
from elo_mmr_paper import AS_GENERATED, AS_RUN, GRIDS, PAPER, TUNED_EARLY
from tables_shown import (
    SEEDS,
    Measured,
    differences_table,
    first_table,
    second_table,
    settings,
    synthetic_table,
    third_table,
)

from equipoise.data.backtest import Backtest
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from report import DATA, Part, needs, report_parts

THREADS = 2

#: Systems that the paper does not have, on contests of 2,500.
OTHERS: dict[str, tuple[str, dict[str, float]]] = {
    "elo-mmr": ("elo-mmr", {}),
    "trueskill": ("trueskill", {}),
    "trueskill, no margin": ("trueskill", {"draw_probability": 1e-6}),
    "plackett-luce": ("plackett-luce", {}),
    "bradley-terry": ("bradley-terry", {}),
    "glicko": ("glicko", {}),
    "elo": ("elo", {}),
}

GRID_SEED = 100


def systems_of(parameters: Mapping[str, Mapping[str, float]]) -> dict[str, RatingSystem]:
    """Return the systems with these parameters, in the order of the paper."""
    return {name: make_system(name, parameters[name]) for name in AS_RUN}


def measure(
    history: History, systems: Mapping[str, RatingSystem], first: int, resamples: int
) -> Measured:
    """Rate and score a history by every system."""
    seconds = {}
    for name, system in systems.items():
        start = time.perf_counter()
        replay(system, history, threads=THREADS)
        seconds[name] = time.perf_counter() - start

    def scored(as_authors: bool, resamples: int) -> Backtest:
        return backtest(
            systems,
            history,
            rng=np.random.default_rng(0),
            first=first,
            ties_as_authors=as_authors,
            resamples=resamples,
            threads=THREADS,
        )

    return Measured(history, scored(False, resamples), scored(True, 0), seconds)


def best_of_grid(
    name: str, grid: Mapping[str, Sequence[float]], history: History
) -> dict[str, float]:
    """Return the parameters of a grid that order a history best."""
    tried = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    found = backtest(
        {str(one): make_system(name, one) for one in tried},
        history,
        rng=np.random.default_rng(0),
        resamples=0,
        threads=THREADS,
    )
    return max(tried, key=lambda one: found.of(str(one)).metrics["pair_inversion"])


def fitted() -> dict[str, dict[str, float]]:
    """Return parameters for the synthetic contests; the grids look at a seed that is not scored."""
    history, _ = simulate_contests(ContestModel(), rng=np.random.default_rng(GRID_SEED))
    return AS_GENERATED | {name: best_of_grid(name, grid, history) for name, grid in GRIDS.items()}


def synthetic(parameters: Mapping[str, Mapping[str, float]]) -> list[Measured]:
    """Return what is found on every seed."""
    found = []
    for seed in SEEDS:
        history, _ = simulate_contests(ContestModel(), rng=np.random.default_rng(seed))
        found.append(measure(history, systems_of(parameters), 0, 0))
    return found


def multiplied() -> dict[str, float]:
    """Return topcoder's parameters if 0.905 multiplies the platform's weights.

    That is what the only parameter of the authors' public program does. Weights here are shares:
    w/(1 + w) of the sum, so that the multiplied shares of a first and of a late contest are these.
    """

    def share(platform: float) -> float:
        weight = 0.905 * platform / (1.0 - platform)
        return weight / (1.0 + weight)

    return {"weight_noob": share(0.6), "weight_limit": share(0.18)}


def large_fields(history: History) -> Part:
    """Return what systems that were not made for large fields predict of them."""
    systems = {label: make_system(name, one) for label, (name, one) in OTHERS.items()}
    found = backtest(systems, history, rng=np.random.default_rng(0), resamples=0, threads=THREADS)
    shown = (("pair_inversion", 2), ("rank_deviation", 2), ("log_loss", 3))
    rows = [
        (
            one.label,
            *(f"{one.metrics[metric]:.{digits}f}" for metric, digits in shown),
            f"{one.calibration.error:.3f}",
        )
        for one in found.systems
    ]
    columns = ("system", "pair inversion, %", "rank deviation, %", "log loss", "calibration error")
    note = "Defaults, but for trueskill's draw_probability of 1e-6 in the second line of it."
    return Part("Other systems in large fields: synthetic contests, seed 0", columns, rows, note)


def other_parameters(history: History) -> str:
    """Return sentences on the other reading of topcoder, and on trueskill-spb when tuned."""
    first = history.matches // 10
    tuned = best_of_grid("trueskill-spb", TUNED_EARLY, history.slice(0, first))
    chosen = {"topcoder": multiplied(), "trueskill-spb": tuned}
    found = backtest(
        {name: make_system(name, one) for name, one in chosen.items()},
        history,
        rng=np.random.default_rng(0),
        first=first,
        resamples=0,
        threads=THREADS,
    )

    def predicts(name: str) -> str:
        metrics = found.of(name).metrics
        return (
            f"{settings(chosen[name])} predicts {metrics['pair_inversion']:.3f} and "
            f"{metrics['rank_deviation']:.3f}, log loss {metrics['log_loss']:.4f}"
        )

    return (
        "In the authors' public program topcoder has one parameter, 0.905 of the platform's "
        f"weights; read so, {predicts('topcoder')}. With the parameters that a small grid finds "
        f"best on the first tenth of the contests, trueskill-spb {predicts('trueskill-spb')}."
    )


def warm(history: History) -> None:
    """Compile or load every kernel beforehand."""
    for threads in (1, THREADS):
        for system in systems_of(AS_RUN).values():
            replay(system, history.slice(0, 5), threads=threads)
    measure(history.slice(0, 40), systems_of(AS_RUN), 0, 0)


def arguments() -> dict[str, str]:
    """Return paths of further histories by name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--contests", action="append", default=[], metavar="NAME=PATH")
    found = {}
    for text in parser.parse_args().contests:
        name, _, path = text.partition("=")
        if not path:
            parser.error(f"--contests takes NAME=PATH; got {text!r}")
        found[next((one for one in PAPER if one.lower() == name.lower()), name)] = path
    return found


def main() -> None:
    """Measure and report."""
    more = arguments()
    begun, worked = time.perf_counter(), time.process_time()
    histories = {"Codeforces": read_history(needs(DATA / "codeforces.parquet"))}
    histories |= {name: read_history(path) for name, path in more.items()}
    warm(histories["Codeforces"])
    warmed = time.perf_counter()
    named = {
        name: measure(history, systems_of(AS_RUN), history.matches // 10, 1000)
        for name, history in histories.items()
    }
    parameters = {"as run": AS_RUN, "fitted": fitted()}
    simulated = {kind: synthetic(one) for kind, one in parameters.items()}
    seconds = {name: one.seconds for name, one in named.items()}
    seconds["Synthetic"] = {
        name: mean(one.seconds[name] for one in simulated["as run"]) for name in AS_RUN
    }
    sizes = {**histories, "Synthetic": simulated["as run"][0].history}
    second = second_table(named)
    parts = [
        first_table(sizes),
        second._replace(note=f"{second.note}\n\n{other_parameters(histories['Codeforces'])}"),
        *(differences_table(one.ours, name) for name, one in named.items()),
        synthetic_table(simulated, parameters),
        large_fields(sizes["Synthetic"]),
        third_table(seconds),
    ]
    took = time.perf_counter() - begun
    note = (
        f"All of it took {took:.0f} s, of which {warmed - begun:.0f} s to read the history and to "
        f"compile or load kernels; of processor time {time.process_time() - worked:.0f} s."
    )
    report_parts("tables", f"{(__doc__ or '').strip()}\n\n{note}", parts)


if __name__ == "__main__":
    main()
