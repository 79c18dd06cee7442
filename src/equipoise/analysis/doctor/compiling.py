"""Compiling ahead of use: the kernels that the commands need for a rating system.

Numba compiles a kernel for the types of its arguments, at its first call. So the use cases
themselves are called, with a small history, and nothing else has to know which kernels there are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from equipoise._jit import cache_folder, compiles_kernels, keeps_kernels
from equipoise.analysis.backtest import BacktestRequest
from equipoise.analysis.backtest.computation import compare
from equipoise.analysis.explain import ExplainRequest
from equipoise.analysis.explain.computation import explain_matches
from equipoise.analysis.performance import StrengthsRequest
from equipoise.analysis.performance.computation import estimate_strengths
from equipoise.analysis.predict import PredictRequest
from equipoise.analysis.predict.computation import predict_match
from equipoise.analysis.rate import RateRequest
from equipoise.analysis.rate.computation import rate
from equipoise.analysis.requests import HistoryRequest
from equipoise.errors import UnavailableError
from equipoise.rating.registry import make_system

_PLAYERS = "abcdef"
_ROUNDS = 12


def kernel_folder() -> Path:
    """Return the folder of compiled kernels. Raises : UnavailableError if there can be none."""
    if not compiles_kernels():
        raise UnavailableError("nothing is compiled while NUMBA_DISABLE_JIT is set")
    folder = cache_folder()
    if folder is None or not keeps_kernels():
        raise UnavailableError(
            "compiled kernels cannot be kept: no folder for them can be written; set "
            "NUMBA_CACHE_DIR to a folder that can be written"
        )
    return folder


def compile_for_commands(system: str) -> None:
    """Rate, explain, predict and backtest a small history, with the default parameters.

    Raises : NotFoundError for an unknown system, EquipoiseError
    """
    made_system = make_system(system)
    with tempfile.TemporaryDirectory(prefix="equipoise-compile-") as folder:
        source, state = Path(folder, "history.csv"), Path(folder, "state.npz")
        source.write_text("\n".join(["match,time,player,rank,performance", *_rows()]))
        history = HistoryRequest(source=str(source))
        rate(made_system, RateRequest(history=history, save=str(state)))
        rate(made_system, RateRequest(history=history, trace=str(Path(folder, "trace.csv"))))
        rate(None, RateRequest(history=history, state=str(state)))
        explain_matches(made_system, ExplainRequest(history=history, player=_PLAYERS[0]))
        predict_match(
            PredictRequest(
                state=str(state),
                teams=tuple(_PLAYERS[:2]),
                places=True,
                samples=10,
                what_if=True,
                players=("a",),
            )
        )
        estimate_strengths(StrengthsRequest(history=history, top=1, ties="breslow", prior=1.0))
        compare(
            {system: made_system}, BacktestRequest(history=history, min_history=1, resamples=10)
        )


def _rows() -> Iterator[str]:
    """Yield the rows of a history that every system can rate: duels, of which some are drawn."""
    half = len(_PLAYERS) // 2
    for day in range(_ROUNDS):
        for k in range(half):
            second = 0 if (day + k) % 5 == 0 else 1
            pair = _PLAYERS[k], _PLAYERS[half + (k + day) % half]
            for player, rank in zip(pair, (0, second), strict=True):
                yield f"{half * day + k},2025-01-{day + 1:02},{player},{rank},{2 - rank}"
