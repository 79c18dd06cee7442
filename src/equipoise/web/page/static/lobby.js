// Rows of a lobby: the number of players, and a new row when the last one is filled.

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

updateCount();
