// The review of a run: a list of suspects, one of them in full, and keys for verdicts.

const page = await data();
const TOKEN = new URLSearchParams(location.search).get("token") || "";
sessionStorage.setItem("token", TOKEN);  // for a reload of this tab: it leaves the address bar and the history
history.replaceState(null, "", location.pathname + location.hash);
const KEYS = { a: "anomalous", n: "normal", u: "unsure" };
const NAMES = { anomalous: "Anomalous", normal: "Normal", unsure: "Unsure" };
const VIEWS = { queue: "What to look at next", flagged: "Flagged nodes", judged: "All verdicts", anomalous: "Judged anomalous", normal: "Judged normal", unsure: "Judged unsure" };
const POLL = 2000;
const ASKED = { bulk: ["random", "drawn at random, to show what most nodes look like"], unsure: ["unsure", "its probability is near one half: a verdict would teach most"] };

const state = { view: "queue", rows: [], place: null, shown: null, last: -1, learning: -1, query: "", busy: false };
const parts = {
  told: el("p", { id: "told", role: "status", "aria-live": "polite" }),
  progress: el("p", { class: "soft small", id: "progress" }),
  learned: el("p", { class: "notice", id: "learned", hidden: true }),
  curve: el("div", { id: "curve", hidden: true }),
  mix: el("p", { class: "soft small", id: "mix" }),
  list: el("ol", { class: "suspects", id: "suspects" }),
  listTitle: el("h2", { id: "list-title" }, VIEWS.queue),
  node: el("section", { id: "node", "aria-labelledby": "chosen", tabindex: "-1" }),
  undo: el("button", { type: "button", id: "undo", onclick: () => undo() }, "Undo", el("kbd", { "aria-hidden": "true" }, "Z")),
  find: el("input", { type: "search", id: "find", placeholder: "Find any node", "aria-label": "Find any node", autocomplete: "off", spellcheck: "false", oninput: () => search() }),
  view: el("select", { id: "view", "aria-label": "Which nodes to list", onchange: (event) => { state.view = event.target.value; refresh(); } },
    page.views.map((view) => el("option", { value: view }, VIEWS[view]))),
};

function tell(text, bad = false) {
  parts.told.textContent = text;
  parts.told.className = bad ? "bad" : "";
}

async function ask(path, parameters) {
  const answer = await fetch(`${path}?${new URLSearchParams(parameters || {})}`, { headers: { "X-Hopsight-Token": TOKEN } });
  return told(answer);
}

async function told(answer) {
  const text = await answer.text();
  let value = null;
  try { value = JSON.parse(text); } catch { /* a refusal is plain text */ }
  if (answer.ok) return value;
  const error = new Error(value?.error || text || `the server answered ${answer.status}`);
  error.final = answer.status < 500;
  throw error;
}

// A request keeps its id until it is confirmed, so that a verdict sent twice is written once.
async function send(path, body) {
  const content = JSON.stringify({ ...body, request: crypto.randomUUID() });
  for (let attempt = 0; ; attempt += 1) {
    try {
      const headers = { "Content-Type": "application/json", "X-Hopsight-Token": TOKEN };
      return await told(await fetch(path, { method: "POST", headers, body: content }));
    } catch (error) {
      if (error.final || attempt >= 60) throw error;
      tell("Not saved yet: the server does not answer. Trying again …", true);
      await new Promise((done) => setTimeout(done, Math.min(2000, 200 * 2 ** attempt)));
    }
  }
}

// A verdict counts for the node that is shown: one given while the next node is on its way is refused.
async function guarded(work, waits = false) {
  if (state.busy && !waits) return tell("Not counted: the next node was not there yet. Please press again.", true);
  while (state.busy) await new Promise((done) => setTimeout(done, 20));
  state.busy = true;
  try { await work(); } catch (error) { tell(error.message, true); } finally { state.busy = false; }
}

function decide(verdict) {
  return guarded(async () => {
    const shown = state.shown;
    if (!shown) return;
    const note = document.getElementById("note")?.value || "";
    const next = following(shown.place);
    await send("/api/decide", { place: shown.place, verdict, note });
    tell(`${NAMES[verdict]}: ${shown.row.name}. Saved.`);
    await refresh();
    if (next !== null && location.hash !== `#n${next}`) history.pushState(null, "", `#n${next}`);
    await show(next ?? shown.place);
  });
}

function following(place) {
  const open = state.rows.filter((row) => !row.verdict || row.place === place);
  const here = open.findIndex((row) => row.place === place);
  return (open[here + 1] ?? open.find((row) => row.place !== place))?.place ?? null;
}

function undo() {
  return guarded(async () => {
    const { place } = await send("/api/undo", {});
    if (place === null) return tell("There is nothing of yours to undo.");
    await refresh();
    if (location.hash !== `#n${place}`) history.pushState(null, "", `#n${place}`);
    await show(place);
    const { name, verdict } = state.shown.row;
    tell(verdict ? `Undone: ${name} is ${verdict} again.` : `Undone: ${name} has no verdict now.`);
  }, true);
}

let searching = 0;
async function search() {
  state.query = parts.find.value.trim();
  const mine = ++searching;
  if (!state.query) return refresh();
  try {
    const rows = await ask("/api/search", { text: state.query });
    if (mine !== searching) return;
    state.rows = rows;
    drawList();
  } catch (error) { tell(error.message, true); }
}

async function refresh() {
  const now = await ask("/api/state"); // before the list, which is then never older than the state
  const rows = await (state.query ? ask("/api/search", { text: state.query }) : ask("/api/list", { view: state.view }));
  Object.assign(state, { rows, last: now.last, learning: now.learning, pending: now.pending });
  Object.assign(page, { threshold: now.threshold, probable: now.probable, range: now.range });
  const { anomalous, normal, unsure } = now.counts;
  parts.progress.textContent = `${plural(anomalous + normal + unsure, "verdict")}: ${whole(anomalous)} anomalous, ${whole(normal)} normal, ${whole(unsure)} unsure · ${plural(now.n_flagged, "flagged node")} of ${whole(page.n_nodes)}${now.pending ? " · learning …" : ""}`;
  parts.learned.hidden = !now.learned;
  parts.learned.textContent = now.learned || "";
  parts.curve.hidden = now.curve.length < 2;
  if (!parts.curve.hidden) parts.curve.replaceChildren(learningCurve(now.curve), el("p", { class: "soft small" }, now.helps));
  drawList();
}

// Other windows and other reviewers write to the same place.
async function poll() {
  if (!document.hidden && !state.busy) {
    try {
      const now = await ask("/api/state");
      const changed = now.last !== state.last || now.learning !== state.learning;
      if (changed || now.pending !== state.pending) await refresh();
      if (changed && state.place !== null && !document.getElementById("note")?.value) await show(state.place);
    } catch { /* the next verdict says so */ }
  }
  setTimeout(poll, state.pending ? POLL / 4 : POLL);
}

function learningCurve(points) {
  const size = { ...chartSize(), width: Math.min(room(), 420), height: 150 };
  const { width, height, left, right, top, bottom } = size;
  const last = points[points.length - 1][0];
  const low = Math.min(0.5, ...points.map(([, area]) => area));
  const x = linear(0, last, left, width - right);
  const y = linear(low, 1, height - bottom, top);
  const drawn = frame(size, "Learning curve: how well verdicts are predicted from some of the others", x, y, ticks(0, last, 4), ticks(low, 1, 3), "verdicts learned from; ROC-AUC on the others");
  drawn.append(svg("polyline", { class: "curve", points: points.map(([count, area]) => `${x(count).toFixed(1)},${y(area).toFixed(1)}`).join(" ") }));
  points.forEach(([count, area]) => drawn.append(withTip(svg("circle", { class: "pointer", cx: x(count), cy: y(area), r: 4 }), plural(count, "verdict"), [`ROC-AUC ${number(area)}`])));
  return drawn;
}

// How many of the suspects are the most probable ones, and how many are asked about to learn from them.
function mix(rows) {
  const count = (kind) => rows.filter((row) => row.teaches === kind).length;
  const words = { unsure: "with a probability near one half", bulk: "drawn at random" };
  const taught = Object.keys(words).filter(count).map((kind) => `${whole(count(kind))} ${words[kind]}`);
  const top = `Of the next ${whole(rows.length)}, ${whole(count(null))} are the most probable`;
  return taught.length ? `${top}; the others would teach most: ${taught.join(", ")}.` : `${top}.`;
}

function drawList() {
  parts.mix.textContent = state.query || state.view !== "queue" || !state.rows.length ? "" : mix(state.rows);
  parts.listTitle.textContent = state.query ? `Nodes with “${state.query}”` : VIEWS[state.view];
  parts.list.replaceChildren(...state.rows.map((row) => el("li", null,
    el("a", { href: `#n${row.place}`, "aria-current": row.place === state.place ? "true" : null },
      el("span", { class: "rank" }, `${whole(row.rank)}${moved(row)}`), name(row.title || row.name),
      row.probability !== null && el("span", { class: "chance", title: "probability of being anomalous, by the verdicts" }, chance(row.probability)),
      el("span", { class: `mark ${row.verdict || ""}`, title: row.teaches ? ASKED[row.teaches][1] : null },
        row.verdict || (row.teaches ? ASKED[row.teaches][0] : ""))))));
  if (!state.rows.length) parts.list.append(el("li", { class: "none" }, state.query ? "No node has this name." : "Nothing here."));
}

function chance(probability) {
  if (probability < 0.01) return "<1%";
  return probability > 0.99 ? ">99%" : `${Math.round(100 * probability)}%`;
}

function moved(row) {
  if (row.before === null || row.before === row.rank) return "";
  return row.before > row.rank ? " ↑" : " ↓";
}

function go(place) {
  if (location.hash === `#n${place}`) return show(place);
  location.hash = `#n${place}`;
}

async function follow() {
  const match = /^#n(\d+)$/.exec(location.hash);
  if (match) await show(Number(match[1])).catch((error) => tell(error.message, true));
}

let asked = 0;
async function show(place) {
  const mine = ++asked;
  state.place = place;
  const shown = await ask("/api/node", { place });
  if (mine !== asked) return;
  state.shown = shown;
  draw();
  drawList();
}

// Sentences first, then the picture, then the numbers.
function draw() {
  hideTip();
  const { shown } = state;
  if (!shown) return;
  const all = { ...page, ...shown.page };
  const reasons = all.reasons[shown.place];
  const typed = document.getElementById("note")?.dataset.place === String(shown.place) ? document.getElementById("note").value : "";
  parts.node.replaceChildren(...[
    el("h2", { id: "chosen", tabindex: "-1" }, name(shown.row.name), shown.row.title && el("span", { class: "title" }, name(shown.row.title)), badge(shown.row)),
    el("div", { class: "sentences" }, reasons.sentences.map((text) => el("p", null, text))),
    verdictButtons(shown),
    el("label", { for: "note" }, "Note (saved with the verdict)"),
    el("textarea", { id: "note", maxlength: "2000", "data-place": shown.place }, typed),
    past(shown.history),
    el("div", { class: "ego after" }, el("h3", null, "Its neighborhood"),
      el("p", { class: "soft small" }, "The farther out a neighbor is drawn, the less it seems to belong beside this node."), egoNetwork(all, shown.place), egoLegend(all, shown.place)),
    shown.group && group(all, shown.group),
    reasons.attributes.length > 0 && el("div", { class: "after" }, el("h3", null, "Its attributes beside its neighbors’"), attributes(reasons.attributes)),
    reasons.own.length > 0 && el("div", { class: "after" }, el("h3", null, "Unusual attributes of the node itself"), ownValues(reasons.own)),
    el("div", { class: "after" }, el("h3", null, "Evidence in numbers"), evidenceBars(all, shown.place), values(all, shown.place, reasons)),
    reasons.without && withoutEdges(all, shown.place, reasons.without),
    el("div", { class: "after" }, el("h3", null, "Neighbors"), neighbors(all, shown.place)),
    reasons.notes.map((note) => el("p", { class: "soft small" }, `Note: ${note}`)),
  ].flat(Infinity).filter(Boolean));
}

function badge(row) {
  if (row.verdict) return el("span", { class: row.verdict === "anomalous" ? "badge warm" : "badge" }, row.verdict);
  return el("span", { class: row.flagged ? "badge warm" : "badge" }, row.flagged ? "flagged" : "not flagged");
}

function verdictButtons(shown) {
  return el("div", { class: "verdicts", role: "group", "aria-label": "Verdict" }, Object.entries(KEYS).map(([key, verdict]) =>
    el("button", { type: "button", "data-verdict": verdict, "aria-pressed": String(shown.row.verdict === verdict), "aria-keyshortcuts": key, onclick: () => decide(verdict) },
      NAMES[verdict], el("kbd", { "aria-hidden": "true" }, key.toUpperCase()))));
}

function past(rows) {
  if (!rows.length) return null;
  return el("ul", { class: "history" }, rows.map(([verdict, who, when, note, undone]) => {
    const line = [`${verdict}, by `, name(who), ` on ${when.slice(0, 16).replace("T", " ")} UTC`, note && [": ", name(note)], undone && " (undone)"];
    return el("li", null, undone ? el("s", null, line) : line);
  }));
}

function group(all, { words, shared, members, size }) {
  return el("div", { class: "after" }, el("h3", null, "Its group"), el("p", null, words),
    el("p", { class: "soft small" }, `Attributes of the members: ${shared}.`),
    el("p", null, members.map((node, i) => [i > 0 && ", ", nodeLink(all, node)]), size > members.length && ` and ${whole(size - members.length)} more`));
}

function step(by) {
  const here = state.rows.findIndex((row) => row.place === state.place);
  const next = state.rows[clamp(here + by, 0, state.rows.length - 1)];
  if (next) go(next.place);
}

addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea, select");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return undefined;
  const key = event.key.toLowerCase();
  const does = key in KEYS ? () => decide(KEYS[key])
    : { z: undo, j: () => step(1), k: () => step(-1), "/": () => parts.find.focus() }[key];
  if (!does) return undefined;
  event.preventDefault();
  return does();
});

document.getElementById("main").append(
  el("header", null,
    el("div", { class: "topbar" }, el("h1", null, "Review ", name(page.name)), el("span", { class: "push" }), parts.undo,
      el("a", { class: "button", id: "export", href: `/verdicts.csv?${new URLSearchParams({ token: TOKEN })}`, download: "verdicts.csv" }, "Export CSV")),
    parts.progress, parts.learned, parts.curve, parts.told,
    el("details", { class: "small" }, el("summary", null, "How this works"),
      el("p", null, "Look at one suspect at a time and decide: is it anomalous, normal, or are you unsure? Every verdict is saved at once. As soon as there are anomalous and normal ones, all nodes are ranked again after each verdict, in the background; the percentage is the probability that a node is anomalous. The suspects are a mix, which the line above the list states: the most probable ones, nodes drawn at random, which show what most nodes look like, and, once there is something to be unsure of, nodes whose probability is near one half."),
      el("p", null, "Keys: A anomalous, N normal, U unsure, Z undo, J next, K previous, / find a node, Esc leave a field."))),
  el("div", { class: "review" },
    el("nav", { "aria-labelledby": "list-title" }, el("div", { class: "controls" }, parts.find, parts.view), parts.listTitle, parts.mix, parts.list),
    parts.node),
  el("footer", { class: "page" }, `You review as ${page.reviewer}. ${page.method ? `The ${page.detector} score measures ${page.method}.` : ""}`));
document.body.append(tip);

async function begin() {
  try {
    await refresh();
    if (/^#n\d+$/.test(location.hash)) await follow();
    else if (state.rows.length) go(state.rows[0].place);
  } catch (error) { tell(error.message, true); }
  setTimeout(poll, POLL);
}

addEventListener("hashchange", follow);
let drawnFor = room();
addEventListener("resize", () => {
  if (room() === drawnFor) return;
  drawnFor = room();
  draw();
});
begin();
