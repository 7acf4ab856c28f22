// Plots as SVG, and lists of bars. Every plot has a text that says what it shows.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 132;
const LEFT = 46;
const BOTTOM = 18;
const TOP = 8;

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  return fill(node, attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  return fill(node, attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// The smallest round number that is not below the largest value: 1, 2, 2.5 or 5 times a power of ten.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((step) => value <= step * power * 1.0001);
  return step * power;
}

function frame(host, label, top, format, ends) {
  const width = Math.max(host.clientWidth, 200);
  const image = svg("svg", { role: "img", "aria-label": label, width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` });
  const plot = { image, left: LEFT, right: width, bottom: HEIGHT - BOTTOM };
  plot.y = (value) => plot.bottom - ((plot.bottom - TOP) * value) / top;
  for (const share of [0, 0.5, 1]) {
    const y = Math.round(plot.y(top * share)) + 0.5;
    image.append(svg("line", { class: "grid", x1: plot.left, x2: plot.right, y1: y, y2: y }));
    image.append(svg("text", { x: plot.left - 7, y: y + 4, "text-anchor": "end" }, format(top * share)));
  }
  ends.forEach((text, index) => {
    const at = ends.length > 1 ? index / (ends.length - 1) : 0;
    const anchor = index === 0 ? "start" : index === ends.length - 1 ? "end" : "middle";
    const x = plot.left + (plot.right - plot.left) * at;
    image.append(svg("text", { x, y: HEIGHT - 3, "text-anchor": anchor }, text));
  });
  return plot;
}

// Shows the text of a column while the pointer is over it.
function readout(plot, host, texts) {
  const step = (plot.right - plot.left) / texts.length;
  const note = host.closest(".panel")?.querySelector(".note");
  const usual = note?.textContent ?? "";
  texts.forEach((text, index) => {
    const hit = svg("rect", { class: "hit", x: plot.left + index * step, y: TOP, width: step, height: plot.bottom - TOP });
    hit.addEventListener("pointerenter", () => { if (note) note.textContent = text; });
    hit.addEventListener("pointerleave", () => { if (note) note.textContent = usual; });
    plot.image.append(hit);
  });
}

// Bars of columns with parts: [{ parts: [[value, class]], text }]
export function bars(host, { label, columns, format, ends }) {
  const total = (column) => column.parts.reduce((sum, [value]) => sum + value, 0);
  const top = roundUp(Math.max(...columns.map(total)) || 1);
  const plot = frame(host, label, top, format, ends);
  const step = (plot.right - plot.left) / columns.length;
  const gap = Math.min(3, step * 0.22);
  columns.forEach((column, index) => {
    let below = 0;
    for (const [value, kind] of column.parts) {
      if (value <= 0) continue;
      const height = Math.max(plot.y(below) - plot.y(below + value), 1);
      const y = plot.y(below) - height;
      const x = plot.left + index * step + gap / 2;
      plot.image.append(svg("rect", { class: `bar ${kind}`, x, y, width: step - gap, height, rx: Math.min(1.5, step / 4) }));
      below += value;
    }
  });
  readout(plot, host, columns.map((column) => column.text));
  host.replaceChildren(plot.image);
}

// Lines with gaps where a value is missing: [{ values, kind, area }]
export function lines(host, { label, series, format, texts, ends }) {
  const known = series.flatMap((one) => one.values).filter((value) => value !== null);
  const plot = frame(host, label, roundUp(Math.max(...known, 1)), format, ends);
  const step = (plot.right - plot.left) / texts.length;
  const at = (index) => plot.left + (index + 0.5) * step;
  for (const { values, kind, area } of series) {
    for (const run of runs(values)) {
      const points = run.map(([index, value]) => `${at(index).toFixed(1)},${plot.y(value).toFixed(1)}`);
      if (run.length === 1) {
        plot.image.append(svg("circle", { class: `dot ${kind}`, cx: at(run[0][0]), cy: plot.y(run[0][1]), r: 2.2 }));
        continue;
      }
      if (area) {
        const [first, last] = [at(run[0][0]), at(run.at(-1)[0])];
        plot.image.append(svg("polygon", { class: "area", points: `${first},${plot.bottom} ${points.join(" ")} ${last},${plot.bottom}` }));
      }
      plot.image.append(svg("polyline", { class: `line ${kind}`, points: points.join(" ") }));
    }
  }
  readout(plot, host, texts);
  host.replaceChildren(plot.image);
}

function runs(values) {
  const runs = [];
  let run = null;
  values.forEach((value, index) => {
    if (value === null) { run = null; return; }
    if (!run) runs.push((run = []));
    run.push([index, value]);
  });
  return runs;
}

// A small plot without axes. The numbers beside it say the same.
export function spark(values, failed = []) {
  const [width, height] = [110, 22];
  const image = svg("svg", { class: "spark", "aria-hidden": "true", viewBox: `0 0 ${width} ${height}`, height, preserveAspectRatio: "none" });
  const top = Math.max(...values.map((value, index) => value + (failed[index] ?? 0)), 1);
  const step = width / values.length;
  values.forEach((value, index) => {
    const bad = failed[index] ?? 0;
    const scale = (part) => (part > 0 ? Math.max((part / top) * (height - 2), 1) : 0);
    const [good, ill] = [scale(value), scale(bad)];
    const x = index * step;
    if (good) image.append(svg("rect", { class: "bar", x, y: height - good, width: step * 0.8, height: good }));
    if (ill) image.append(svg("rect", { class: "bar bad", x, y: height - good - ill, width: step * 0.8, height: ill }));
  });
  if (!values.some((value, index) => value + (failed[index] ?? 0) > 0)) {
    image.append(svg("line", { class: "grid", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }));
  }
  return image;
}

// A bar with parts: [[share from 0 to 1, class]]
export function track(parts, label) {
  const bar = el("div", { class: "track", role: "img", "aria-label": label });
  for (const [share, kind] of parts) {
    const part = el("i", { class: kind });
    part.style.width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
    bar.append(part);
  }
  return bar;
}

// Names with bars: [{ name, value, detail, parts }]
export function list(host, rows) {
  host.replaceChildren(el("ul", { class: "list" }, ...rows.map(({ name, value, detail, parts }) =>
    el("li", {},
      el("div", { class: "row" },
        el("span", { class: "name", title: name }, name),
        el("span", { class: "value" }, el("b", {}, value), detail ? ` ${detail}` : "")),
      track(parts, `${name}: ${value} ${detail ?? ""}`)))));
}
