// On every page: the theme, copies, times of day in the reader's zone, parts that are fetched again.

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
      const part = document.getElementById(note.dataset.part);
      if (found) part.replaceChildren(...found.childNodes);
      else part.remove();
    })
    .catch(() => {});
}

const live = document.querySelectorAll("form[data-live]");
if (live.length) import("./live.js").then(({ liveForm }) => live.forEach(liveForm));
const named = document.querySelectorAll("[data-names]");
if (named.length) import("./suggest.js").then(({ suggest }) => named.forEach(suggest));

// Times of day are shown in the reader's zone, in as many letters as before; days stay as they are.
function localTimes(part) {
  for (const time of part.querySelectorAll("time")) {
    if (time.textContent.length < 16 || time.title) continue;
    const at = new Date(time.dateTime);
    time.title = `${time.textContent} UTC`;
    time.textContent = new Date(at - 60_000 * at.getTimezoneOffset()).toISOString().slice(0, 16).replace("T", " ");
  }
}
localTimes(document);
for (const note of document.querySelectorAll("[data-zone]")) note.textContent = note.dataset.zone;

// Buttons that copy a link, or a link in Markdown, perhaps with a badge, or a badge in HTML.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const { copy, name, badge, html } = button.dataset;
    const link = location.origin + copy;
    const plain = name?.replace(/[\\`*_[\]<>#|~!]/g, "\\$&");
    const anchor = Object.assign(document.createElement("a"), { href: link });
    if (html !== undefined) anchor.append(Object.assign(new Image(), { src: location.origin + badge, alt: name }));
    const text = html !== undefined ? anchor.outerHTML : badge ? `[![${plain}](${location.origin}${badge})](${link})` : name ? `[${plain}](${link})` : link;
    const said = button.parentElement.querySelector("[data-copied]");
    await navigator.clipboard.writeText(text).then(
      () => (said.textContent = "Copied."),
      () => (said.textContent = text),
    );
  });
}

// While the page is seen, its parts with matches are fetched again. The server answers 304 as long
// as nothing has changed. A part in which somebody reads an explanation or has the focus stays.
const REFRESH = 15_000;
const fresh = [...document.querySelectorAll("[data-fresh]")];
let tag = null;
async function refresh() {
  if (document.visibilityState !== "visible") return;
  const answer = await fetch(location.href, { cache: "no-cache" });
  const now = answer.headers.get("ETag");
  if (!answer.ok || answer.redirected || (now && now === tag)) return;
  tag = now;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of fresh) {
    const found = page.getElementById(part.id);
    if (!found || part.contains(document.activeElement) || part.querySelector("tr.opened")) continue;
    localTimes(found);
    if (found.innerHTML === part.innerHTML) continue;
    const said = part.getAttribute("aria-live");
    part.setAttribute("aria-live", "off");
    part.replaceChildren(...found.childNodes);
    setTimeout(() => (said ? part.setAttribute("aria-live", said) : part.removeAttribute("aria-live")), 1000);
  }
}
if (fresh.length) setInterval(() => refresh().catch(() => {}), REFRESH);

// Times are in UTC without scripts, and local with them.
for (const field of document.querySelectorAll("input[data-local]")) {
  const zone = field.form.elements.zone;
  const words = field.parentElement.querySelector("small span");
  const offset = () => new Date(field.value || Date.now()).getTimezoneOffset();
  if (!zone.value && field.value) {
    const local = new Date(Date.parse(`${field.value}Z`) - new Date(`${field.value}Z`).getTimezoneOffset() * 60000);
    field.value = local.toISOString().slice(0, 16);
  }
  zone.value = offset();
  words.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone || "your time zone";
  field.addEventListener("input", () => (zone.value = offset()));
}

// "why?" in a row opens the explanation below it. A second click closes it.
for (const link of document.querySelectorAll('[data-why] a[href$="#why"]')) {
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const row = link.closest("tr");
    const open = document.querySelector("tr.opened");
    const same = open?.previousElementSibling === row;
    open?.previousElementSibling.querySelector('a[href$="#why"]').setAttribute("aria-expanded", "false");
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
