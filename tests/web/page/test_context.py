"""Who may see and do what: keys in cookies, forms of other sites, private pools."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from web.page.markup import Page


def test_a_key_is_kept_where_no_script_reads_it(site: Any) -> None:
    """HttpOnly and SameSite=Strict; Secure is for https."""
    with site.visitor() as client:
        answer = client.post("/sign-in", data={"key": site.keys["admin"], "next": "/keys"})
    assert answer.headers["location"] == "/keys"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "Secure" not in cookie


@pytest.mark.parametrize("key", ["", "x", "eqp_1_wrong", "é", "x" * 1000, "a\nb"])
def test_a_bad_key_is_refused(anybody: httpx.Client, key: str) -> None:
    """The page says so, and no cookie is set."""
    answer = anybody.post("/sign-in", data={"key": key, "next": "/"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_leads_nowhere_else(site: Any, target: str) -> None:
    """Only to paths of this site."""
    with site.visitor() as client:
        answer = client.post("/sign-in", data={"key": site.keys["admin"], "next": target})
    assert answer.headers["location"] == "/"


def test_signing_out_forgets_the_key(admin: httpx.Client) -> None:
    """The next page is anybody's."""
    token = Page(admin.get("/").text).field("token")
    assert admin.post("/sign-out", data={"token": token}).status_code == 303
    assert "Sign in" in Page(admin.get("/").text).text


@pytest.mark.parametrize("path", ["/pools/club", "/pools/club/leaderboard", "/pools/nowhere"])
def test_nobody_learns_whether_a_private_pool_exists(
    anybody: httpx.Client, site: Any, path: str
) -> None:
    """Without a key all are asked to sign in; with a key of another pool all are refused."""
    answer = anybody.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=%2Fpools%2F")
    with site.visitor("writer") as writer:
        assert writer.get(path).status_code == 403


def test_pools_are_listed_for_those_who_may_read_them(anybody: httpx.Client, site: Any) -> None:
    """Public ones for everybody."""
    assert "/pools/club" not in Page(anybody.get("/").text).links
    with site.visitor("club") as reader:
        assert "/pools/club" in Page(reader.get("/").text).links
        assert reader.get("/pools/club").status_code == 200


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        (None, "/pools/arena/admin", 303),
        (None, "/keys", 303),
        ("club", "/pools/arena/post", 403),
        ("writer", "/pools/arena/admin", 403),
        ("writer", "/pools/arena/void/m0001", 403),
        ("writer", "/pools/arena/post", 200),
        ("judge", "/pools/arena/admin", 200),
        ("judge", "/keys", 403),
        (None, "/pools/arena/seasons", 200),
        (None, "/pools/club/seasons", 303),
        ("club", "/pools/club/seasons", 200),
        ("writer", "/pools/club/seasons", 403),
        *(
            (who, path, status)
            for path in ("/pools/arena/seasons/end", "/pools/arena/webhooks", "/audit?pool=arena")
            for who, status in (
                (None, 303),
                ("club", 403),
                ("writer", 403),
                ("judge", 200),
                ("admin", 200),
            )
        ),
        ("judge", "/pools/club/seasons/end", 403),
        ("judge", "/pools/club/webhooks", 403),
        ("judge", "/audit?pool=club", 403),
        ("judge", "/audit", 200),
        ("admin", "/pools/nowhere/webhooks", 404),
        ("admin", "/keys", 200),
    ],
)
def test_a_role_sees_what_it_may_do(site: Any, who: str | None, path: str, status: int) -> None:
    """Readers read, writers post, admins amend, admins of all pools make keys."""
    with site.visitor(who) as client:
        assert client.get(path).status_code == status


@pytest.mark.parametrize("who", [None, "club", "writer"])
def test_what_may_not_be_done_is_no_button(site: Any, who: str | None) -> None:
    """Neither on matches nor on players nor among the tabs."""
    with site.visitor(who) as client:
        pages = [
            client.get(path).text
            for path in ("/pools/arena/matches/m0001", "/pools/arena/players/mio-fox")
        ]
    for text in pages:
        assert "/void/" not in text
        assert "/correct/" not in text
        assert "/disqualify/" not in text
        assert "/admin" not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {},
    ],
)
def test_forms_of_other_sites_are_refused(site: Any, headers: dict[str, str]) -> None:
    """Whatever they say they are, and those that do not say."""
    with site.visitor("admin") as client:
        token = Page(client.get("/keys").text).field("token")
        del client.headers["origin"]
        fields = {"name": "new", "role": "reader", "token": token}
        answer = client.post("/keys", data=fields, headers=headers)
        assert answer.status_code == 403
        assert ">new<" not in client.get("/keys").text


def test_a_form_without_its_token_is_refused(admin: httpx.Client) -> None:
    """The token belongs to the key that is signed in."""
    for token in ("", "0" * 64, "é"):
        answer = admin.post("/keys", data={"name": "new", "role": "reader", "token": token})
        assert answer.status_code == 403


def test_a_key_is_made_shown_once_and_revoked(admin: httpx.Client, site: Any) -> None:
    """Whoever signed in with it is then out."""
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
        ended = admin.post("/keys/revoke", data={"key": number, "token": token})
        assert ended.status_code == 303
        assert client.get("/pools/club").status_code == 303


def test_too_large_a_form_is_refused(anybody: httpx.Client) -> None:
    """Before it is all read."""
    answer = anybody.post("/tournament", data={"games": "x" * 11_000_000})
    assert answer.status_code == 413


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
