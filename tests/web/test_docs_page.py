"""The page about the API needs nothing beside itself and obeys its own policy."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from xml.etree import ElementTree

from equipoise.web.api import ENDPOINTS
from equipoise.web.openapi import docs_page, openapi_document

PAGE, POLICY = docs_page(openapi_document(ENDPOINTS))


def test_it_is_well_formed_and_every_link_within_it_leads_somewhere() -> None:
    root = ElementTree.fromstring(PAGE.partition("\n")[2])
    names = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(set(names)) == len(names)
    inner = {
        one.get("href", "")[1:] for one in root.iter("a") if one.get("href", "").startswith("#")
    }
    assert inner <= set(names)


def test_every_endpoint_is_on_it() -> None:
    for endpoint in ENDPOINTS:
        assert f'id="{endpoint.name}"' in PAGE
        assert f"{endpoint.method} {endpoint.path}" in PAGE


def test_it_runs_nothing_and_fetches_nothing() -> None:
    """No script, no address elsewhere, and a policy that allows its own style alone."""
    assert "<script" not in PAGE
    assert not re.search(r"(src|href)=\"(?!#|/openapi\.json)", PAGE)
    assert "url(" not in PAGE
    (style,) = re.findall(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in POLICY
    assert "unsafe" not in POLICY
    assert " style=" not in PAGE
