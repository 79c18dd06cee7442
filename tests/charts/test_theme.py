"""The look of all charts: colours that everybody can tell apart, files that are the same bytes."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from equipoise.charts import theme
from equipoise.errors import InvalidParameterError

#: Machado, Oliveira and Fernandes 2009, "A physiologically-based model for simulation of color
#: vision deficiency", severity 1.0, on linear RGB.
VISION = {
    "full": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
#: Linear sRGB to XYZ, divided by the white of D65.
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.9505], [1.0], [1.089]])


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(light, 0, 1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(colour: str, page: str = "#ffffff") -> float:
    """Contrast of two colours by WCAG 2."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(one)) for one in (colour, page))
    return (high + 0.05) / (low + 0.05)


def nearest(colours: Sequence[str], vision: str) -> float:
    """Least distance of any two colours in CIE L*a*b*, as seen with this vision."""
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in colours]
    return float(min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)))


@pytest.mark.parametrize("shades", [{}, theme.DARK], ids=["light", "dark"])
def test_everybody_can_tell_colours_apart_and_from_the_page(shades: dict[str, str]) -> None:
    """A distance of 10 is noticed at a glance, 20 is plain; WCAG 2 asks for contrasts of 3 and 4.5.

    3 : 1 is for graphics, and 4.5 : 1 for text.
    """
    palette = [shades.get(colour, colour) for colour in theme.PALETTE]
    words = [shades.get(one, one) for one in (*theme.WORDS, theme.INK, theme.MUTED)]
    page = shades.get(theme.PAGE, theme.PAGE)
    assert all(nearest(palette, vision) > 20 for vision in VISION)
    assert min(contrast(colour, page) for colour in palette) >= 3
    assert min(contrast(colour, page) for colour in words) >= 4.5
    assert len(theme.WORDS) == len(theme.PALETTE)


@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%P")]
)
def test_the_same_figure_gives_the_same_bytes(kind: str, start: bytes) -> None:
    files = []
    for _ in range(2):
        with theme.style():
            figure, axes = theme.new_figure("A title", "of something")
            axes.fill_between([1, 2, 3], [1, 2, 1], [3, 3, 3])
            theme.fit_axes(figure, axes)
        file = io.BytesIO()
        theme.save(figure, file, kind)
        files.append(file.getvalue())
    assert files[0].startswith(start)
    assert files[0] == files[1]


def test_long_titles_are_wrapped_into_the_figure() -> None:
    with theme.style():
        figure, _ = theme.new_figure("many players " * 20, "and many words " * 30, theme.Size(4, 4))
        edge = figure.get_window_extent().x1
        assert len(figure.texts) == 2
        assert all(text.get_window_extent().x1 <= edge for text in figure.texts)


def test_axes_side_by_side_share_the_width() -> None:
    with theme.style():
        figure, left = theme.new_figure("a", "b")
        right = figure.add_axes(left.get_position())
        theme.fit_axes(figure, [left, right])
    one, other = left.get_position(), right.get_position()
    assert one.width == pytest.approx(other.width)
    assert one.x1 < other.x0 < other.x1 < 1


def test_the_suffix_tells_the_kind_of_file() -> None:
    assert theme.file_kind("a/b.SVG") == "svg"
    with pytest.raises(InvalidParameterError, match=r"ends in \.svg, \.png, \.pdf"):
        theme.file_kind("chart.gif")


def test_the_style_does_not_outlive_its_block() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with theme.style():
        theme.new_figure("a", "b")
        assert mpl.rcParams["svg.hashsalt"] == "equipoise"
    assert dict(mpl.rcParams) == before
