"""The people of a simulated day: counter-based draws, arrivals, parties, patience."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.matchmaking.arrivals import (
    DayModel,
    Draw,
    arrival_times,
    draw_people,
    normals,
    philox,
    read_day,
    uniforms,
)

#: Known answers of Random123, kat_vectors: philox4x32, 10 rounds. Counter and key -> words.
KNOWN = [
    ([0] * 6, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 6, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("words", "expected"), KNOWN)
def test_philox_gives_the_known_answers(words: list[int], expected: list[int]) -> None:
    assert [int(one) for one in philox(*map(np.uint64, words))] == expected


def test_a_draw_belongs_to_its_ticket_whatever_the_others() -> None:
    every = normals(7, Draw.RATING, np.arange(1000))
    some = normals(7, Draw.RATING, np.array([999, 3]))
    assert some.tolist() == [every[999], every[3]]
    assert (
        uniforms(7, Draw.SIZE, np.arange(3)).tolist()
        != uniforms(8, Draw.SIZE, np.arange(3)).tolist()
    )


def test_normals_have_the_moments_of_the_normal_distribution() -> None:
    """Within five standard errors of 200,000 draws."""
    drawn = normals(1, Draw.OWN_SKILL, np.arange(200_000))
    assert abs(drawn.mean()) < 5 / np.sqrt(200_000)
    assert abs(drawn.var() - 1) < 5 * np.sqrt(2 / 200_000)
    assert abs((drawn**4).mean() - 3) < 5 * np.sqrt(96 / 200_000)


def test_arrivals_follow_the_curve() -> None:
    """1.75 of the mean at 20 h and 0.55 at 8 h, within five standard errors."""
    times = arrival_times(DayModel(tickets=500_000, start_hour=0.0), 3)
    assert abs(len(times) - 500_000) < 5 * np.sqrt(500_000)
    per_hour = np.histogram(times / 3600, bins=24 * 60, range=(0, 24))[0] * 60 / (500_000 / 24)
    evening, morning = per_hour[20 * 60 - 15 : 20 * 60 + 15], per_hour[8 * 60 - 15 : 8 * 60 + 15]
    assert abs(evening.mean() - 1.75) < 0.07
    assert abs(morning.mean() - 0.55) < 0.04
    assert (np.diff(times) >= 0).all()


def test_a_burst_multiplies_the_rate() -> None:
    plain = DayModel(tickets=100_000, curve=(1.0,), start_hour=0.0)
    burst = DayModel(tickets=100_000, curve=(1.0,), start_hour=0.0, burst=(10, 12, 3))
    counts = [
        np.histogram(arrival_times(model, 1) / 3600, bins=12, range=(0, 24))[0]
        for model in (plain, burst)
    ]
    assert 2.8 < counts[1][5] / counts[0][5] < 3.2
    assert 0.9 < counts[1][6] / counts[0][6] < 1.1


def test_members_of_a_party_are_alike() -> None:
    """The correlation of two members is rho^2, and skills keep their deviation."""
    people = draw_people(DayModel(tickets=60_000, party_sizes=(0.0, 1.0)), 5, largest=5)
    pairs = people.skill.reshape(-1, 2)
    assert abs(np.corrcoef(pairs.T)[0, 1] - 0.36) < 0.02
    assert abs(people.skill.std() - 350) < 5


def test_parties_are_cut_at_the_size_of_a_team() -> None:
    assert draw_people(DayModel(tickets=2000), 5, largest=3).size.max() == 3


@pytest.mark.parametrize(("kind", "shape"), [("exponential", 1.0), ("weibull", 0.7)])
def test_patience_has_its_mean(kind: str, shape: float) -> None:
    model = DayModel(tickets=200_000, patience=kind, patience_mean=200.0, patience_shape=shape)
    people = draw_people(model, 2, largest=1)
    assert abs((people.gives_up - people.created).mean() / 200 - 1) < 0.02


def test_rejects_a_day_with_a_wrong_field(tmp_path) -> None:
    with pytest.raises(InvalidParameterError, match="regions must be one of none, two"):
        DayModel(regions="mars")
    with pytest.raises(InvalidParameterError, match="interval must be at least 0"):
        DayModel(interval=-1.0)
    path = tmp_path / "day.toml"
    path.write_text("rate = 5\n")
    with pytest.raises(InvalidParameterError, match=r"day\.toml: rate must be one of tickets"):
        read_day(str(path))
