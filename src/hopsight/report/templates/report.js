// The page of one detection, from top to bottom.

const page = data();
const COMMAND = "hopsight explain FOLDER NODE";
const order = page.top.map(([node]) => node);
let chosen = order.length ? order[0] : null;

function heading() {
  const when = page.started ? ` · ${page.started.slice(0, 16).replace("T", " ")}` : "";
  return el("header", { class: "page" },
    el("p", { class: "eyebrow" }, `hopsight report · ${page.detector}${when}`),
    el("h1", null, name(page.name)),
    page.summary.slice(0, page.top.length ? 1 : undefined).map((text) => el("p", { class: "lead" }, text)),
    page.warnings.map((text) => el("p", { class: "notice small" }, text)),
    el("ul", { class: "facts" }, page.facts.map(([label, value]) =>
      el("li", { class: label === "Flagged" ? "warm" : null }, el("b", null, whole(value)), el("span", null, label)))));
}

function topNodes() {
  const of = (row) => page.nodes[row[0]];
  const row0 = order[0];
  return table({
    label: "Most anomalous nodes",
    search: "Search the nodes",
    limit: 15,
    rows: page.top,
    chosen: (row) => row[0] === chosen,
    columns: [
      { label: "Rank", right: true, descending: false, value: (row) => of(row)[2], text: (row) => whole(of(row)[2]) },
      { label: "Node", value: (row) => of(row)[0], cell: (row) => nodeLink(page, row[0]) },
      { label: "Score", right: true, value: (row) => of(row)[1], text: (row) => number(of(row)[1]), warm: (row) => of(row)[4] },
      { label: "Edges", right: true, value: (row) => of(row)[3], text: (row) => whole(of(row)[3]) },
      page.kinds.length && { label: "Decided by", value: (row) => page.evidence[row[0]][0], cell: (row) => el("span", { class: "whole" }, page.evidence[row[0]][0] ?? "–") },
      page.kinds.length && { label: "Evidence", minor: true, cell: (row) => evidenceStrip(page, row[0]), text: () => "", title: page.kinds.map(([kind]) => kind).join(", ") },
      row0 in page.stability && { label: "Stability", right: true, minor: true, value: (row) => page.stability[row[0]], text: (row) => `${Math.round(100 * page.stability[row[0]])}%`, title: "share of the repeated fits in which the node is among the first" },
      ...page.columns.map((column, i) => ({
        label: title(column), right: true, minor: true, value: (row) => row[i + 1], text: (row) => number(row[i + 1]),
      })),
      { label: "Differs most in", minor: true, value: (row) => firstAttribute(row) ?? null, cell: (row) => firstAttribute(row) ? name(firstAttribute(row)) : "–" },
    ].filter(Boolean),
  });
}

function firstAttribute(row) {
  const [attribute] = page.reasons[row[0]]?.attributes ?? [];
  return attribute && (attribute[8]?.[0] ?? attribute[0]);
}

function topEdges() {
  const rows = page.edges.map((edge, i) => [i + 1, ...edge]);
  return table({
    label: "Edges most out of place",
    search: "Search the edges",
    limit: 15,
    rows,
    columns: [
      { label: "Rank", right: true, minor: true, descending: false, value: (row) => row[0] },
      { label: "From", value: (row) => page.nodes[row[1]][0], cell: (row) => nodeLink(page, row[1]) },
      { label: "To", value: (row) => page.nodes[row[2]][0], cell: (row) => nodeLink(page, row[2]) },
      { label: "Hops", right: true, value: (row) => row[3], text: (row) => fixed(row[3], 2) },
      rows[0][6] === null && { label: "Variance", right: true, minor: true, value: (row) => row[4], text: (row) => fixed(row[4], 3) },
      { label: "P(1 hop)", right: true, minor: rows[0][6] !== null, value: (row) => row[5], text: (row) => fixed(row[5], 3) },
      rows[0][8] !== null && { label: "Less alike than", right: true, minor: true, value: (row) => row[8], text: (row) => percent(row[8]), title: "of edges" },
      rows[0][6] !== null && { label: "Score", right: true, value: (row) => row[6], text: (row) => number(row[6]), warm: (row) => row[7] },
      { label: "What differs most", minor: true, value: (row) => row[9], cell: (row) => el("div", { class: "words" }, row[9] || "–") },
    ].filter(Boolean),
  });
}

function groupTable() {
  const names = (row) => row[2].map((node) => page.nodes[node][0]);
  return table({
    label: "Groups",
    search: page.groups.length > 10 ? "Search the groups" : null,
    limit: 10,
    rows: page.groups,
    columns: [
      { label: "Group", right: true, descending: false, value: (row) => row[0] },
      { label: "Kind", value: (row) => row[1], cell: (row) => el("span", { class: "whole" }, row[1]) },
      { label: "Members", value: (row) => row[3], text: (row) => names(row).join(" "), cell: (row) => memberLinks(row) },
      { label: "Connected", right: true, minor: true, value: (row) => row[4], text: (row) => `${Math.round(100 * row[4])}%`, title: "share of the pairs of members that are edges" },
      { label: "Strength", right: true, value: (row) => row[5], text: (row) => fixed(row[5], 1), title: "mean evidence of the members" },
      { label: "What they share", minor: true, value: (row) => row[6], cell: (row) => el("div", { class: "words" }, row[6]) },
    ],
  });
}

function memberLinks([, , members, size]) {
  const links = members.map((node, i) => [i > 0 && ", ", nodeLink(page, node)]);
  return el("div", { class: "members" }, links, size > members.length && ` and ${whole(size - members.length)} more`);
}

function groupIntro() {
  const rest = page.n_groups > page.groups.length ? ` The first ${whole(page.groups.length)} of ${whole(page.n_groups)} groups are listed; groups.csv has all of them.` : "";
  return `A ring connects nodes that look far apart; a lockstep group connects near-copies.${rest}`;
}

function chooser() {
  const step = (by) => go(order[order.indexOf(chosen) + by] ?? order[0]);
  const go = (node) => { location.hash = `#n${node}`; };
  const names = new Map(Object.keys(page.egos).map((node) => [page.nodes[node][0], Number(node)]));
  const find = ({ target }) => names.has(target.value) && go(names.get(target.value));
  return el("div", { class: "controls" },
    el("button", { type: "button", id: "previous", onclick: () => step(-1) }, "← Previous"),
    el("button", { type: "button", id: "next", onclick: () => step(1) }, "Next →"),
    el("input", { type: "search", id: "find", class: "push", list: "names", placeholder: "Go to a node", "aria-label": "Go to a node",
      autocomplete: "off", spellcheck: "false", onchange: find }),
    el("datalist", { id: "names" }, order.map((node) => el("option", { value: page.nodes[node][0] }))));
}

function scoresFigure() {
  const place = chosen === null ? null : { name: page.nodes[chosen][0], score: page.nodes[chosen][1] };
  return [histogram(page.scores, place),
    el("figcaption", null, page.method && `The ${page.detector} score measures ${page.method}. `,
      "Each bar counts the nodes with a score in its range; nodes to the right of the dashed line are flagged. The triangle marks the selected node.")];
}

const parts = { scores: el("figure"), training: el("figure"), nodes: el("div"), chooser: chooser(), node: el("div") };
const panel = el("section", { id: "node", "aria-labelledby": "chosen" }, parts.chooser, parts.node);

function draw() {
  hideTip();
  parts.scores.replaceChildren(...scoresFigure());
  if (page.losses.length > 1) {
    parts.training.replaceChildren(curve(page.losses, page.burn_in),
      el("figcaption", null, "Training loss per epoch; lower is better."));
  }
  if (chosen === null) return;
  parts.node.replaceChildren(...[nodePanel(page, chosen, COMMAND)].flat(Infinity).filter(Boolean));
  parts.chooser.querySelector("#previous").disabled = chosen === order[0];
  parts.chooser.querySelector("#next").disabled = chosen === order[order.length - 1];
  for (const row of parts.nodes.querySelectorAll("tbody tr")) {
    row.classList.toggle("chosen", row.querySelector("a")?.getAttribute("href") === `#n${chosen}`);
  }
}

// The fragment of the address holds the selected node, so that links, the back button and bookmarks work.
function follow() {
  const match = /^#n(\d+)$/.exec(location.hash);
  if (!match || !(Number(match[1]) in page.egos)) return;
  chosen = Number(match[1]);
  const moving = parts.node.contains(document.activeElement);
  const stepping = parts.chooser.contains(document.activeElement);
  draw();
  if (stepping) return;
  if (!moving || panel.getBoundingClientRect().top < 0) panel.scrollIntoView();
  document.getElementById("chosen").focus({ preventScroll: true });
}

parts.nodes.append(topNodes());
document.getElementById("main").append(
  heading(),
  overview(page) ?? "",
  order.length ? el("div", { class: "beside" }, section("Most anomalous nodes", "Select a node to see why; j and k go to the next and the previous one.", parts.nodes), panel) : "",
  section("Scores", null, parts.scores),
  page.groups.length ? section("Groups", groupIntro(), groupTable()) : "",
  page.edges.length ? section("Edges most out of place", "The model thinks that these neighbors belong farther apart.", topEdges()) : "",
  page.details.length || page.losses.length > 1 ? section("How this report was made", null, parts.training, records(page.details)) : "",
  el("footer", { class: "page" }, "Made by hopsight. This file is self-contained and fetches nothing."));
document.body.append(tip);
draw();
follow();
addEventListener("hashchange", follow);
// j and k, as in many lists: the next and the previous node, unless somebody is typing.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  const button = { j: "#next", k: "#previous" }[event.key];
  if (button) parts.chooser.querySelector(button).click();
});
let drawnFor = room();
addEventListener("resize", () => {
  if (room() === drawnFor) return;
  drawnFor = room();
  draw();
});
