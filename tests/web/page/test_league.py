"""A league run from forms alone: a new pool, an upload, results and their corrections."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from equipoise.errors import InvalidDataError
from equipoise.web.page.context import Form
from equipoise.web.page.league import pool_name, pool_of
from web.page.markup import Page
from web.page.test_forms_at_work import token

ROWS = """date,player 1,player 2,score 1,score 2
2026-10-01,Ada Fox,Bo,3,1
2026-10-08,Bo,Cy,1,1
"""


def hidden(text: str) -> dict[str, str]:
    """Return the hidden fields of a page."""
    inputs = Page(text).all("input")
    return {one["name"]: one["value"] for one in inputs if one.get("type") == "hidden"}  # type: ignore[misc]


def new_pool(client: httpx.Client, title: str, **more: str) -> str:
    """Create a pool in the browser and return its name."""
    fields = {"token": token(client, "/new-pool"), "title": title, "play": "duels", "times": "1"}
    done = client.post("/new-pool", data={**fields, "public": "1", **more})
    assert done.status_code == 303, Page(done.text).text
    return done.headers["location"].removeprefix("/pools/")


def test_three_questions_make_a_pool(admin: httpx.Client, site: Any) -> None:
    """The rest has defaults for a league that posts and corrects late."""
    pool = new_pool(admin, "Étoile: Thursday's league")
    assert pool == "etoile-thursday-s-league"
    told = site.perform("GET", f"/pools/{pool}")
    assert (told["system"], told["late"], told["public"]) == ("glicko2", "replay", True)
    assert told["title"] == "Étoile: Thursday's league"
    assert "Upload matches" in admin.get(f"/pools/{pool}").text
    fields = {"token": token(admin, "/new-pool"), "title": "Other", "play": "teams"}
    conflict = admin.post("/new-pool", data={**fields, "name": pool})
    assert conflict.status_code == 409
    assert 'value="Other"' in conflict.text


def test_only_an_administrator_of_all_pools_creates_pools(site: Any, anybody: httpx.Client) -> None:
    """Others are refused before they fill the form."""
    with site.visitor("judge") as judge:
        assert judge.get("/new-pool").status_code == 403
    assert anybody.get("/new-pool").status_code == 303


def test_wrong_answers_about_a_pool_are_named() -> None:
    """A title needs letters or digits, from which the name is made."""
    assert pool_name("  Ünder 18 / Nord ") == "under-18-nord"
    for fields in ({"title": "!!!", "play": "duels"}, {"title": "a", "play": "chess"}):
        with pytest.raises(InvalidDataError):
            pool_of(Form({name: [value] for name, value in fields.items()}))
    name, request = pool_of(Form({"title": ["Cup"], "play": ["contests"], "entry": ["learned"]}))
    assert (name, request.system, request.parameters) == ("cup", "elo-mmr", {"entry": "learned"})


def test_a_file_is_uploaded_without_scripts_and_again_changes_nothing(
    admin: httpx.Client, site: Any
) -> None:
    """The preview keeps the file, which a form without scripts forgets."""
    pool = new_pool(admin, "Uploads")
    site.wait_until(pool, lambda told: told["kernels"] == "ready")
    path = f"/pools/{pool}/upload"
    fields = {"token": token(admin, path)}
    file = {"file": ("week 1.csv", ROWS.encode(), "text/csv")}
    preview = admin.post(path, data=fields, files=file)
    assert preview.status_code == 200
    text = Page(preview.text).text
    for words in ("week 1.csv", "2 new matches", "3 newcomers", "Post 2 matches"):
        assert words in text
    assert site.perform("GET", f"/pools/{pool}")["matches"] == 0
    kept = hidden(preview.text)
    assert kept["name"] == "week 1.csv"
    seen = re.search(r'name="do" value="([0-9a-f]{64})"', preview.text)
    assert seen is not None
    fields = {**fields, "held": kept["held"], "name": kept["name"], "do": seen[1]}
    done = admin.post(path, data=fields)
    assert done.status_code == 303
    assert "2 matches were posted" in admin.get(done.headers["location"]).text
    again = admin.post(path, data=fields)
    assert again.status_code == 200
    assert "Nothing to post" in again.text
    assert site.perform("GET", f"/pools/{pool}")["matches"] == 2


def test_an_upload_that_is_not_understood_names_its_lines(admin: httpx.Client) -> None:
    """Nothing, a packed file, a wrong cell, a copy that was changed."""
    path = "/pools/arena/upload"
    fields = {"token": token(admin, path)}
    for more in ({}, {"held": "?"}, {"held": "AAAA"}):
        assert admin.post(path, data={**fields, **more}).status_code == 422
    zipped = {"file": ("a.zip", b"PK\x03\x04....", "x/y")}
    assert admin.post(path, data=fields, files=zipped).status_code == 422
    wrong = admin.post(path, data={**fields, "matches": ROWS.replace("3,1", "3,x")})
    assert "line 2" in Page(wrong.text).text
    assert "Post " not in [one.strip() for one in Page(wrong.text).texts]
