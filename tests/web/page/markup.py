"""A page taken apart, for tests: what it shows, where it leads, what it could run."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import httpx

_EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """Tags, texts and attributes of a page, checked to nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} comes twice"
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"{tag} ends, but none is open"
        last = self._open.pop()
        assert last == tag, f"{tag} ends where {last} is open"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data.strip())
        elif data.strip():
            self.texts.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        """All that is shown, on one line."""
        return " ".join(self.texts)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def links(self) -> list[str]:
        """Where it leads."""
        return [one["href"] or "" for one in self.all("a")]

    def field(self, name: str) -> str:
        """Return the value of the first field of this name."""
        return next(one.get("value") or "" for one in self.all("input") if one.get("name") == name)


def confirmation(text: str) -> str:
    """Return what the button of a preview sends: it names what was shown."""
    (value,) = re.findall(r'name="do" value="([0-9a-f]{64})"', text)
    return str(value)


def look(client: httpx.Client, path: str, status: int = 200) -> Page:
    """Return a page after what holds for all of them is checked."""
    answer = client.get(path)
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers.get_list("referrer-policy") == ["same-origin"]
    page = Page(answer.text)
    assert not any(page.scripts), "a script stands in the page itself"
    assert not page.all("style")
    for tag, attributes in page.tags:
        assert "style" not in attributes, tag
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("href", "src", "action", "formaction"):
            value = attributes.get(name) or "/"
            assert value.startswith(("/", "#")), (tag, value)
            assert not value.startswith("//")
    assert len(page.all("h1")) == 1
    assert len(page.all("main")) == 1
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    return page
