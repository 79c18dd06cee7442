"""The look of all charts: colours that everybody can tell apart, files that are the same bytes."""

from __future__ import annotations

import io

import pytest

from charts.colours_seen import VISION, contrast, nearest
from equipoise.charts import theme
from equipoise.errors import InvalidParameterError


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
