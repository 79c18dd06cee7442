"""The inventories of the documents: nothing is missing, and what differs has a reason."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from papers.documents import DOCUMENTS, documents
from papers.elo_mmr import tables
from papers.items import Document, Facts
from papers.lines import Line
from papers.pages import included

from equipoise.errors import InvalidParameterError
from equipoise.evaluate.synthetic import ContestModel, simulate_contests

ROOT = Path(__file__).parents[2]
SEEDS = ROOT.parent / "shared" / "seeds"

#: Numbers of the documents, retyped; `test_the_numbers_are_those_of_the_text` holds them against
#: the texts where these are at hand.
NUMBERS: dict[str, dict[str, list[str]]] = {
    "team-glicko2": {"equation": [str(n) for n in range(1, 49)]},
    "elo-mmr": {
        "equation": [str(n) for n in range(1, 11)],
        "table": ["1", "2", "3"],
        "figure": ["1"],
        "algorithm": ["1", "2", "3"],
        "theorem": ["2.1", "3.2", "4.1", "5.2", "5.5", "5.6", "5.7"],
        "lemma": ["3.1", "5.1", "5.3", "5.4"],
    },
}

#: Statements that take seconds: contests of thousands, or searches for plans.
SLOW = {
    *("table-1", "table-2", "definition-section-6.1-synthetic", "theorem-5.5"),
    *("claim-accuracy", "claim-volatility"),
}

#: Lines that differ, by statement; anything else that differs is a fault. Those of section 5.3
#: and of A11 are about the text, not about us.
DIFFERS = {
    "team-glicko2": {"claim-4": 1, "claim-5.3-mean": 1},
    "elo-mmr": {
        "table-3": 10,
        "definition-section-3.1-logistic": 1,
        "option-newcomers": 1,
        "option-subsampling": 1,
        "claim-speed": 2,
        "claim-convergence": 1,
    },
}
OURS = sorted(NUMBERS)


def quick(document: Document) -> list[tuple[str, Line]]:
    """Return the lines of the statements that are quick, with few cases."""
    facts = Facts(cases=60)
    return [
        (item.name, line)
        for item in document.items
        if item.name not in SLOW
        for line in item.check(facts)
    ]


@pytest.mark.parametrize("name", OURS)
def test_every_number_has_its_statement_in_order(name: str) -> None:
    document = DOCUMENTS[name]
    for kind, numbers in NUMBERS[name].items():
        found = [item.number for item in document.items if item.kind == kind]
        assert [one for one in found if one in numbers] == numbers


@pytest.mark.parametrize("name", OURS)
def test_the_numbers_are_those_of_the_text(name: str) -> None:
    path = SEEDS / f"{name}.txt"
    if not path.exists():
        pytest.skip(f"the document is not here: {path}")
    text = path.read_text(encoding="utf-8").partition("\nREFERENCES\n")[0]
    found = {
        "equation": re.findall(r"(?:\\tag\{|\\quad ?\(|\} \\quad \()(\d+)[})]", text),
        "table": re.findall(r"^Table (\d+):", text, re.MULTILINE),
        "figure": re.findall(r"^Figure (\d+):", text, re.MULTILINE),
        "algorithm": re.findall(r"^Algorithm (\d+) ", text, re.MULTILINE),
        "theorem": re.findall(r"^THEOREM ([\d.]+\d)", text, re.MULTILINE),
        "lemma": re.findall(r"^LEMMA ([\d.]+\d)", text, re.MULTILINE),
    }
    # Appendices state theorems again; one equation of Elo-MMR has its number on a line of its own.
    if name == "elo-mmr":
        found["equation"] += re.findall(r"\((\d+)\)(?:\$\$)?$", text, re.MULTILINE)
    for kind, numbers in NUMBERS[name].items():
        assert set(numbers) == {one for one in found[kind] if "." in one or int(one) <= 48}, kind


@pytest.mark.parametrize("name", OURS)
def test_names_are_distinct(name: str) -> None:
    names = [item.name for item in DOCUMENTS[name].items]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", OURS)
def test_what_differs_is_known_and_all_else_has_a_reason(name: str) -> None:
    lines = quick(DOCUMENTS[name])
    differs: dict[str, int] = {}
    for item, line in lines:
        assert line.what
        if line.outcome == "differs":
            differs[item] = differs.get(item, 0) + 1
        if line.outcome in ("differs", "stated", "not done"):
            assert line.reason, (item, line.what)
        if line.outcome == "reproduced":
            assert line.ours
            assert line.printed
            assert not line.reason or line.reason.startswith("Stored: ")
    assert differs == DIFFERS[name]


@pytest.mark.nightly
def test_slow_statements_differ_only_where_that_is_known() -> None:
    """Simulated contests of 2,500, thrown matches, and stored results of Codeforces."""
    facts = Facts(cases=1000)
    found = {
        item.name: [line for line in item.check(facts) if line.outcome == "differs"]
        for item in DOCUMENTS["elo-mmr"].items
        if item.name in SLOW
    }
    assert {name: len(lines) for name, lines in found.items()} == {
        "table-1": 2,
        "table-2": 9,
        "definition-section-6.1-synthetic": 3,
        "theorem-5.5": 0,
        "claim-accuracy": 1,
        "claim-volatility": 0,
    }
    assert all(line.reason for lines in found.values() for line in lines)


@pytest.mark.nightly
def test_dropped_assumptions_are_needed() -> None:
    """Theorems 5.2, 5.5 and 5.6 fail with few opponents, 5.5 in a replay, 5.6 with a memory."""
    facts = Facts()
    by_name = {item.name: item for item in DOCUMENTS["elo-mmr"].items}
    for name in ("theorem-5.2", "theorem-5.5", "theorem-5.6", "theorem-4.1", "theorem-3.2"):
        dropped = [line for line in by_name[name].check(facts) if line.outcome == "beyond"]
        assert dropped
        assert all(int(line.ours.split(" ")[0].replace(",", "")) > 0 for line in dropped)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_pages_include_what_the_command_finds(name: str) -> None:
    """`make papers` writes them."""
    written = (ROOT / "docs" / "papers" / f"{name}.inc").read_text(encoding="utf-8")
    assert included(name) == written


def test_a_statement_is_asked_for_by_name_or_kind() -> None:
    document = DOCUMENTS["elo-mmr"]
    assert [one.name for one in document.chosen("Table 2")] == ["table-2"]
    assert [one.name for one in document.chosen("tables")] == ["table-1", "table-2", "table-3"]
    assert document.chosen(None) == document.items
    with pytest.raises(InvalidParameterError, match=r"no 'table-9' .* table-1, table-2, table-3"):
        document.chosen("table-9")
    with pytest.raises(InvalidParameterError, match=r"document must be one of .*; got 'elo'"):
        documents("elo")


def test_cases_and_data_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="cases must be at least 1; got 0"):
        Facts(cases=0)
    with pytest.raises(InvalidParameterError, match="data must be an existing folder"):
        Facts(data=tmp_path / "nothing")


def test_a_folder_without_codeforces_is_refused(tmp_path: Path) -> None:
    by_name = {item.name: item for item in DOCUMENTS["elo-mmr"].items}
    with pytest.raises(InvalidParameterError, match=r"must have codeforces\.parquet"):
        list(by_name["table-1"].check(Facts(data=tmp_path)))


def test_with_the_history_at_hand_nothing_of_it_is_stored(tmp_path: Path) -> None:
    """A season under the name of the Codeforces history; times stay stored."""
    model = ContestModel(players=80, contests=40, attendance=0.2)
    season, _ = simulate_contests(model, rng=np.random.default_rng(1))
    season.file_table().write_parquet(tmp_path / "codeforces.parquet")
    facts = Facts(data=tmp_path)
    by_rho, filtered = tables.by_rho(facts), tables.filtered(facts)
    assert len(filtered) == 8
    for line in (*by_rho, *filtered):
        assert "Computed from codeforces.parquet." in line.reason
        assert "Stored" not in line.reason
    stored = [line.what for line in tables.filtered(Facts())]
    assert [line.what for line in filtered] == stored
