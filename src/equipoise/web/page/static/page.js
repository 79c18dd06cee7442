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
