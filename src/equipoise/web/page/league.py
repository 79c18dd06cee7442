"""A league from the browser: a new pool, and the upload of a file of matches.

The form of a pool has three questions: its name, what is played, and where newcomers start. An
upload shows first how the file was understood and what it would change; then it is posted.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple

from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.messages.pools import PoolRequest
from equipoise.pools.exchange.histories import DATES, Uploaded, read_upload
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post
from equipoise.rating.registry import system_names
from equipoise.store.schema import now
from equipoise.web.http.endpoints import check_table, compression_of
from equipoise.web.page.administration import ENTRIES, LATE
from equipoise.web.page.context import (
    EMPTY,
    Form,
    PageContext,
    digest,
    packed,
    problems_of,
    upload_limits,
    upload_of,
    wrong,
)
from equipoise.web.page.rendering import path
from equipoise.web.page.tournaments import guessed


class Play(NamedTuple):
    """What is played: the words for it, and the system that docs/guides/which-system.md names."""

    text: str
    example: str
    system: str


PLAYS = {
    "duels": Play("One against one", "Chess, tennis, table football", "glicko2"),
    "teams": Play("Teams", "Football, padel, team shooters; two teams or more", "trueskill"),
    "contests": Play("All against all", "Races, quizzes, programming contests", "elo-mmr"),
}
#: Values with which the form of a pool begins.
_NEW_POOL = Form.of(play="duels", entry="fixed", late="replay", times="1", public="1")
_LONGEST_NAME = 63
#: Characters of pasted rows that the form shows again; more are kept as a file is.
_SHOWN = 200_000
#: Meanings of columns of games, in words for all who do not play with white and black.
MEANINGS = {
    "white": "first player",
    "black": "second player",
    "white_score": "first score",
    "black_score": "second score",
}
#: An upload and the copy of it that a preview sends back are at most this part of a body.
_PARTS = 4
_FORMATS = {"xlsx": "excel", "xlsm": "excel", "xls": "excel", "ods": "excel"}


async def new_pool(context: PageContext) -> Response:
    """Create a pool and go to it."""
    form = await context.form()
    try:
        name, request = pool_of(form)
        pool = await context.service.change(
            create_pool, name, request, now(), key=context.key_number
        )
    except EquipoiseError as error:
        return await new_pool_page(context, form, error)
    # The kernels are compiled while the form of the first match is filled.
    context.service.kernels.known_of(pool)
    return context.redirect(path("pools", name))


def pool_of(form: Form) -> tuple[str, PoolRequest]:
    """Return the name and the settings of a pool in a form. Raises : InvalidDataError."""
    title = form.text("title")
    name = form.text("name") or pool_name(title)
    if not name:
        raise wrong("name", "must have letters or digits", title[:50] or "nothing")
    play = form.choice("play", tuple(PLAYS))
    entry = form.choice("entry", tuple(ENTRIES), "fixed")
    return name, form.body(
        PoolRequest,
        system=form.text("system") or PLAYS[play].system,
        parameters={} if entry == "fixed" else {"entry": entry},
        times="datetime" if form.flag("times") else "none",
        late=form.text("late", "replay"),
    )


def pool_name(title: str) -> str:
    """Return the name of a pool with this title: its letters without accents, its digits."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_NAME].rstrip("-")


async def new_pool_page(
    context: PageContext, form: Form = _NEW_POOL, error: EquipoiseError | None = None
) -> Response:
    """Return the form that creates a pool."""
    # The further fields are open if one of them was changed, as the fault may be there.
    more = any(form[name] for name in ("name", "system", "placement_matches"))
    return context.render(
        "new_pool.html",
        error,
        typed=form,
        plays=PLAYS,
        entries=ENTRIES,
        late=LATE,
        systems=system_names(),
        more=more or error is not None,
    )


async def upload(context: PageContext) -> Response:
    """Return how a file is understood and what it would change; post it if that was shown."""
    form = await context.form(upload_limits(context.service.settings))
    try:
        content, name = _content(form, context.service.settings.body_bytes // _PARTS)
        dates = form.choice("dates", tuple(DATES)) if form.text("dates") else ""
        await context.service.check_kernels(context.pool_name)
        uploaded = await context.calculate(
            read_upload,
            content,
            _format_of(name, content),
            now(),
            dates=dates,
            sheet=form.text("sheet") or None,
            skip_bad=form.flag("skip_bad"),
            future_seconds=context.service.settings.future_seconds,
        )
        seen = digest("upload", context.pool_name, uploaded.matches)
        if uploaded.matches and form.text("do") == seen:
            post = Post(uploaded.matches, context.key_number, detailed=False)
            await context.service.writer.enqueue(context.pool_name, post)
            done = len(uploaded.matches)
            return context.redirect(path("pools", context.pool_name, "matches", posted=done))
    except EquipoiseError as error:
        return await upload_page(context, form, error)
    pasted = form.text("matches")
    held = "" if pasted and len(pasted) <= _SHOWN else packed(content)
    return await upload_page(context, form, None, uploaded, held, name=name, seen=seen)


def _content(form: Form, most: int) -> tuple[bytes, str]:
    """Return the uploaded, pasted or previewed content and its name. Raises : InvalidDataError."""
    content, name = upload_of(form, "matches", most)
    if not content.strip():
        raise wrong("file", "must be chosen, or its rows pasted", "nothing")
    if len(content) > most:
        raise wrong("file", f"must have at most {most:,} bytes here", f"{len(content):,}")
    return content, name


def _format_of(name: str, content: bytes) -> str:
    """Return the format of a file. Raises : InvalidDataError, TooLargeError."""
    kind = _FORMATS.get(name.rpartition(".")[2].lower(), "")
    if kind:
        return kind
    compression = compression_of(content)
    if compression is not None:
        raise wrong("file", "must be a workbook or uncompressed text", compression)
    kind = guessed(name, content)
    check_table(content, kind)
    return kind


async def upload_page(
    context: PageContext,
    form: Form = EMPTY,
    error: EquipoiseError | None = None,
    uploaded: Uploaded | None = None,
    held: str = "",
    **preview: Any,
) -> Response:
    """Return the form in which a file of matches is uploaded, and how it was understood."""
    fault = None if uploaded is None else uploaded.fault
    return context.render(
        "upload.html",
        error,
        typed=form,
        pasted="" if held else form.text("matches"),
        choices=DATES,
        meanings=MEANINGS,
        found=uploaded,
        faults_in_file=problems_of(fault) if fault else [],
        held=held,
        **preview,
    )
