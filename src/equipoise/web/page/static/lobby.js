// Rows of a lobby: the number of players, a new row when the last one is filled, and the players of
// the last time, which the browser keeps for each pool.

const rows = document.getElementById("rows");
const count = document.getElementById("count");
const more = document.getElementById("more");

function players() {
  return [...rows.querySelectorAll('input[name="player"]')];
}

function updateCount() {
  const many = players().filter((one) => one.value.trim()).length;
  count.textContent = many ? `${many} player${many === 1 ? "" : "s"}` : "";
}

function add() {
  const last = rows.lastElementChild;
  const row = last.cloneNode(true);
  const number = rows.children.length + 1;
  row.querySelector(".count").textContent = number;
  for (const field of row.querySelectorAll("input, select")) {
    field.value = "";
    field.setAttribute("aria-label", field.getAttribute("aria-label").replace(/\d+$/, number));
  }
  rows.append(row);
  return row;
}

rows.addEventListener("input", () => {
  if (players().at(-1).value.trim()) add();
  updateCount();
});

more.addEventListener("click", (event) => {
  event.preventDefault();
  event.stopPropagation();
  const first = add();
  add();
  first.querySelector("input").focus();
});

const kept = document.getElementById("kept");
const place = `equipoise-lobby ${location.pathname}`;

function fields(row) {
  return ["player", "party", "team"].map((name) => row.querySelector(`[name="${name}"]`));
}

function keep() {
  const lobby = [...rows.children].map((row) => fields(row).map((field) => field.value));
  try {
    localStorage.setItem(place, JSON.stringify(lobby.filter(([player]) => player.trim())));
  } catch {
    // The browser keeps nothing.
  }
}

function restore() {
  let lobby = [];
  try {
    lobby = JSON.parse(localStorage.getItem(place) ?? "[]");
  } catch {
    return;
  }
  lobby.forEach((values, at) => {
    fields(rows.children[at] ?? add()).forEach((field, which) => (field.value = values[which]));
  });
  kept.hidden = !lobby.length;
}

kept.querySelector("button").addEventListener("click", () => {
  for (const row of rows.children) for (const field of fields(row)) field.value = "";
  kept.hidden = true;
  keep();
  updateCount();
});
rows.closest("form").addEventListener("submit", keep);
if (!players().some((one) => one.value)) restore();
updateCount();
