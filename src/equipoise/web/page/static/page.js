// On every page: the theme, forms that show their answer without leaving the page, suggestions.

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

// Tabs that do not fit are scrolled to the one that is shown.
for (const tabs of document.querySelectorAll(".tabs, .site")) {
  const shown = tabs.querySelector("[aria-current]");
  if (shown) tabs.scrollLeft = shown.offsetLeft + shown.offsetWidth / 2 - tabs.clientWidth / 2;
}

for (const form of document.querySelectorAll("form[data-live]")) liveForm(form);
for (const form of document.querySelectorAll("[data-names]")) suggest(form);
