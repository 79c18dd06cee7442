// On every page: the theme, forms that update a part of the page, suggestions of names.

import { liveForm } from "./live.js";
import { suggest } from "./suggest.js";

for (const form of document.querySelectorAll("form.theme")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `equipoise-theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
  });
}

// Scroll tabs that do not fit to the current one.
for (const tabs of document.querySelectorAll(".tabs, .site")) {
  const current = tabs.querySelector("[aria-current]");
  if (current) tabs.scrollLeft = current.offsetLeft + current.offsetWidth / 2 - tabs.clientWidth / 2;
}

// Fetch the parts for which the server did not wait.
for (const note of document.querySelectorAll("[data-later]")) {
  fetch(note.dataset.later)
    .then((answer) => answer.text())
    .then((text) => {
      const found = new DOMParser().parseFromString(text, "text/html").getElementById(note.dataset.part);
      if (found) document.getElementById(note.dataset.part).replaceChildren(...found.childNodes);
    })
    .catch(() => {});
}

for (const form of document.querySelectorAll("form[data-live]")) liveForm(form);
for (const form of document.querySelectorAll("[data-names]")) suggest(form);

// "why?" in a row opens the explanation below it. A second click closes it.
for (const link of document.querySelectorAll("a[data-why]")) {
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const row = link.closest("tr");
    const open = document.querySelector("tr.opened");
    const same = open?.previousElementSibling === row;
    open?.previousElementSibling.querySelector("a[data-why]").setAttribute("aria-expanded", "false");
    open?.remove();
    if (same) return;
    link.setAttribute("aria-expanded", "true");
    const cell = document.createElement("td");
    cell.colSpan = row.cells.length;
    cell.textContent = "Computing…";
    const below = document.createElement("tr");
    below.className = "opened";
    below.append(cell);
    row.after(below);
    const [page, part] = link.href.split("#");
    try {
      const answer = await fetch(`${page}&wait=1`);
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part);
      if (found) cell.replaceChildren(...found.childNodes);
      else location.assign(link.href);
    } catch {
      location.assign(link.href);
    }
  });
}
