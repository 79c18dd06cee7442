"""The notebooks in `examples/notebooks`: valid, stored without output, and every cell works."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

#: What the cells of each notebook show among other things, in order.
SHOWN = {
    "fair_teams": ["trueskill", "hal", "gus", "ada, dia"],
    "league": [
        "1,080 matches",
        "glicko2",
        "PNG",
        "this match",
        "baseline",
        "PNG",
        "pair_inversion",
    ],
    "tournament": ["276 results", "Fischer", "PNG", "Fischer", "Qatar", "Argentina"],
}


def content(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_of(path: Path) -> list[str]:
    cells = content(path)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def shown(value: object) -> str:
    """Return what Jupyter shows of the last value of a cell; a figure is drawn."""
    if value is None:
        return ""
    if hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, format="png")
        return file.getvalue()[1:4].decode()
    if hasattr(value, "_repr_html_"):
        found: str = value._repr_html_()
        return found
    return repr(value)


def run(cells: list[str]) -> list[str]:
    """Run cells in one namespace, and return what each shows.

    A kernel of Jupyter does the same and more, which these notebooks do not use: magics, `await`
    and widgets.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for number, cell in enumerate(cells, start=1):
        tree = ast.parse(cell)
        last = tree.body[-1]
        value = None
        if isinstance(last, ast.Expr):
            head = ast.Module(tree.body[:-1], [])
            exec(compile(head, f"cell {number}", "exec"), names)
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        else:
            exec(compile(tree, f"cell {number}", "exec"), names)
        outputs.append(shown(value))
    return outputs


@every
def test_every_cell_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the notebooks, as Jupyter starts there."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.chdir(FOLDER)
    outputs = run(code_of(path))
    after = iter(outputs)
    missing = [word for word in SHOWN[path.stem] if not any(word in text for text in after)]
    assert missing == [], outputs
    # Long output is cut by nobody when the notebook is read on a page.
    assert max(len(text) for text in outputs) < 20_000


@every
def test_it_is_linked_and_valid_without_output_or_paths_of_a_machine(path: Path) -> None:
    """nbformat 4.5: what its schema demands of the two kinds of cells."""
    guide = (FOLDER.parents[1] / "docs" / "guides" / "notebooks.md").read_text(encoding="utf-8")
    assert f"examples/notebooks/{path.name}" in guide
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(home|Users|root|work|tmp)/|\\\\Users", text)
    found = content(path)
    assert set(found) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert found["metadata"]["kernelspec"] == {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
    for cell in found["cells"]:
        assert cell["metadata"] == {}
        assert all(isinstance(line, str) for line in cell["source"])
        fields = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            fields |= {"execution_count", "outputs"}
            assert (cell["execution_count"], cell["outputs"]) == (None, [])
        else:
            assert cell["cell_type"] == "markdown"
        assert set(cell) == fields
