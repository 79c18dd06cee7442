"""How Sphinx builds these pages; nothing here or in the pages needs a network."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Equipoise"
author = "The Equipoise developers"
project_copyright = author
version = release = version_of("equipoise")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinxcontrib.bibtex",
    "citation_keys",
    "docstring_style",
    "mathml",
]
exclude_patterns = ["_build", "_extensions"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "Equipoise"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
# Dashes only: quotation marks stay as they are typed.
smartquotes_action = "D"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
math_eqref_format = "({number})"

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "key_labels"
bibtex_reference_style = "label"

default_role = "literal"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_type_aliases = {
    **{name: f"equipoise.arrays.{name}" for name in ("Flags", "Floats", "Ids", "Ints")},
    **{name: f"equipoise.rating.system.{name}" for name in ("RatingColumns", "TraceColumns")},
    "System": "equipoise.rating.base_system.System",
}
python_maximum_signature_line_length = 88

nitpicky = True
nitpick_ignore_regex = [
    # Other projects' names; links to their pages would need a network.
    ("py:.*", "date|datetime"),
    # Type variables have no page.
    ("py:.*", r"equipoise\.rating\.one_call\.\w+\._Name"),
    ("py:.*", r"(collections|concurrent|datetime|numpy|np|pl|polars|typing|os|types)\..*"),
    # What a value keeps for itself.
    ("py:class", r"equipoise\..*\._\w+"),
    # That of matplotlib, which is imported for type checkers only.
    ("py:class", "Figure"),
    # Names of types whose values the docstrings list.
    ("py:class", "DrawProbability|MarginRule"),
]

doctest_global_setup = "import equipoise as eq"
