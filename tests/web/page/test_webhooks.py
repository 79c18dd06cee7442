"""Webhooks on the page: created, tested, disabled, enabled, deleted, and their state."""

from __future__ import annotations

import re
from typing import Any

import pytest

from equipoise.errors import InvalidDataError
from equipoise.messages.pools import PoolRequest
from equipoise.messages.upkeep import WebhookRequest
from equipoise.web.page.administration import webhook_of
from equipoise.web.page.context import Form
from web.inbox import Inbox, eventually
from web.page import invented
from web.page.markup import Page
from web.page.test_forms_at_work import token
from web.page.test_pages import look

LEAGUE = PoolRequest(system="elo", public=True)


def test_a_webhook_is_made_tried_and_disabled(site: Any) -> None:
    """Its secret is shown once; what it is told, and that it is disabled, is shown for good."""
    pool = site.new_pool("hooked", LEAGUE)
    path = f"/pools/{pool}/webhooks"
    with site.visitor(f"{pool} admin") as judge, Inbox() as inbox:
        given = token(judge, path)
        fields = {"url": inbox.url, "event": ["match.rated", "season.ended"], "token": given}
        made = judge.post(path, data=fields)
        assert made.status_code == 200, made.text
        secret = re.search(r"whsec_[^<\s]+", made.text)
        assert secret is not None
        page = look(judge, path)
        assert secret[0] not in judge.get(path).text
        assert "ready" in page.texts
        assert "match.rated, season.ended" in page.text
        number = page.field("webhook")
        chosen = {"webhook": number, "token": given}
        tried = judge.post(f"{path}/test", data=chosen)
        assert "accepted the test message" in tried.text
        assert inbox.taken[0]["type"] == "webhook.test"
        assert site.ask("POST", f"/pools/{pool}/matches", _duel("1")).status_code == 200
        inbox.waits_for(2)
        eventually(lambda: ">works<" in judge.get(path).text)
        ended = judge.post(f"{path}/disable", data=chosen)
        assert ended.headers["location"] == path
        page = look(judge, path)
        assert "disabled" in page.texts
        actions = [one["formaction"] for one in page.all("button") if "formaction" in one]
        assert actions == [f"{path}/enable", f"{path}/delete"]
        assert judge.post(f"{path}/enable", data=chosen).headers["location"] == path
        page = look(judge, path)
        assert "disabled" not in page.texts
        actions = [one["formaction"] for one in page.all("button") if "formaction" in one]
        assert actions == [f"{path}/test", f"{path}/disable"]
        assert judge.post(f"{path}/delete", data=chosen).headers["location"] == path
        assert "No webhooks yet." in look(judge, path).text


def test_a_webhook_that_the_service_disabled_says_why(site: Any) -> None:
    pool = site.new_pool("gone", LEAGUE)
    path = f"/pools/{pool}/webhooks"
    with site.visitor(f"{pool} admin") as judge, Inbox(answers=[410]) as inbox:
        fields = {"url": inbox.url, "event": "match.rated", "token": token(judge, path)}
        assert judge.post(path, data=fields).status_code == 200
        site.ask("POST", f"/pools/{pool}/matches", _duel("1"))
        eventually(lambda: "disabled" in Page(judge.get(path).text).texts)
        assert "Disabled by the service: the receiver has answered 410" in look(judge, path).text
        text = look(judge, f"/audit?pool={pool}").text
        assert "Reason: the receiver has answered 410 Gone" in text
        assert "the service" in text


def test_a_receiver_that_fails_is_said_with_what_waits(site: Any) -> None:
    pool = site.new_pool("deaf", LEAGUE)
    path = f"/pools/{pool}/webhooks"
    with site.visitor(f"{pool} admin") as judge, Inbox(answers=[503] * 50) as inbox:
        fields = {"url": inbox.url, "event": "match.rated", "token": token(judge, path)}
        assert judge.post(path, data=fields).status_code == 200
        for number in ("1", "2"):
            site.ask("POST", f"/pools/{pool}/matches", _duel(number))
        eventually(lambda: "failing" in Page(judge.get(path).text).texts)
        text = look(judge, path).text
        assert "in a row" in text
        assert "the answer was 503" in text
        assert "2 events waiting" in text
        assert "next attempt" in text


def _duel(match: str) -> dict[str, Any]:
    teams = [{"players": ["ana"], "rank": 1}, {"players": ["bo"], "rank": 2}]
    return {"match": match, "teams": teams, "time": invented.START}


def test_webhooks_of_other_pools_cannot_be_changed(site: Any) -> None:
    pool = site.new_pool("others", LEAGUE)
    made = site.perform("POST", f"/pools/{pool}/webhooks", {"url": "https://example.org"})
    number = str(made["webhook"]["webhook"])
    with site.visitor("judge") as judge:
        fields = {"webhook": number, "token": token(judge, "/pools/arena/webhooks")}
        for action in ("disable", "enable", "delete", "test"):
            assert judge.post(f"/pools/{pool}/webhooks/{action}", data=fields).status_code == 403
            assert judge.post(f"/pools/arena/webhooks/{action}", data=fields).status_code == 404


def test_what_makes_no_webhook_is_refused_beside_the_form(site: Any) -> None:
    pool = site.new_pool("unhooked", LEAGUE)
    path = f"/pools/{pool}/webhooks"
    with site.visitor(f"{pool} admin") as judge:
        fields = {"url": "ftp://<b>", "event": "match.rated", "token": token(judge, path)}
        wrong = judge.post(path, data=fields)
        assert wrong.status_code == 422
        assert Page(wrong.text).field("url") == "ftp://<b>"
        ticked = [one["value"] for one in Page(wrong.text).all("input") if "checked" in one]
        assert ticked == ["match.rated"]
        chosen = {"webhook": "x", "token": fields["token"]}
        assert judge.post(f"{path}/disable", data=chosen).status_code == 422


def test_a_form_becomes_a_request() -> None:
    url = ["https://example.org"]
    found = webhook_of(Form({"url": url, "event": ["season.ended"]}))
    assert found == WebhookRequest(url="https://example.org", events=["season.ended"])
    for wrong in (
        {"url": [""], "event": ["season.ended"]},
        {"url": url},
        {"url": url, "event": ["season.ended", "other"]},
    ):
        with pytest.raises(InvalidDataError):
            webhook_of(Form(wrong))
