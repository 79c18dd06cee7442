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
from web.conftest import duel
from web.inbox import Inbox, eventually
from web.page import invented
from web.page.markup import Page, look
from web.page.test_forms_at_work import token

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
        assert (
            site.ask("POST", f"/pools/{pool}/matches", duel("1", time=invented.START)).status_code
            == 200
        )
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


def test_what_fails_is_said_with_what_waits_or_why_it_was_disabled(site: Any) -> None:
    """Of a receiver that answers 503, and of one that answers 410."""
    for status, state, words in (
        (503, "failing", ("in a row", "the answer was 503", "2 events waiting", "next attempt")),
        (410, "disabled", ("Disabled by the service: the receiver has answered 410",)),
    ):
        pool = site.new_pool("deaf", LEAGUE)
        path = f"/pools/{pool}/webhooks"
        with site.visitor(f"{pool} admin") as judge, Inbox(answers=[status] * 50) as inbox:
            fields = {"url": inbox.url, "event": "match.rated", "token": token(judge, path)}
            assert judge.post(path, data=fields).status_code == 200
            for number in ("1", "2"):
                site.ask("POST", f"/pools/{pool}/matches", duel(number, time=invented.START))
            eventually(lambda: state in Page(judge.get(path).text).texts)  # noqa: B023
            text = look(judge, path).text
            assert [one for one in words if one not in text] == []
            log = look(judge, f"/audit?pool={pool}").text
    assert "Reason: the receiver has answered 410 Gone" in log
    assert "the service" in log


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
