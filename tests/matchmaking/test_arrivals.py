"""The people of a simulated day: counter-based draws, arrivals, parties, patience."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.matchmaking.arrivals import (
    DayModel,
    Draw,
    arrival_times,
    class_value,
    draw_people,
    normals,
    philox,
    rate_at,
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


def test_a_curve_is_linear_between_its_points() -> None:
    """Three points are 8 h apart, and the last meets the first at 24 h."""
    hours = np.array([0.0, 2.0, 8.0, 12.0, 16.0, 22.0, 26.0])
    rates = rate_at(DayModel(curve=(1.0, 3.0, 5.0)), hours)
    assert rates.tolist() == [1.0, 1.5, 3.0, 4.0, 5.0, 2.0, 1.5]


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


def test_skills_are_those_of_a_rating_list(tmp_path) -> None:
    """Each is drawn equally often, below 0 too, and members of a party stay alike."""
    (tmp_path / "list.csv").write_text("player,rating\na,1500\nb,-20\nc,900\nd,900\n")
    path = tmp_path / "day.toml"
    path.write_text('skills = "list.csv"\nparty_sizes = [0, 1]\ntickets = 40_000\n')
    model = DayModel(**read_day(str(path)))
    assert model.skills == (-20.0, 900.0, 900.0, 1500.0)
    skill = draw_people(model, 5, largest=2).skill
    values, counts = np.unique(skill, return_counts=True)
    assert values.tolist() == [-20.0, 900.0, 1500.0]
    assert counts / len(skill) == pytest.approx([0.25, 0.5, 0.25], abs=0.01)
    assert 0.2 < np.corrcoef(skill.reshape(-1, 2).T)[0, 1] < 0.36


def test_home_regions_follow_the_curve_at_their_hour() -> None:
    """People come at 0 h to 12 h alone, so each half of the day has one of two regions."""
    curve = (1.0,) * 12 + (0.0,) * 12
    model = DayModel(tickets=5000, curve=curve, regions="two", latency_spread=0.0, start_hour=0.0)
    for hours, share in (((), 0.5), ((0.0, 12.0), 0.0), ((12.0, 12.0), 0.5)):
        people = draw_people(replace(model, region_hours=hours), 1, largest=1)
        within = (people.created > 3600) & (people.created < 11 * 3600)
        assert people.latency.argmin(axis=1)[within].mean() == pytest.approx(share, abs=0.03)


def test_tickets_have_several_classes() -> None:
    """Two of three with shares 1, 1 and 2, without replacement: by hand 7/12, 7/12 and 5/6."""
    model = DayModel(tickets=60_000, classes=(1, 1, 2), class_values=2)
    group = draw_people(model, 3, largest=1).group
    assert class_value(model, 5) == ["0", "2"]
    assert np.unique(group).tolist() == [3, 5, 6]
    shares = [np.mean(group >> at & 1) for at in range(3)]
    assert shares == pytest.approx([7 / 12, 7 / 12, 5 / 6], abs=0.01)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"regions": "mars"}, "regions must be one of none, two"),
        ({"interval": -1.0}, "interval must be at least 0"),
        ({"performance_deviation": 0.0}, "performance_deviation must be above 0"),
        ({"party_correlation": 1.5}, r"party_correlation must be in \[0, 1\].*1\.5"),
        ({"return_probability": 1.0}, r"return_probability must be in \[0, 1\)"),
        ({"region_hours": [1]}, "region_hours must be empty, or a number for each region"),
        ({"classes": [1, 0], "class_values": 2}, "class_values must be a whole number from 1"),
        ({"skills": ["a"]}, "skills must be a list of numbers"),
    ],
)
def test_rejects_a_day_with_a_wrong_field(fields, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DayModel(**fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [("rate = 5", "rate must be one of tickets"), ('patience = "x"', "patience must be one of")],
)
def test_names_the_file_of_a_wrong_field(tmp_path, content, message) -> None:
    path = tmp_path / "day.toml"
    path.write_text(content)
    with pytest.raises(InvalidParameterError, match=rf"day\.toml: {message}"):
        read_day(str(path))
