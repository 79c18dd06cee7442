// Fields for players suggest names that contain the typed text.

const WAIT = 150;

export function suggest(box) {
  const list = document.getElementById(box.dataset.list);
  const known = new Map();
  let timer = 0;

  function offer(players) {
    list.replaceChildren(
      ...players.map((one) =>
        Object.assign(document.createElement("option"), {
          value: one.player,
          label: one.name ?? "",
        }),
      ),
    );
  }

  async function look(text) {
    if (!known.has(text)) {
      const answer = await fetch(`${box.dataset.names}?${new URLSearchParams({ text })}`);
      if (!answer.ok) return;
      known.set(text, (await answer.json()).players);
    }
    offer(known.get(text));
  }

  box.addEventListener("input", (event) => {
    if (event.target.getAttribute("list") !== list.id) return;
    clearTimeout(timer);
    const text = event.target.value.trim();
    if (text) timer = setTimeout(() => look(text).catch(() => {}), WAIT);
  });
}
