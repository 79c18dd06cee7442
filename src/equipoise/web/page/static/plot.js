// A plot with its axes as SVG in pixels: scales, round values, the value under the pointer.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "path", "line", "circle", "rect", "text"]);
const DAY = 86_400;
/** About the width of a letter of an axis, pixels. */
const LETTER = 7;

export function node(tag, given, text) {
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function number(value, digits = Math.abs(value) < 100 ? 2 : 0) {
  return value
    .toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replace("-", "\u2212");
}

export function signed(value) {
  return `${value > 0 ? "+" : ""}${number(value, 1)}`;
}

/** The index of the value closest to `value`, between two indices; `values` never decrease. */
export function nearest(values, value, first, last) {
  let low = first;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle;
    else high = middle;
  }
  return value - values[low] <= values[high] - value ? low : high;
}

function roundValues(low, high, most) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10, 20].map((one) => one * power).find((one) => (high - low) / one <= most);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function roundDays(low, high, most) {
  const wide = high - low;
  const date = (seconds) => new Date(1000 * seconds);
  for (const days of [1 / 24, 0.25, 1, 2, 7, 14, 28]) {
    if (wide / (days * DAY) > most) continue;
    const found = [];
    for (let at = Math.ceil(low / (days * DAY)); at * days * DAY <= high; at++) found.push(at * days * DAY);
    const cut = days < 1 ? [5, 16] : [0, 10];
    return found.map((at) => [at, date(at).toISOString().slice(...cut).replace("T", " ")]);
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240].find((one) => wide / (one * 30.4 * DAY) <= most) ?? 600;
  const found = [];
  const start = date(low).getUTCFullYear() * 12 + date(low).getUTCMonth();
  for (let month = Math.ceil(start / months) * months; found.length < 40; month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12) / 1000;
    if (at > high) break;
    if (at >= low) found.push([at, new Date(1000 * at).toISOString().slice(0, months < 12 ? 7 : 4)]);
  }
  return found;
}

export class Plot {
  constructor(box, height, times) {
    this.height = height;
    this.times = times;
    this.side = 46;
    this.root = node("div", { class: "plot-box" });
    this.area = node("svg", { class: "plot-area", height: height + 22 });
    this.root.append(this.area);
    box.replaceChildren(this.root);
  }

  scale([left, right], [low, high]) {
    this.width = Math.max(40, this.root.clientWidth - this.side);
    Object.assign(this, { left, right: right > left ? right : left + 1, low, high });
  }

  x(value) {
    return (this.width * (value - this.left)) / (this.right - this.left);
  }

  y(value) {
    return this.height * (1 - (value - this.low) / (this.high - this.low));
  }

  place(event) {
    const x = event.clientX - this.area.getBoundingClientRect().left - this.side;
    return Math.min(Math.max(x, 0), this.width);
  }

  value(event) {
    return this.left + (this.place(event) / this.width) * (this.right - this.left);
  }

  marks(marks) {
    const most = Math.max(2, Math.floor(this.width / 85));
    const { found, digits } = roundValues(this.low, this.high, 6);
    const across = this.times
      ? roundDays(this.left, this.right, most)
      : roundValues(this.left, this.right, most).found.map((one) => [one, number(one, 0)]);
    const inner = node("g", { transform: `translate(${this.side} 0)` });
    for (const value of found) {
      const y = this.y(value);
      inner.append(
        node("line", { class: "grid", x1: 0, x2: this.width, y1: y, y2: y }),
        node("text", { x: -8, y: y + 4, "text-anchor": "end" }, number(value, digits)),
      );
    }
    let free = -Infinity;
    for (const [value, name] of across) {
      const wide = LETTER * name.length;
      const left = Math.min(Math.max(this.x(value) - wide / 2, 0), this.width - wide);
      if (left < free) continue;
      free = left + wide + LETTER;
      inner.append(node("text", { x: left + wide / 2, y: this.height + 17, "text-anchor": "middle" }, name));
    }
    inner.append(...marks.filter(Boolean));
    this.area.replaceChildren(inner);
  }
}
