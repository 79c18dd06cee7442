"""Pages of administrators: sessions, keys, pools, seasons, webhooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

from msgspec import UNSET, structs
from starlette.responses import Response

from equipoise.errors import ConflictError, EquipoiseError
from equipoise.messages.pools import (
    PoolChange,
    PoolMessage,
    SeasonRequest,
    Tier,
    TierPreset,
)
from equipoise.messages.upkeep import (
    AuditEntry,
    AuditPage,
    EventKind,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    Role,
    RotationRequest,
    WebhookRequest,
)
from equipoise.pools import amending, seasons, webhooks
from equipoise.pools.pool import access, pools
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.pool.rules import resolved
from equipoise.pools.pool.settings import change_settings, pool_as_wanted
from equipoise.rating.newcomers import ENTRY_PARAMETERS, EntryParameters
from equipoise.store.connection import Store
from equipoise.store.keys import end_session, end_sessions, open_session
from equipoise.store.schema import now
from equipoise.web.http.access import SESSION_COOKIE, audited_pool, rules_all_pools
from equipoise.web.page.context import (
    SIGN_IN,
    THEME_COOKIE,
    Form,
    PageContext,
    digest,
    safe_target,
    wrong,
)
from equipoise.web.page.matches import KINDS
from equipoise.web.page.rendering import path

_YEAR = 365 * 86_400  # seconds
#: Actions on a page of the audit log.
PAGE_SIZE = 50


async def sign_in_page(context: PageContext) -> Response:
    """Return the form that signs in, or how a browser that is signed in signs out."""
    return context.render("sign_in.html", next=safe_target(context.parameter("next", "/")))


async def sign_in(context: PageContext) -> Response:
    """Begin a session; its cookie cannot be read by scripts and does not contain the key."""
    form = await context.form(SIGN_IN)
    secret, target = form.text("key"), safe_target(form.text("next", "/"))
    settings, service = context.service.settings, context.service
    opened = None
    # A wrong key must not cause a write.
    if await service.access.of_secret(secret, context.request.scope) is not None:
        lifetime = round(settings.session_seconds * 1_000_000)
        opened = await service.change_session(open_session, secret, now(), lifetime)
    if opened is None:
        return context.render("sign_in.html", service.access.invalid_key(), next=target)
    if context.key is not None:
        await service.change_session(end_session, context.request.cookies[SESSION_COOKIE])
    answer = context.redirect(target)
    encrypted = context.request.url.scheme == "https"
    answer.set_cookie(
        SESSION_COOKIE,
        opened[1],
        httponly=True,
        samesite="strict",
        secure={"auto": encrypted, "always": True, "never": False}[settings.secure_cookies],
    )
    return answer


async def sign_out(context: PageContext) -> Response:
    """End the session."""
    await context.form()
    if context.key is not None:
        await context.service.change_session(end_session, context.request.cookies[SESSION_COOKIE])
    return _signed_out(context)


async def sign_out_everywhere(context: PageContext) -> Response:
    """End all sessions of the key."""
    await context.form()
    if context.key is not None:
        await context.service.change_session(end_sessions, context.key.id)
    return _signed_out(context)


def _signed_out(context: PageContext) -> Response:
    answer = context.redirect("/")
    context.delete_session_cookie(answer)
    return answer


async def choose_theme(context: PageContext) -> Response:
    """Store the theme in a cookie, for browsers without scripts."""
    form = await context.form()
    answer = context.redirect(safe_target(form.text("back", "/")))
    theme = form.text("theme")
    if theme in ("light", "dark"):
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR, samesite="lax")
    return answer


async def create_key(context: PageContext) -> Response:
    """Create a key and show its secret, which is not shown again."""
    form = await context.form()
    try:
        request = form.body(KeyRequest, token=None)  # the field `token` is that of the session
        key = await context.change(access.make_key, request)
    except EquipoiseError as error:
        return await keys_page(context, error)
    return await keys_page(context, new_key=key)


async def rotate_key(context: PageContext) -> Response:
    """Give a key a new secret and show it; the previous secret remains valid for a day."""
    form = await context.form()
    number = form.whole("key")
    try:
        new_key = await context.change(access.rotate_key, number, RotationRequest())
    except EquipoiseError as error:
        return await keys_page(context, error)
    return await keys_page(context, new_key=new_key)


async def revoke_key(context: PageContext) -> Response:
    """Revoke a key."""
    form = await context.form()
    await context.change(access.end_key, form.whole("key"))
    return context.redirect("/keys")


async def keys_page(
    context: PageContext, error: EquipoiseError | None = None, new_key: NewKeyMessage | None = None
) -> Response:
    """Return all keys, and the form that creates one."""

    def read(store: Store) -> tuple[list[KeyMessage], list[PoolMessage]]:
        with store.moment() as moment:
            return access.all_keys(moment).keys, pool_messages(moment)

    listed, pools = await context.service.read(read)
    return context.render(
        "keys.html", error, keys=listed, pools=pools, roles=get_args(Role), made=new_key
    )


async def audit_page(context: PageContext) -> Response:
    """Return the actions in one pool or in all. A key for one pool sees that pool only."""
    everywhere = rules_all_pools(context.key)
    wanted = context.parameter("pool") or None
    pool = audited_pool(context.key, wanted)
    cursor = context.parameter("cursor") or None
    listed, pools = await context.service.read(_page_and_pools, pool, cursor)
    names = await _names(context)
    shown = wanted if everywhere else None
    return context.render(
        "audit.html",
        # Each with the name of the key, if the sender may know it, and the pool that has its log.
        lines=[
            {"entry": entry, "by": names.get(entry.key), "place": place_of(entry, pools)}
            for entry in listed.entries
        ],
        names=names,
        kinds=KINDS,
        wanted=pool,
        days=context.service.settings.audit_days,
        choices=[pool.pool for pool in pools if pool.closed is None] if everywhere else [],
        next=None if listed.next is None else path("audit", pool=shown, cursor=listed.next),
        first=path("audit", pool=shown) if cursor else None,
    )


def _page_and_pools(
    store: Store, pool: str | None, cursor: str | None
) -> tuple[AuditPage, list[PoolMessage]]:
    """Return a page of the audit log and all pools, read in one transaction."""
    with store.moment() as moment:
        page = access.audit_page(moment, pool=pool, cursor=cursor, limit=PAGE_SIZE)
        return page, pool_messages(moment)


async def _names(context: PageContext) -> dict[int | None, str]:
    """Return names of keys by number, those that the sender may know."""
    key = context.key
    if key is not None and not rules_all_pools(key):
        return {key.id: key.name}
    return {key.key: key.name for key in (await context.service.read(access.all_keys)).keys}


def place_of(entry: AuditEntry, pools: list[PoolMessage]) -> PoolMessage | None:
    """Return the pool in which an action took place: its name may have another pool now."""
    at = datetime.fromisoformat(entry.time)
    named = [pool for pool in pools if entry.pool in (pool.pool, pool.archive_of)]
    # A season ends at the time at which the next begins. That instant belongs to the next.
    named = [
        pool for pool in named if pool.closed is None or at < datetime.fromisoformat(pool.closed)
    ]
    # A deleted pool may have had the name before.
    named = [pool for pool in named if at >= datetime.fromisoformat(pool.created)]
    return min(named, key=lambda pool: datetime.fromisoformat(pool.created), default=None)


#: What happens to late matches, in words.
LATE = {
    "reject": "reject",
    "append": "rate as if played last",
    "replay": "replay in order",
}
TIMES = {"seconds": "seconds since 1970", "datetime": "ISO 8601"}
#: Tiers in words.
TIERS = {
    "none": "none",
    "codeforces": "those of Codeforces",
    "chess": "classes of US Chess",
    "five": "five, from Bronze to Diamond",
    "own": "own",
}
_MOST_NUMBER = 1e9

#: Where newcomers enter, in words.
ENTRIES = {"fixed": "at the initial rating", "learned": "at a learned rating"}
#: The other parameters of the entry and level: their names in the form, and a note.
ENTRY_WORDS = {
    "hold_level": (
        "Share of the gap to the target added per match",
        "0: not held; 0.05 for contests",
    ),
    "entry_half_life": ("Newcomers after which a first match counts half", ""),
    "entry_weight": (
        "Minimum weight of the entry",
        "With a small weight the entry moves quickly",
    ),
    "entry_clip": ("Largest first change that counts in full (standard deviations)", ""),
    "hold_level_matches": ("Young players have fewer matches than", ""),
    "level_experienced": ("Experienced players have at least as many matches", ""),
    "level_memory": ("Participations until the level has moved halfway", ""),
    "level_step": ("Most points added per match (initial deviations)", ""),
}

_SEASON_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SEASON_RULE = (
    "must have at most 40 lower-case letters, digits, '-' and '_', starting with a letter or digit"
)
#: Values with which the form begins.
_SEASON_DEFAULTS = {"reset": "soft", "keep": "50", "towards": "mean", "disqualified": "stay"}
#: Changes of a webhook by their part of the path.
WEBHOOK_CHANGES = {
    "disable": webhooks.disable_webhook,
    "enable": webhooks.enable_webhook,
    "delete": webhooks.delete_webhook,
}
#: Kinds of events, in words.
EVENT_KINDS = {
    "match.rated": "a match was rated",
    "ratings.corrected": "ratings were corrected",
    "season.ended": "a season ended",
}


async def admin_page(context: PageContext) -> Response:
    """Return the page that links to all tasks of an administrator."""
    listed = await context.read(amending.amendments, limit=10)
    return context.render("admin.html", amendments=listed.amendments)


async def settings_page(context: PageContext) -> Response:
    """Return the form with the settings of a pool."""
    pool = await context.snapshot(lambda _, pool: pool)
    return _settings_form(context, _fields_of(pool), saved=context.parameter("saved") == "1")


async def save_settings(context: PageContext) -> Response:
    """Change the settings of a pool."""
    form = await context.form()
    try:
        await context.change(change_settings, change_of(form))
    except EquipoiseError as error:
        return _settings_form(context, form, error)
    return context.redirect(path("pools", context.pool_name, "settings", saved=1))


async def entry_page(context: PageContext) -> Response:
    """Return the form with the parameters of the entry and level of a pool."""
    wanted = await context.service.read(pool_as_wanted, context.pool_name)
    return _entry_form(context, _entry_of(wanted))


async def change_entry(context: PageContext) -> Response:
    """Return a preview of a changed entry or level. Change it if the form comes from there."""
    form = await context.form()
    try:
        request = entry_of(form)
        seen = digest("entry", context.pool_name, request)
        if form.text("do") == seen:
            key = context.key_number
            await context.service.change_settings(context.pool_name, request, key)
            return context.redirect(path("pools", context.pool_name, "amendments"))
        work = context.service.preview_settings(context.pool_name, request)
        preview = await context.while_connected(work)
    except EquipoiseError as error:
        return _entry_form(context, form, error)
    return _entry_form(context, form, preview=preview, seen=seen)


def entry_of(form: Form) -> PoolChange:
    """Return the parameters of the entry and level in a form. Raises : InvalidDataError."""
    usual = EntryParameters()
    parameters: dict[str, Any] = {"entry": form.choice("entry", tuple(ENTRIES), usual.entry)}
    for name in ENTRY_WORDS:
        value, otherwise = form.number(name, 0.0, _MOST_NUMBER), getattr(usual, name)
        if value is None:
            value = otherwise
        if isinstance(otherwise, int):
            if value != int(value):
                raise wrong(name, "must be a whole number", form.text(name)[:50])
            value = int(value)
        parameters[name] = value
    return PoolChange(parameters=parameters, reason=form.text("reason"))


def _entry_of(pool: PoolMessage) -> Form:
    """Return the form with the parameters of a pool, or else their defaults."""
    usual = EntryParameters()
    values = {name: pool.parameters.get(name, getattr(usual, name)) for name in ENTRY_PARAMETERS}
    return Form.of(**{name: _text_of(value) for name, value in values.items()})


def _entry_form(
    context: PageContext, form: Form, error: EquipoiseError | None = None, **preview: Any
) -> Response:
    words = {"choices": ENTRIES, "numbers": ENTRY_WORDS}
    return context.render("pool_entry.html", error, typed=form, **words, **preview)


async def delete_pool(context: PageContext) -> Response:
    """Delete a pool, if its name was typed to confirm this."""
    pool = context.pool
    form = await context.form()
    try:
        await context.change(pools.delete_pool, form.text("confirm"))
    except EquipoiseError as error:
        return _settings_form(context, _fields_of(pool), error)
    return context.redirect("/")


def change_of(form: Form) -> PoolChange:
    """Return the change of settings in a form. Raises : InvalidDataError."""
    tiers = form.text("tiers", "own")
    typed = "own_tiers" in form.fields and tiers == "own"
    own = _tiers_in(form.text("own_tiers")) if typed else UNSET
    return form.body(
        PoolChange,
        unit=form.text("unit") or UNSET,
        tiers={"own": own, "none": []}.get(tiers, tiers),
    )


def _tiers_in(text: str) -> list[dict[str, float | str]]:
    """Return the tiers in the lines of a text. Raises : InvalidDataError."""
    tiers: list[dict[str, float | str]] = []
    for line in filter(str.strip, text.splitlines()):
        try:
            lower, name, short, level = (part.strip() for part in line.split(","))
            numbers = {"lower": float(lower), "level": int(level)}
        except ValueError:
            rule = "must be a lower bound, a name, a short name and a level, with commas"
            raise wrong("tiers", rule, line[:100]) from None
        tiers.append({**numbers, "name": name, "short": short})
    return tiers


def _tier_lines(tiers: Sequence[Tier]) -> str:
    """Return tiers as lines of the form."""
    return "\n".join(f"{tier.lower:g}, {tier.name}, {tier.short}, {tier.level}" for tier in tiers)


def _chosen_tiers(pool: PoolMessage) -> str:
    """Return which of `TIERS` a pool has."""
    initial = float(pool.parameters.get("initial_rating", 0.0))
    same = (preset for preset in get_args(TierPreset) if resolved(preset, initial) == pool.tiers)
    return next(same, "own") if pool.tiers else "none"


def _fields_of(pool: PoolMessage) -> Form:
    """Return the form with the settings of a pool."""
    texts = {name: _text_of(value) for name, value in structs.asdict(pool).items()}
    texts |= {"tiers": _chosen_tiers(pool), "own_tiers": _tier_lines(pool.tiers)}
    return Form.of(**texts)


def _text_of(value: object) -> str:
    """Return a setting as a form has it: an empty text for none, and for a box without a tick."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}"
    return "" if value is None or value is False else "1" if value is True else str(value)


def _settings_form(
    context: PageContext, form: Form, error: EquipoiseError | None = None, saved: bool = False
) -> Response:
    words = {"choices": LATE, "forms": TIMES, "tiers": TIERS}
    return context.render("pool_settings.html", error, typed=form, saved=saved, **words)


async def season_end_page(context: PageContext) -> Response:
    """Return the form that ends a season."""
    return context.render("season_end.html", typed=Form.of(**_SEASON_DEFAULTS))


async def end_season(context: PageContext) -> Response:
    """Return a preview of the end of a season. End it if the form comes from its preview."""
    form = await context.form()
    try:
        request = season_of(form)
        seen = digest("season", context.pool_name, request)
        if form.text("do") == seen:
            done = await context.change(seasons.end_season, request)
            return context.redirect(path("pools", context.pool_name, "seasons", ended=done.season))
        preview = await context.calculate(seasons.preview_season, request)
    except EquipoiseError as error:
        return context.render("season_end.html", error, typed=form)
    return context.render("season_end.html", typed=form, preview=preview, seen=seen)


def season_of(form: Form) -> SeasonRequest:
    """Return the end of a season in a form. Raises : InvalidDataError."""
    name = form.text("season")
    if not _SEASON_NAME.fullmatch(name):
        raise wrong("name of the season", _SEASON_RULE, name[:50] or "nothing")
    if form.text("reset") == "hard":
        # The other fields are for soft resets.
        kept = {"season", "reset", "disqualified"} & form.fields.keys()
        return Form({name: form.fields[name] for name in kept}).body(SeasonRequest)
    keep = form.number("keep", 0, 100)
    return form.body(SeasonRequest, keep=0.5 if keep is None else keep / 100)


async def create_webhook(context: PageContext) -> Response:
    """Create a webhook and show its secret, which is not shown again."""
    form = await context.form()
    try:
        new_webhook = await context.change(
            webhooks.create_webhook,
            webhook_of(form),
            private=context.service.settings.private_webhooks,
        )
    except EquipoiseError as error:
        return await webhooks_page(context, error, typed=form)
    return await webhooks_page(context, made=new_webhook)


async def change_webhook(context: PageContext) -> Response:
    """Disable, enable or delete a webhook, as the last part of the path says."""
    change = WEBHOOK_CHANGES[context.request.url.path.rpartition("/")[2]]
    number = (await context.form()).whole("webhook")
    try:
        await context.change(change, number)
    except ConflictError as error:
        return await webhooks_page(context, error)
    return context.redirect(path("pools", context.pool_name, "webhooks"))


async def test_webhook(context: PageContext) -> Response:
    """Send a webhook a test message and show the result."""
    number = (await context.form()).whole("webhook")
    delivery = await context.service.test_webhook(context.pool_name, number)
    return await webhooks_page(context, tried=delivery, number=number)


def webhook_of(form: Form) -> WebhookRequest:
    """Return the webhook in a form. Raises : InvalidDataError."""
    kinds = form.texts("event")
    if not kinds:  # that would be all
        raise wrong("events", f"must be some of {', '.join(get_args(EventKind))}", "nothing")
    return form.body(WebhookRequest, events=list(dict.fromkeys(kinds)))


async def webhooks_page(
    context: PageContext, error: EquipoiseError | None = None, **done: Any
) -> Response:
    """Return the webhooks of a pool, and the form that creates one.

    done : what the request has created or tried, and its form
    """
    shown = {"made": None, "tried": None, "typed": Form({"event": list(EVENT_KINDS)}), **done}
    return context.render(
        "webhooks.html",
        error,
        hooks=(await context.read(webhooks.list_webhooks)).webhooks,
        kinds=EVENT_KINDS,
        days=context.service.settings.webhook_days,
        **shown,
    )
