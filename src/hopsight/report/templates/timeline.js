// The page of one run over time: a timeline of windows, the alerts of the window that is open, and nodes.

const page = await data();
const opened = { window: null, node: page.nodes.length ? 0 : null };

function bars(rows, { label, height, start, value, warm, chosen, tip: lines, open }) {
  const size = { ...chartSize(), height };
  const { width, left, right, top, bottom } = size;
  const high = Math.max(1e-9, ...rows.map(value));
  const x = linear(0, rows.length, left, width - right);
  const y = linear(0, high, size.height - bottom, top);
  const drawn = frame(size, label, x, y, [], ticks(0, high, 4), "");
  if (open) drawn.setAttribute("role", "group"); // its bars are buttons
  rows.forEach((row, i) => {
    const tall = Math.max(1.5, y(0) - y(value(row)));
    const bar = svg("rect", {
      class: warm(row) ? "bar warm" : "bar", x: x(i) + 0.3, width: Math.max(1, x(i + 1) - x(i) - 0.6), y: y(0) - tall, height: tall, rx: 1,
      stroke: chosen(row) ? "currentColor" : null, tabindex: open ? 0 : null, role: open ? "button" : null, "aria-label": open ? start(row) : null,
      onclick: open && (() => open(row)), onkeydown: open && ((event) => (event.key === "Enter" || event.key === " ") && open(row)),
    });
    drawn.append(withTip(bar, start(row), lines(row)));
  });
  if (rows.length) {
    drawn.append(svg("text", { x: left, y: size.height - bottom + 18 }, start(rows[0])),
      svg("text", { x: width - right, y: size.height - bottom + 18, "text-anchor": "end" }, start(rows[rows.length - 1])));
  }
  return drawn;
}

function timeline() {
  const open = (row) => { opened.window = opened.window === row[0] ? null : row[0]; draw(); };
  const note = page.windows.length < page.n_windows ? `The ${whole(page.windows.length)} most unusual of ${whole(page.n_windows)} windows. ` : "";
  return section("Windows", `${note}The height is the score of a window as a whole; orange ones have flagged events. Choose one to see its alerts.`,
    el("figure", null, bars(page.windows, {
      label: "Score of each window", height: 240, start: (row) => row[1], value: (row) => row[6], warm: (row) => row[4] > 0,
      chosen: (row) => row[0] === opened.window, open,
      tip: (row) => [plural(row[2], "event"), `${whole(row[3])} with new partners`, `${whole(row[4])} flagged`, `score ${number(row[6])}`, row[7] && `unusual: ${row[7]}`],
    })));
}

function alerts() {
  const rows = opened.window === null ? page.alerts : page.alerts.filter((row) => row[0] === opened.window);
  const chosen = page.windows.find((row) => row[0] === opened.window);
  const title = chosen ? `Alerts in the window of ${chosen[1]}` : "Strongest alerts";
  if (!rows.length) return section(title, "None among the strongest alerts; alerts.csv has all of them.");
  return section(title, "All alerts are in alerts.csv. A score of 3 means one ordinary event in a thousand, 4 one in ten thousand. An alert has the score with which it was raised.", table({
    label: title, rows, search: "Search the alerts", limit: 20,
    columns: [
      { label: "From", value: (row) => row[1], cell: (row) => name(row[1]) },
      { label: "To", value: (row) => row[2], cell: (row) => name(row[2]) },
      { label: "Time", wide: true, value: (row) => row[3], cell: (row) => el("span", { class: "whole" }, row[3]) },
      { label: "Score", value: (row) => row[4], text: (row) => fixed(row[4], 2), right: true },
      { label: "Decided by", value: (row) => row[5], cell: (row) => el("span", { class: "whole" }, row[5]) },
      { label: "Why", wide: true, value: (row) => row[7], cell: (row) => el("div", { class: "words" }, row[7]) },
    ],
  }));
}

function nodes() {
  if (!page.nodes.length) return "";
  const [id, score, kind, , , story, rows] = page.nodes[opened.node];
  return section("Nodes", "Choose a node to see its course over time. Its score is the highest that its events reached, often long after the alert.",
    el("div", { class: "controls" }, page.nodes.map((row, i) => el("button", {
      type: "button", "aria-pressed": String(i === opened.node), onclick: () => { opened.node = i; draw(); },
    }, name(row[0]), ` ${fixed(row[1], 2)}`))),
    el("h3", null, name(id)), el("p", null, `Score ${fixed(score, 2)}, decided by ${kind}. ${story}`),
    el("figure", null, bars(rows, {
      label: `Score of ${id} in each window`, height: 180, start: (row) => row[1], value: (row) => row[3], warm: (row) => row[3] >= 3,
      chosen: () => false, open: null, tip: (row) => [plural(row[2], "event"), `score ${number(row[3])}`],
    })));
}

function fits() {
  return section("Model", "When the network was fitted again, and why. The loss is measured on recent events.", table({
    label: "Fits", rows: page.fits, limit: 10,
    columns: [
      { label: "After event", value: (row) => row[0], text: (row) => whole(row[0]), right: true },
      { label: "Time", value: (row) => row[1] }, { label: "Reason", value: (row) => row[2] },
      { label: "Loss before", value: (row) => row[3], text: (row) => number(row[3], 3), right: true },
      { label: "Loss after", value: (row) => row[4], text: (row) => number(row[4], 3), right: true },
    ],
  }));
}

const moving = el("div");
function draw() {
  hideTip();
  moving.replaceChildren(timeline(), alerts(), nodes());
}

document.getElementById("main").append(
  el("header", { class: "page" }, el("p", { class: "eyebrow" }, "hopsight over time"), el("h1", null, name(page.name)),
    page.summary.map((text) => el("p", { class: "lead" }, text)),
    notices(page.warnings)),
  moving, fits(),
  page.details.length ? section("How this was made", null, records(page.details)) : "",
  el("footer", { class: "page" }, "Made by hopsight. This file is self-contained and makes no network requests."));
document.body.append(tip);
draw();
