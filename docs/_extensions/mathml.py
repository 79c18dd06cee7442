"""Formulas as MathML, made when the pages are built: no script, no font, no network.

The converter is the one that comes with Docutils. It knows a good part of LaTeX, not all of it.
What it does not know, and what it would misread, fails the build.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

#: The converter takes the whole next run of digits for one argument: \frac12 would be 12 over what
#: follows.
_WITHOUT_BRACES = re.compile(r"\\(?:frac|sqrt|bar|hat|tilde)(?![a-z])(?!\s*[{\[])")

#: It also sets the index of a barred letter below the letter instead of beside it.
_MISPLACED_INDEX = re.compile(
    r"<munderover>(?P<letter><mi>[^<]*</mi>)"
    r"(?P<index>.*?)(?P<bar><mo [^>]*>[ˉ^~]</mo>)</munderover>"
)


def mathml(formula: str, *, as_block: bool) -> str:
    """Return a LaTeX formula as MathML. Raises : MathError."""
    unclear = _WITHOUT_BRACES.search(formula)
    if unclear:
        raise MathError(f"{unclear[0]} needs its argument in braces")
    lines = tex2mathml(formula, as_block=as_block).splitlines()
    markup = "".join(line.strip() for line in lines)
    return _MISPLACED_INDEX.sub(
        r"<msub><mover accent='true'>\g<letter>\g<bar></mover>\g<index></msub>", markup
    )


def _converted(node: nodes.Node, *, as_block: bool) -> str:
    formula = node.astext()
    try:
        return mathml(formula, as_block=as_block)
    except MathError as error:
        where = f"{node.source}:{node.line}" if node.line else str(node.source)
        raise ExtensionError(f"{where}: {error} in the formula {formula!r}") from error


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(f'<span class="math">{_converted(node, as_block=False)}</span>')
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_converted(node, as_block=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
