"""Make examples/arena.csv: battles of language models as on arena pages, and their true strengths.

Run: python examples/make_arena.py
Both are synthetic: no such model exists. Eight models answer questions in three categories, for
six weeks; one of them joins in the fourth. Judges prefer an answer by logistic chance, and call a
quarter of the battles between equal models a tie, or both bad. A tie counts half, so that the
expected score is that of the strengths, which examples/arena_truth.csv has. The files are the same
on every machine; a test holds them against this script.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

MODELS = ("amber-2", "birch-7b", "cedar", "delta-large", "ember-mini", "fjord", "gale-13b", "heron")
CATEGORIES = ("coding", "math", "writing")
LANGUAGES = ("English", "German", "Spanish")
WEEKS, BATTLES = 6, 200
#: The model that joins late, and its first week, counted from 0.
LATE, FROM = 7, 3
#: 2026-03-02, a Monday, in seconds since 1970; seconds of a week.
START, WEEK = 1_772_409_600, 604_800
#: Chance of a tie between equal models, and that a tie is called bad.
TIES, BOTH_BAD = 0.25, 0.4


def strengths() -> list[list[float]]:
    """Return the strength of every model in every category, in rating points around 1500."""
    rng = np.random.default_rng(22)
    base = np.linspace(160, -160, len(MODELS))[:, None]
    found = base + rng.normal(0, 60, (len(MODELS), len(CATEGORIES)))
    found += 1500 - found.mean(axis=0)
    return [[round(value) for value in row] for row in found.tolist()]


def battles(seed: int = 2026) -> list[list[str]]:
    """Return the rows of the table, in order of time; other seeds make other battles."""
    rng = np.random.default_rng(seed)
    strength = strengths()
    rows = []
    for week in range(WEEKS):
        models = [one for one in range(len(MODELS)) if one != LATE or week >= FROM]
        for second in np.sort(rng.uniform(0, WEEK, BATTLES)).tolist():
            first, other = rng.permutation(models)[:2].tolist()
            category = int(rng.integers(len(CATEGORIES)))
            gap = strength[other][category] - strength[first][category]
            expected = 1 / (1 + 10 ** (gap / 400))
            tie = TIES * 4 * expected * (1 - expected)
            drawn = rng.random()
            winner = "model_a" if drawn < expected - tie / 2 else "model_b"
            if expected - tie / 2 <= drawn < expected + tie / 2:
                winner = "tie (bothbad)" if rng.random() < BOTH_BAD else "tie"
            language = LANGUAGES[int(rng.choice(3, p=[0.6, 0.25, 0.15]))]
            when = f"{START + week * WEEK + second:.4f}"
            rows.append(
                [MODELS[first], MODELS[other], winner, language, CATEGORIES[category], when]
            )
    return rows


def written(header: list[str], rows: list[list[str]]) -> str:
    """Return a table as CSV."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return file.getvalue()


def arena(seed: int = 2026) -> str:
    """Return the battles as CSV."""
    return written(
        ["model_a", "model_b", "winner", "language", "category", "tstamp"], battles(seed)
    )


def truth() -> str:
    """Return the true strengths as CSV."""
    rows = [
        [model, category, str(value)]
        for model, values in zip(MODELS, strengths(), strict=True)
        for category, value in zip(CATEGORIES, values, strict=True)
    ]
    return written(["player", "category", "strength"], rows)


HERE = Path(__file__).parent

if __name__ == "__main__":
    HERE.joinpath("arena.csv").write_text(arena(), encoding="utf-8")
    HERE.joinpath("arena_truth.csv").write_text(truth(), encoding="utf-8")
