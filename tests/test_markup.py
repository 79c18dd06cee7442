"""Markup: whatever is put into an element is text, and what comes out is well formed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from equipoise.markup import decimals, element, escaped, joined, lines


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn")), max_size=30))
def test_any_text_is_read_back_as_it_was(text: str) -> None:
    """As content and as an attribute, by an XML parser."""
    found = ElementTree.fromstring(element("p", text, title=text))
    assert found.text == (text or None)
    assert found.get("title") == text


def test_what_no_page_can_hold_is_replaced() -> None:
    """Control characters and halves of surrogate pairs, which UTF-8 has no bytes for."""
    assert escaped("a\x00b\x1b\ud800c\x7f\x9b\tñ") == "a\ufffdb\ufffd\ufffdc\ufffd\ufffd\tñ"
    escaped("a\ud800").encode()


def test_markup_stays_and_text_is_escaped() -> None:
    inner = element("b", "a<b & c")
    assert inner == "<b>a&lt;b &amp; c</b>"
    assert element("p", inner, " < ", [inner, ">"]) == f"<p>{inner} &lt; {inner}&gt;</p>"
    assert isinstance(joined("a", Markup("<i>b</i>")), Markup)
    assert joined("a", None, ["b", "c"], by=" & ") == "a &amp; b &amp; c"
    assert lines("a", "b") == "a\nb"


def test_attributes_are_named_as_in_html() -> None:
    mark = element("line", class_="a", aria_hidden="true", viewBox=1.005, x=2.0, id=None)
    assert mark == '<line class="a" aria-hidden="true" viewBox="1" x="2" />'
    assert element("td", class_='"><script>') == '<td class="&quot;&gt;&lt;script&gt;"></td>'


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.001, "0"), (1.239, "1.24"), (-2.5, "-2.5"), (100.0, "100"), (7, "7")],
)
def test_numbers_are_written_short(value: float, text: str) -> None:
    assert decimals(value) == text
