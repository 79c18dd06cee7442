"""Who may see and do what: keys in cookies, forms of other sites, private pools."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from equipoise.web.application import create_application
from equipoise.web.page import PAGES
from equipoise.web.settings import ServiceSettings
from trials.server import make_key
from web.asking import Running
from web.page.markup import Page


def test_a_session_is_kept_where_no_script_reads_it(site: Any) -> None:
    """HttpOnly and SameSite=Strict; Secure is for https. The key is not in it."""
    with site.visitor() as client:
        answer = client.post("/sign-in", data={"key": site.keys["admin"], "next": "/keys"})
    assert answer.headers["location"] == "/keys"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "Secure" not in cookie
    assert cookie.startswith("equipoise-session=eqs_")
    assert site.keys["admin"].split("_")[2] not in cookie


@pytest.mark.parametrize(
    ("setting", "scheme", "secure"),
    [
        ("auto", "http", False),
        ("auto", "https", True),
        ("always", "http", True),
        ("never", "https", False),
    ],
)
def test_sets_the_secure_flag(tmp_path: Path, setting: str, scheme: str, secure: bool) -> None:
    """`auto` follows the request, and so a proxy that says which scheme it was sent with."""
    database = f"sqlite:///{tmp_path / 'service.db'}"
    key = make_key(database, "admin")
    app = create_application(ServiceSettings(database=database, secure_cookies=setting))  # type: ignore[arg-type]
    with Running(app) as running:
        answer = running.request(
            "POST",
            f"{scheme}://service/sign-in",
            data={"key": key, "next": "/"},
            headers={"origin": f"{scheme}://service"},
        )
    assert answer.status_code == 303
    assert ("secure" in answer.headers["set-cookie"].lower()) is secure


def signed_in(client: httpx.Client) -> bool:
    """Return whether pages are shown as to somebody with a key."""
    return "Sign out" in Page(client.get("/").text).text


def test_signing_out_ends_the_session_itself(site: Any) -> None:
    """Whoever has copied the cookie is out as well; other sessions of the key stay."""
    with site.visitor("club") as here, site.visitor("club") as there, site.visitor() as thief:
        thief.cookies.update(here.cookies)
        assert [signed_in(one) for one in (here, there, thief)] == [True, True, True]
        token = Page(here.get("/").text).field("token")
        here.post("/sign-out", data={"token": token})
        assert [signed_in(one) for one in (here, there, thief)] == [False, True, False]


def test_signing_out_everywhere_ends_all_sessions_of_the_key(site: Any) -> None:
    with (
        site.visitor("club") as here,
        site.visitor("club") as there,
        site.visitor("judge") as judge,
    ):
        page = Page(here.get("/sign-in").text)
        assert here.post("/sign-out/everywhere", data={"token": ""}).status_code == 403
        answer = here.post("/sign-out/everywhere", data={"token": page.field("token")})
        assert answer.status_code == 303
        assert [signed_in(one) for one in (here, there, judge)] == [False, False, True]


def test_signing_in_again_ends_the_session_before(site: Any) -> None:
    with site.visitor("club") as client, site.visitor() as thief:
        thief.cookies.update(client.cookies)
        token = Page(client.get("/").text).field("token")
        fields = {"key": site.keys["club"], "next": "/", "token": token}
        assert client.post("/sign-in", data=fields).status_code == 303
        assert (signed_in(client), signed_in(thief)) == (True, False)


def test_a_session_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = f"sqlite:///{tmp_path / 'service.db'}"
    key = make_key(database, "admin")
    app = create_application(ServiceSettings(database=database, session_seconds=60.0))
    with Running(app) as running:
        origin = {"origin": "http://service"}
        fields = {"key": key, "next": "/"}
        running.request("POST", "/sign-in", data=fields, headers=origin)
        assert running.request("GET", "/keys").status_code == 200
        later = time.time_ns() // 1000 + 61_000_000
        monkeypatch.setattr("equipoise.web.http.access.now", lambda: later)
        answer = running.request("GET", "/keys")
        assert answer.headers["location"] == "/sign-in?next=%2Fkeys"
        # The browser forgets it.
        assert 'equipoise-session="";' in answer.headers["set-cookie"]


def test_wrong_keys_and_sessions_are_limited_by_address(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'service.db'}"
    key = make_key(database, "admin")
    app = create_application(ServiceSettings(database=database, failed_keys=0.1))
    with Running(app) as running:
        origin = {"origin": "http://service"}

        def sign_in(secret: str) -> int:
            fields = {"key": secret, "next": "/"}
            return running.request("POST", "/sign-in", data=fields, headers=origin).status_code

        assert [sign_in("eqp_1_wrong") for _ in range(3)] == [401, 429, 429]
        wrong = {"cookie": "equipoise-session=eqs_wrong"}
        assert running.request("GET", "/", headers=wrong).status_code == 429
        assert sign_in(key) == 303
        assert running.request("GET", "/keys").status_code == 200


@pytest.mark.parametrize("key", ["", "eqp_1_wrong", "é", "x" * 1000])
def test_a_bad_key_is_refused(anybody: httpx.Client, key: str) -> None:
    answer = anybody.post("/sign-in", data={"key": key, "next": "/"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_leads_nowhere_else(site: Any, target: str) -> None:
    with site.visitor() as client:
        answer = client.post("/sign-in", data={"key": site.keys["admin"], "next": target})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("path", ["/pools/club/leaderboard", "/pools/nowhere"])
def test_hides_whether_a_pool_exists(anybody: httpx.Client, site: Any, path: str) -> None:
    """Without a key all are asked to sign in; with a key of another pool all are refused."""
    answer = anybody.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=%2Fpools%2F")
    with site.visitor("writer") as writer:
        answer = writer.get(path)
        assert answer.status_code == 403
        assert not [link for link in Page(answer.text).links if link.startswith("/pools/")]


def test_pools_are_listed_for_those_who_may_read_them(anybody: httpx.Client, site: Any) -> None:
    assert "/pools/club" not in Page(anybody.get("/").text).links
    with site.visitor("club") as reader:
        assert "/pools/club" in Page(reader.get("/").text).links
        assert reader.get("/pools/club").status_code == 200


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        (None, "/keys", 303),
        ("club", "/pools/arena/post", 403),
        ("writer", "/pools/arena/void/m0001", 403),
        ("writer", "/pools/arena/post", 200),
        ("judge", "/keys", 403),
        (None, "/pools/arena/seasons", 200),
        (None, "/pools/club/seasons", 303),
        (None, "/pools/club/tournament", 303),
        *(
            (who, path, status)
            for path in ("/pools/arena/webhooks", "/audit?pool=arena")
            for who, status in ((None, 303), ("writer", 403), ("judge", 200), ("admin", 200))
        ),
        ("judge", "/pools/club/webhooks", 403),
        ("judge", "/audit?pool=club", 403),
        ("admin", "/pools/nowhere/webhooks", 404),
    ],
)
def test_a_role_sees_what_it_may_do(site: Any, who: str | None, path: str, status: int) -> None:
    """Readers read, writers post, admins amend, admins of all pools make keys."""
    with site.visitor(who) as client:
        assert client.get(path).status_code == status


def test_pages_and_forms_are_for_administrators_but_for_these() -> None:
    """Every page of an administrator, and whatever is sent in forms by others."""
    administrators = {page.route for page in PAGES if page.right == "admin"}
    assert {page.route for page in PAGES if page.right == "writer"} == {
        f"{method} /pools/{{pool}}/{name}"
        for method in ("GET", "POST")
        for name in ("post", "upload")
    }
    assert {page.route for page in PAGES if page.method == "POST" and page.right != "admin"} == {
        "POST /pools/{pool}/post",
        "POST /pools/{pool}/upload",
        "POST /pools/{pool}/balance",
        *(f"POST /{name}" for name in ("rebalance", "tournament", "sign-in", "theme")),
        *("POST /sign-out", "POST /sign-out/everywhere"),
    }
    pool = ("admin", "settings", "settings/entry", "seasons/end", "webhooks")
    changes = ("void", "restore", "correct", "disqualify", "reinstate", "rename")
    assert {route for route in administrators if route.startswith("GET")} == {
        *("GET /new-pool", "GET /audit", "GET /keys"),
        *(f"GET /pools/{{pool}}/{name}" for name in pool),
        *(f"GET /pools/{{pool}}/{change}/{{id:path}}" for change in changes),
    }
    keys = ("GET /keys", "POST /keys", "POST /keys/rotate", "POST /keys/revoke")
    assert {page.route for page in PAGES if page.all_pools} == {
        *("GET /new-pool", "POST /new-pool", "POST /pools/{pool}/delete", *keys)
    }


@pytest.mark.parametrize("who", [None, "club", "writer"])
def test_what_may_not_be_done_is_no_button(site: Any, who: str | None) -> None:
    with site.visitor(who) as client:
        pages = [
            client.get(f"/pools/arena/{path}").text
            for path in ("matches/m0001", "players/mio-fox", "seasons")
        ]
    for text in pages:
        assert "/end" not in text
        assert "/void/" not in text
        assert "/correct/" not in text
        assert "/disqualify/" not in text
        assert "/admin" not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
        {"referer": "https://evil.example/keys"},
        {},
    ],
)
def test_forms_of_other_sites_are_refused(site: Any, headers: dict[str, str]) -> None:
    with site.visitor("admin") as client:
        token = Page(client.get("/keys").text).field("token")
        del client.headers["origin"]
        fields = {"name": "new", "role": "reader", "token": token}
        answer = client.post("/keys", data=fields, headers=headers)
        assert answer.status_code == 403
        assert ">new<" not in client.get("/keys").text


def test_a_form_without_its_token_is_refused(admin: httpx.Client) -> None:
    for token in ("", "0" * 64, "é"):
        answer = admin.post("/keys", data={"name": "new", "role": "reader", "token": token})
        assert answer.status_code == 403


def test_a_key_is_made_shown_once_and_revoked(admin: httpx.Client, site: Any) -> None:
    token = Page(admin.get("/keys").text).field("token")
    fields = {"name": "<b>hall</b>", "role": "reader", "pool": "club", "token": token}
    made = admin.post("/keys", data=fields)
    assert made.status_code == 200
    secret = made.text.partition("<pre")[2].partition(">")[2].partition("</pre>")[0].strip()
    assert secret not in admin.get("/keys").text
    with httpx.Client(base_url=site.url, headers={"origin": site.url}) as client:
        assert client.post("/sign-in", data={"key": secret, "next": "/"}).status_code == 303
        assert client.get("/pools/club").status_code == 200
        number = secret.split("_")[1]
        rotated = admin.post("/keys/rotate", data={"key": number, "token": token})
        assert "has a new secret" in Page(rotated.text).text
        ended = admin.post("/keys/revoke", data={"key": number, "token": token})
        assert ended.status_code == 303
        assert client.get("/pools/club").status_code == 303
    assert admin.post("/keys/rotate", data={"key": number, "token": token}).status_code == 409


def test_the_page_may_ask_for_a_key_to_calculate(tmp_path: Any) -> None:
    """Tournaments and rebalancing cost time, so by default they are for those with a key."""
    from web.page.site import served

    with (
        served(f"sqlite:///{tmp_path / 'closed.db'}", calculations="key") as url,
        httpx.Client(base_url=url) as client,
    ):
        assert client.get("/tournament").headers["location"] == "/sign-in?next=%2Ftournament"
        assert client.get("/rebalance").status_code == 303
        assert "No public pools." in client.get("/").text
