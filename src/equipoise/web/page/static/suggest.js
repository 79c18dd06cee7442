// Fields for players suggest names that begin with what is typed.

const WAIT = 150;

export function suggest(box) {
  const list = document.getElementById(box.dataset.list);
  const known = new Map();
  let timer = 0;

  function offer(names) {
    list.replaceChildren(
      ...names.map((name) => Object.assign(document.createElement("option"), { value: name })),
    );
  }

  async function look(prefix) {
    if (!known.has(prefix)) {
      const answer = await fetch(`${box.dataset.names}?${new URLSearchParams({ prefix })}`);
      if (!answer.ok) return;
      known.set(prefix, (await answer.json()).players.map((one) => one.player));
    }
    offer(known.get(prefix));
  }

  box.addEventListener("input", (event) => {
    if (event.target.getAttribute("list") !== list.id) return;
    clearTimeout(timer);
    const prefix = event.target.value.trim();
    if (prefix) timer = setTimeout(() => look(prefix).catch(() => {}), WAIT);
  });
}
