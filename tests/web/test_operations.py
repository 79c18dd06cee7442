"""Seasons, webhooks and the audit log over HTTP: who may, and what is answered."""

from __future__ import annotations

from typing import Any

from web.conftest import Serve, Served, duel
from web.inbox import Inbox


def season(served: Served, pool: str, name: str, **more: Any) -> Any:
    return served.post(f"/v1/pools/{pool}/seasons", {"season": name, **more})


def test_a_season_ends_and_its_archive_is_read_with_the_same_keys(served: Served) -> None:
    """The key of a pool reads its earlier seasons, and no other pool; nobody posts there."""
    pool = served.pool()
    own, other = served.key("writer", pool), served.key("writer", served.pool())
    assert served.post(f"/v1/pools/{pool}/matches", duel("1"), own).status_code == 200
    told = season(served, pool, "s1", reset="soft", keep=0.5)
    assert told.status_code == 200, told.text
    assert season(served, pool, "s1", reset="soft", keep=0.5).json() == told.json()
    assert season(served, pool, "s1", keep=0.1).status_code == 409
    archive = told.json()["archive"]
    assert archive == f"{pool}.s1"
    assert served.get(f"/v1/pools/{archive}/leaderboard", own).json()["players_in_pool"] == 2
    assert served.get(f"/v1/pools/{archive}/leaderboard", other).status_code == 403
    assert served.post(f"/v1/pools/{archive}/matches", duel("2"), own).status_code == 409
    listed = served.get(f"/v1/pools/{pool}/seasons", own).json()
    assert listed == {"seasons": [told.json()]}
    names = {one["pool"] for one in served.get("/v1/pools", own).json()["pools"]}
    assert {pool, archive} <= names


def test_the_end_of_a_season_is_shown_before_it_is_done(served: Served) -> None:
    """What is shown is what is then done; nothing is done, and only administrators may look."""
    pool = served.pool()
    path = f"/v1/pools/{pool}/seasons"
    served.post(f"/v1/pools/{pool}/matches", duel("1"))
    request = {"season": "s1", "reset": "soft", "keep": 0.25}
    shown = served.post(f"{path}?preview=true", request)
    assert shown.status_code == 200, shown.text
    assert served.get(path).json() == {"seasons": []}
    assert served.post(f"{path}?preview=perhaps", request).status_code == 422
    done = served.post(path, request).json()
    for name in ("archive", "players", "matches", "keep"):
        assert shown.json()[name] == done[name], name


def test_a_webhook_is_created_tested_disabled_enabled_and_deleted(serve: Serve) -> None:
    """Its secret is shown once. It receives what the answer to the post says."""
    served = serve(private_webhooks=True, webhook_seconds=2.0)
    pool = served.pool()
    path = f"/v1/pools/{pool}/webhooks"
    with Inbox() as inbox:
        made = served.post(path, {"url": inbox.url, "events": ["match.rated"]}).json()
        assert made["secret"].startswith("whsec_")
        number = made["webhook"]["webhook"]
        posted = served.post(f"/v1/pools/{pool}/matches", duel("1")).json()
        (told,) = inbox.waits_for(1)
        assert (told["type"], told["pool"], told["data"]) == ("match.rated", pool, posted)
        tried = served.post(f"{path}/{number}/test").json()
        assert (tried["delivered"], tried["status"]) == (True, 200)
        assert inbox.taken[1]["type"] == "webhook.test"
        (listed,) = served.get(path).json()["webhooks"]
        assert (listed["webhook"], listed["failures"], listed["disabled"]) == (number, 0, None)
        assert "secret" not in listed
        ended = served.post(f"{path}/{number}/disable").json()
        assert ended["disabled"] is not None
        assert ended["disabled_because"] is None
        assert served.post(f"{path}/{number}/disable").json() == ended
        assert served.post(f"{path}/{number}/test").status_code == 409
        enabled = served.post(f"{path}/{number}/enable").json()
        assert (enabled["disabled"], enabled["waiting"]) == (None, 0)
        gone = served.ask("DELETE", f"{path}/{number}").json()
        assert (gone["webhook"], gone["disabled"] is None) == (number, False)
        assert served.get(path).json() == {"webhooks": []}
        assert served.ask("DELETE", f"{path}/{number}").status_code == 404


def test_webhooks_belong_to_their_pool_and_lead_outside(served: Served) -> None:
    pool, other = served.pool(), served.pool()
    path = f"/v1/pools/{pool}/webhooks"
    made = served.post(path, {"url": "https://example.org/hook"})
    assert len(made.json()["webhook"]["events"]) == 3
    number = made.json()["webhook"]["webhook"]
    assert served.ask("DELETE", f"/v1/pools/{other}/webhooks/{number}").status_code == 404
    for wrong in ("0", "x", "99999999999", "12345"):
        assert served.ask("DELETE", f"{path}/{wrong}").status_code == 404
    assert served.post(path, {"url": "http://localhost/"}).status_code == 422


def test_what_administrators_do_is_written_down(served: Served) -> None:
    """With the key that did it and without secrets; the key of a pool sees its own pool."""
    pool = served.pool()
    own = served.key("admin", pool)
    served.post(f"/v1/pools/{pool}/matches", duel("1"))
    key = served.post("/v1/keys", {"name": "game", "role": "writer", "pool": pool}).json()
    number = key["key"]["key"]
    served.post(f"/v1/keys/{number}/revoke")
    hook = served.post(f"/v1/pools/{pool}/webhooks", {"url": "https://example.org/hook"}).json()
    number_of_hook = hook["webhook"]["webhook"]
    for action in ("disable", "enable"):
        served.post(f"/v1/pools/{pool}/webhooks/{number_of_hook}/{action}")
    served.ask("DELETE", f"/v1/pools/{pool}/webhooks/{number_of_hook}")
    served.post(f"/v1/pools/{pool}/replay")
    served.post(f"/v1/pools/{pool}/matches/1/void?wait=20", {"reason": "no show"})
    served.post(f"/v1/pools/{pool}/matches/1/void", {"reason": "again"})
    assert season(served, pool, "s1").status_code == 200
    page = served.get("/v1/audit", own)
    entries = page.json()["entries"]
    assert [one["what"] for one in entries] == [
        "season.ended",
        "amendment.recorded",
        "pool.rerate",
        "webhook.deleted",
        "webhook.enabled",
        "webhook.disabled",
        "webhook.created",
        "key.revoked",
        "key.created",
        "key.created",
        "pool.created",
    ]
    assert {one["pool"] for one in entries} == {pool}
    assert len({one["key"] for one in entries} - {None}) == 1
    assert entries[1]["detail"]["reason"] == "no show"
    assert entries[1]["subject"] == "1"
    assert entries[8]["subject"] == str(number)
    assert key["secret"] not in page.text
    assert hook["secret"] not in page.text
    first = served.get("/v1/audit", own, params={"limit": 4, "pool": pool}).json()
    rest = served.get("/v1/audit", own, params={"limit": 9, "cursor": first["next"]}).json()
    assert first["entries"] + rest["entries"] == entries
    assert rest["next"] is None


def test_known_ratings_and_profiles_are_written_down(served: Served) -> None:
    path = f"/v1/pools/{served.pool()}"
    served.put(f"{path}/initial-ratings", {"ratings": [{"player": "a", "rating": 1600}]})
    served.put(f"{path}/profiles", {"profiles": [{"player": "a", "name": "Ann"}]})
    entries = served.get("/v1/audit", params={"limit": 3}).json()["entries"]
    actions = ["profiles.set", "initial_ratings.set", "pool.created"]
    assert [entry["what"] for entry in entries] == actions
    assert len({(entry["key"], entry["pool"]) for entry in entries}) == 1
