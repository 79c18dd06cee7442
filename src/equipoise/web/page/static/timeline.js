// A player's rating over time: hover, arrow keys, drag to zoom. Until this has run, and without
// scripts, the page has the same chart as the server drew it.

import { Plot, node, nearest, number, signed } from "./plot.js";

const HEIGHT = 280;
const WIDTH_OF_BAND = 1.96;
const LEAST = 5;

// Of two sides, the first places of both are a draw.
const placed = (rank, teams) => (teams === 2 ? (rank === 1 ? "won or drew" : "lost") : `place ${rank} of ${teams}`);

class Timeline {
  constructor(box, data) {
    this.box = box;
    this.data = data;
    this.tiers = JSON.parse(box.dataset.tiers ?? "[]");
    this.count = data.ratings.length;
    this.across = data.times ?? data.ratings.map((_, at) => at + 1);
    this.range = [0, this.count - 1];
    this.at = this.count - 1;
    this.plot = new Plot(box, HEIGHT, data.times !== null);
    this.tip = node("div", { class: "tip", hidden: "" });
    this.plot.root.append(this.tip);
    this.tools();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(box);
    this.draw();
  }

  tools() {
    const row = document.getElementById("timeline-tools");
    const choices = [["All", this.count], ["Last 100", 100], ["Last 30", 30]];
    this.buttons = choices
      .filter(([, many], at) => at === 0 || many < this.count)
      .map(([text, many]) => {
        const button = node("button", { type: "button", class: "small", "aria-pressed": "false" }, text);
        button.addEventListener("click", () => this.show(this.count - many, this.count - 1));
        button.many = many;
        return button;
      });
    if (this.buttons.length > 1) row.prepend(...this.buttons);
  }

  show(first, last) {
    const low = Math.max(0, Math.min(first, last));
    const high = Math.min(this.count - 1, Math.max(first, last));
    if (high - low + 1 < Math.min(LEAST, this.count)) return;
    this.range = [low, high];
    this.at = Math.min(Math.max(this.at, low), high);
    this.draw();
  }

  draw() {
    const start = performance.now();
    const [first, last] = this.range;
    const { ratings, deviations, performances } = this.data;
    const spread = (at) => WIDTH_OF_BAND * (deviations[at] ?? 0);
    let low = Infinity;
    let high = -Infinity;
    for (let at = first; at <= last; at++) {
      low = Math.min(low, ratings[at] - spread(at));
      high = Math.max(high, ratings[at] + spread(at));
    }
    const edge = 0.06 * (high - low || 1);
    const plot = this.plot;
    plot.scale([this.across[first], this.across[last]], [low - edge, high + edge]);
    const over = [];
    const under = [];
    const line = [];
    const dots = [];
    for (let at = first; at <= last; at++) {
      const x = plot.x(this.across[at]).toFixed(1);
      line.push(`${x} ${plot.y(ratings[at]).toFixed(1)}`);
      if (spread(at)) {
        over.push(`${x} ${plot.y(ratings[at] + spread(at)).toFixed(1)}`);
        under.push(`${x} ${plot.y(ratings[at] - spread(at)).toFixed(1)}`);
      }
      const own = performances?.[at];
      if (own != null && own > low - edge && own < high + edge) dots.push(`M${x} ${plot.y(own).toFixed(1)}h0`);
    }
    plot.marks([
      ...this.tiers.filter(([at]) => at > low - edge && at < high + edge).flatMap(([at, name, level]) => {
        const [y, tier] = [plot.y(at), { class: `tier t${level}` }];
        return [
          node("line", { ...tier, x1: 0, x2: plot.width, y1: y, y2: y }),
          node("text", { ...tier, x: plot.width, y: y - 4, "text-anchor": "end" }, name),
        ];
      }),
      over.length ? node("path", { class: "band", d: `M${over.join("L")}L${under.reverse().join("L")}Z` }) : null,
      dots.length ? node("path", { class: "dots", d: dots.join("") }) : null,
      node("path", { class: "curve", d: `M${line.join("L")}` }),
      (this.cross = node("g", { class: "cross" })),
      (this.frame = node("rect", { class: "zoom", y: 0, height: HEIGHT, width: 0 })),
    ]);
    for (const button of this.buttons) {
      const all = last === this.count - 1 && first === Math.max(0, this.count - button.many);
      button.setAttribute("aria-pressed", String(all));
    }
    const root = this.plot.root;
    root.setAttribute("aria-valuemin", first + 1);
    root.setAttribute("aria-valuemax", last + 1);
    this.updateLabel();
    this.box.dataset.drawn = (performance.now() - start).toFixed(1);
  }

  words(at) {
    const { ratings, deviations, changes, matches, times, played, ranks, teams } = this.data;
    const spread = deviations[at] == null ? "" : ` ± ${number(WIDTH_OF_BAND * deviations[at])} (95 %)`;
    const known = times && !played[at] ? "received " : "";
    const day = times ? `${known}${new Date(1000 * times[at]).toISOString().slice(0, 10)}, ` : "";
    return {
      rating: `${number(ratings[at])}${spread}`,
      change: signed(changes[at]),
      match: matches[at],
      rest: `${day}${placed(ranks[at], teams[at])}`,
    };
  }

  updateLabel() {
    const said = this.words(this.at);
    this.plot.root.setAttribute("aria-valuenow", this.at + 1);
    this.plot.root.setAttribute("aria-valuetext", `${said.rating}, ${said.change} in ${this.box.dataset.unit} ${said.match}, ${said.rest}`);
  }

  point(at) {
    this.at = at;
    const x = this.plot.x(this.across[at]);
    const y = this.plot.y(this.data.ratings[at]);
    this.cross.replaceChildren(
      node("line", { class: "rule", x1: x, x2: x, y1: 0, y2: HEIGHT }),
      node("circle", { class: "point", cx: x, cy: y, r: 4.5 }),
    );
    const said = this.words(at);
    this.tip.replaceChildren(
      node("b", {}, said.rating),
      node("span", { class: this.data.changes[at] < 0 ? "loss" : "gain" }, said.change),
      node("bdi", { class: "given" }, said.match),
      node("small", {}, said.rest),
    );
    this.tip.hidden = false;
    const left = x > this.plot.width / 2;
    this.tip.style.left = left ? "auto" : `${x + this.plot.side + 12}px`;
    this.tip.style.right = left ? `${this.plot.width - x + 12}px` : "auto";
    this.updateLabel();
  }

  leave() {
    this.tip.hidden = true;
    this.cross.replaceChildren();
  }

  under(event) {
    const value = this.plot.value(event);
    return nearest(this.across, value, ...this.range);
  }

  listen() {
    const root = this.plot.root;
    const area = this.plot.area;
    for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": `Rating over time, ${this.box.dataset.unit} by ${this.box.dataset.unit}` })) {
      root.setAttribute(name, value);
    }
    let from = null;
    area.addEventListener("pointermove", (event) => {
      this.point(this.under(event));
      if (from === null) return;
      const [a, b] = [from, this.plot.place(event)].sort((one, other) => one - other);
      this.frame.setAttribute("x", a);
      this.frame.setAttribute("width", b - a);
    });
    area.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return;
      from = this.plot.place(event);
      this.first = this.under(event);
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointerup", (event) => {
      const far = from !== null && Math.abs(this.plot.place(event) - from) > 8;
      from = null;
      this.frame.setAttribute("width", 0);
      if (far) this.show(this.first, this.under(event));
    });
    area.addEventListener("pointerleave", () => this.leave());
    area.addEventListener("dblclick", () => this.show(0, this.count - 1));
    area.addEventListener("click", (event) => event.detail === 1 && this.point(this.under(event)));
    root.addEventListener("focus", () => root.matches(":focus-visible") && this.point(this.at));
    root.addEventListener("blur", () => this.leave());
    root.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const [first, last] = this.range;
    const step = event.shiftKey ? 10 : 1;
    const half = Math.max(LEAST, Math.round((last - first) / 4));
    const moves = {
      ArrowLeft: () => this.point(Math.max(first, this.at - step)),
      ArrowDown: () => this.point(Math.max(first, this.at - step)),
      ArrowRight: () => this.point(Math.min(last, this.at + step)),
      ArrowUp: () => this.point(Math.min(last, this.at + step)),
      Home: () => this.point(first),
      End: () => this.point(last),
      "+": () => (this.show(this.at - half, this.at + half), this.point(this.at)),
      "-": () => (this.show(first - half, last + half), this.point(this.at)),
      Escape: () => (this.show(0, this.count - 1), this.point(this.at)),
      Enter: () => location.assign(`${this.box.dataset.matches}?${new URLSearchParams({ id: this.data.matches[this.at] })}`),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  }
}

const box = document.getElementById("timeline");
if (box) {
  fetch(box.dataset.source)
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(answer.status)))
    .then((data) => data.ratings.length > 1 && new Timeline(box, data))
    .catch(() => {});
}
