// The page of one detection, from top to bottom. Nodes are addressed by their ranks.

const page = await data();
const listed = [...page.top].sort((a, b) => a - b); // explained: the first and the flagged nodes
const carried = Object.keys(page.egos).map(Number); // in ascending order
const hasTruth = Object.keys(page.truth).length > 0;
let chosen = page.top.length ? page.top[0] : null;

const shownName = (rank) => page.nodes[rank][0];
const shownTitle = (rank) => page.nodes[rank][5] || null;
const shownScore = (rank) => page.nodes[rank][1];
const isFlagged = (rank) => page.nodes[rank][4];
const decidedBy = (rank) => page.evidence[rank]?.[0] ?? null;
const truthOf = (rank) => page.truth[rank] ?? -1; // 1 anomalous, 0 normal, −1 unknown

function heading() {
  const when = page.started ? ` · ${page.started.slice(0, 16).replace("T", " ")}` : "";
  return el("header", { class: "page" },
    el("p", { class: "eyebrow" }, `hopsight report · ${page.detector}${when}`),
    el("h1", null, name(page.name)),
    page.summary.slice(0, page.top.length ? 1 : undefined).map((text) => el("p", { class: "lead" }, text)),
    notices(page.warnings),
    el("ul", { class: "facts" }, page.facts.map(([label, value]) =>
      el("li", { class: label === "Flagged" && value > 0 ? "warm" : null }, el("b", null, whole(value)), term(label)))));
}

// Links to the sections; their numbers are keys.
function contents(sections) {
  return el("nav", { class: "contents", "aria-label": "Contents" },
    el("ol", null, sections.map((each) => el("li", null, el("a", { href: `#${each.id}` }, each.querySelector("h2").textContent)))),
    el("p", { class: "soft small" }, "Keys: ", el("kbd", null, "j"), " and ", el("kbd", null, "k"), " next and previous node, ", el("kbd", null, "/"), " find a node, ",
      el("kbd", null, "1"), "–", el("kbd", null, sections.length), " sections"));
}

const NAMES = { 1: "anomalous", 0: "normal", "-1": "unknown" };

// Which nodes the list can show.
function views() {
  const ranks = (wanted) => () => carried.filter(wanted);
  return [
    ["Top and flagged nodes", () => listed],
    hasTruth && ["Known anomalies", ranks((rank) => truthOf(rank) === 1)],
    hasTruth && ["Known anomalies, not flagged", ranks((rank) => truthOf(rank) === 1 && !isFlagged(rank))],
    hasTruth && ["Flagged, known to be normal", ranks((rank) => truthOf(rank) === 0 && isFlagged(rank))],
    carried.length > listed.length && [carried.length < page.facts[0][1] ? "All nodes of this page" : "All nodes", () => carried],
  ].filter(Boolean);
}

function nodeTable() {
  const evidence = (rank, i) => page.evidence[rank]?.[i] ?? null;
  const stability = (rank) => page.stability[rank] ?? null;
  return table({
    label: "Most anomalous nodes", search: "Search the nodes", limit: 15, csv: "nodes.csv",
    rows: listed, views: views(), chosen: (rank) => rank === chosen,
    words: (rank) => `${shownName(rank)}\n${shownTitle(rank) ?? ""}\n${decidedBy(rank) ?? ""}`,
    columns: [
      { label: "Rank", right: true, descending: false, value: (rank) => rank, text: whole },
      { label: "Node", value: shownName, cell: nodeCell, fields: [["Node", shownName], ["Name", shownTitle]] },
      { label: measure(), right: true, value: shownScore, text: (rank) => level(shownScore(rank)), warm: isFlagged },
      hasTruth && { label: "Known", wide: true, said: true, value: (rank) => NAMES[truthOf(rank)], cell: (rank) => truthOf(rank) < 0 ? "–" : el("span", { class: truthOf(rank) ? "whole warm" : "whole" }, NAMES[truthOf(rank)]) },
      { label: "Edges", right: true, wide: true, value: (rank) => page.nodes[rank][3], text: (rank) => whole(page.nodes[rank][3]) },
      { label: "What is special", wide: true, value: special, cell: (rank) => el("div", { class: "words" }, special(rank) ?? "–") },
      page.kinds.length && { label: "Evidence", wide: true, value: decidedBy, cell: (rank) => el("div", { class: "decision" }, evidenceStrip(page, rank), el("span", { class: "small" }, decidedBy(rank))), fields: [["Decided by", decidedBy], ...page.kinds.map(([kind], i) => [kind, (rank) => evidence(rank, i + 1)])] },
      chosen in page.stability && { label: "Stability", right: true, wide: true, value: stability, text: (rank) => share(stability(rank)) },
      ...page.columns.map((column, i) => ({
        label: title(column), right: true, wide: true, value: (rank) => page.values[rank]?.[i] ?? null, text: (rank) => number(page.values[rank]?.[i]),
      })),
    ].filter(Boolean),
  });
}

function nodeCell(rank) {
  const title_ = shownTitle(rank);
  const link = el("a", { href: `#n${rank}` }, name(title_ ?? shownName(rank)));
  return title_ && title_ !== shownName(rank) ? [link, el("div", { class: "soft small" }, name(shownName(rank)))] : link;
}

function special(rank) {
  return page.reasons[rank]?.why || null;
}

// Ranks of nodes whose ids or names match what somebody typed: the exact id first, then exact names, beginnings, any part.
function search(text, most) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = [[], [], [], []];
  for (const rank of carried) {
    const folded = [shownName(rank), shownTitle(rank) ?? ""].map((each) => each.toLowerCase());
    const places = folded.map((each) => each.indexOf(wanted)).filter((place) => place >= 0);
    if (places.length) found[shownName(rank) === text ? 0 : folded.includes(wanted) ? 1 : Math.min(...places) === 0 ? 2 : 3].push(rank);
  }
  return found.flat().slice(0, most);
}

function edgeTable() {
  const rows = page.edges.map((edge, i) => [i + 1, ...edge]);
  const known = page.edge_data ?? [];
  const some = (place) => rows.some((row) => row[place] !== null);
  return table({
    label: "Edges most out of place", search: "Search the edges", limit: 15, csv: "edges-out-of-place.csv", rows,
    columns: [
      { label: "Rank", right: true, descending: false, value: (row) => row[0], title: "1 is the edge most out of place" },
      { label: "From", wide: true, said: true, value: (row) => fullName(page, row[1]), cell: (row) => nodeLink(page, row[1]) },
      { label: "To", wide: true, said: true, value: (row) => fullName(page, row[2]), cell: (row) => nodeLink(page, row[2]) },
      some(11) && { label: "Probability", right: true, value: (row) => row[11], text: (row) => share(row[11]), warm: (row) => row[8] },
      some(7) && !some(11) && { label: "Score", right: true, value: (row) => row[7], text: (row) => score(row[7]), warm: (row) => row[8] },
      known.length > 0 && { label: "In the edge list", wide: true, value: (row) => row[10][0][0], text: (row) => row[12] ?? row[10].map(([, text]) => text).join(" "), cell: edgeData, fields: [...known.map((label, i) => [label, (row) => row[10][i][0]]), ["All rows", (row) => row[12]]] },
      some(3) && { label: "Hops", right: true, wide: true, value: (row) => row[3], text: (row) => fixed(row[3], 2) },
      some(4) && !some(7) && { label: "Variance", right: true, wide: true, value: (row) => row[4], text: (row) => fixed(row[4], 3) },
      some(5) && { label: "P(1 hop)", right: true, wide: true, value: (row) => row[5], text: (row) => chance(row[5]) },
      some(6) && { label: "Less alike than", right: true, wide: true, value: (row) => row[6], text: (row) => percent(row[6]) },
      { label: "Why", wide: true, value: (row) => row[9], cell: (row) => el("div", { class: "words" }, row[9] || "–") },
    ].filter(Boolean),
  });
}

function edgeIntro() {
  return page.edges.some((edge) => edge[2] !== null) ? "Ends that look far apart, and unusual amounts and times."
    : "No edge has attributes at both ends to compare, so amounts and times alone decide.";
}

// What the edge list says about an edge: what its rows are in all, or one line for each column of the only row.
function edgeData(row) {
  if (row[12]) return el("div", { class: "small" }, row[12]);
  return el("div", { class: "small" }, row[10].map(([, text], i) => el("div", { class: "whole" }, page.edge_data[i] === "time" ? text : `${page.edge_data[i]} ${text}`)));
}

function groupTable() {
  const names = (row) => row[2].map((node) => fullName(page, node));
  return table({
    label: "Groups", search: page.groups.length > 10 ? "Search the groups" : null, limit: 10, csv: "groups.csv", rows: page.groups,
    columns: [
      { label: "Group", right: true, descending: false, value: (row) => row[0] },
      { label: "Kind", value: (row) => row[1], cell: (row) => el("span", { class: "whole" }, term(row[1])) },
      { label: "Members", wide: true, value: (row) => row[3], text: (row) => names(row).join(" "), cell: (row) => memberLinks(row), fields: [["Members", (row) => names(row).join("; ")], ["Size", (row) => row[3]]] },
      { label: "Connected", right: true, value: (row) => row[4], text: (row) => share(row[4]) },
      { label: "Strength", right: true, value: (row) => row[5], text: (row) => fixed(row[5], 1) },
      { label: "Attributes of the members", wide: true, value: (row) => row[6], cell: (row) => el("div", { class: "words" }, row[6]) },
    ],
  });
}

function memberLinks([, , members, size]) {
  const links = members.map((node, i) => [i > 0 && ", ", nodeLink(page, node)]);
  return el("div", { class: "members" }, links, size > members.length && ` and ${whole(size - members.length)} more`);
}

function groupIntro() {
  const rest = page.n_groups > page.groups.length ? ` The first ${whole(page.groups.length)} of ${whole(page.n_groups)} groups are listed; groups.csv has all of them.` : "";
  return `A ring connects nodes that look far apart; a lockstep group connects near-copies; in a cycle, payments that soon went on lead from each member to all others; a sharing group has in common what few others have.${rest}`;
}

function listIntro() {
  const total = page.facts[0][1];
  const reach = carried.length >= total ? `All ${whole(total)} nodes are on this page.` : `This page has ${whole(carried.length)} of ${whole(total)} nodes.`;
  const flagged = page.facts.find(([label]) => label === "Flagged")[1];
  const explained = listed.filter(isFlagged).length;
  const some = explained < flagged && ` It explains the first ${whole(explained)} of ${whole(flagged)} flagged nodes.`;
  const more = carried.length < total && page.files.length > 0 && [" For any other, run ", el("code", null, "hopsight explain DIR NODE"), "."]; // where there is a folder
  return ["Select a node to see why. ", reach, some, more];
}

function chooser() {
  const step = (by) => {
    const shown = list.found();
    go(shown[shown.indexOf(chosen) + by] ?? shown[0] ?? chosen);
  };
  const go = (rank) => { location.hash = `#n${rank}`; };
  const told = el("span", { class: "soft small", role: "status" });
  const names = el("datalist", { id: "names" }, listed.slice(0, 50).map((rank) => el("option", { value: shownName(rank) })));
  const suggest = ({ target }) => {
    names.replaceChildren(...search(target.value, 20).map((rank) => el("option", { value: shownName(rank) })));
  };
  const find = ({ target }) => {
    const [rank] = search(target.value, 1);
    told.textContent = rank || !target.value.trim() ? "" : `There is no node “${target.value}” on this page.`;
    if (rank) go(rank);
  };
  return el("div", { class: "controls" },
    el("button", { type: "button", id: "previous", onclick: () => step(-1) }, "← Previous"),
    el("button", { type: "button", id: "next", onclick: () => step(1) }, "Next →"),
    el("input", { type: "search", id: "find", class: "push", list: "names", placeholder: "Go to a node", "aria-label": "Go to a node",
      autocomplete: "off", spellcheck: "false", oninput: suggest, onchange: find }),
    names, told);
}

function scoresFigure() {
  const place = chosen === null ? null : { name: shownName(chosen), score: shownScore(chosen) };
  return [histogram({ ...page.scores, threshold: page.threshold }, place),
    el("figcaption", null, page.method && !page.probable && `The ${page.detector} score measures ${page.method}. `,
      `Each bar counts the nodes with a ${measure().toLowerCase()} in its range; nodes to the right of the dashed line, the `, term("Threshold", "threshold"), ", are flagged. The triangle marks the selected node.")];
}

// Relative links: they work while the page is in the folder of its run.
function fileLinks() {
  return el("p", { class: "files" }, "Beside this page, in the folder of the run: ",
    page.files.map((file, i) => [i > 0 && ", ", el("a", { href: file }, file)]), ".");
}

const list = listed.length ? nodeTable() : null;
const parts = { scores: el("figure"), chooser: chooser(), node: el("div") };
const panel = el("section", { id: "node", "aria-labelledby": "chosen" }, parts.chooser, parts.node);

function draw() {
  hideTip();
  parts.scores.replaceChildren(...scoresFigure());
  if (chosen === null) return;
  const command = page.files.length > 0 && `hopsight explain . ${quoted(shownName(chosen))}`;
  parts.node.replaceChildren(...[nodePanel(page, chosen, command, hasTruth && truthOf(chosen))].flat(Infinity).filter(Boolean));
  const shown = list.found();
  parts.chooser.querySelector("#previous").disabled = chosen === shown[0];
  parts.chooser.querySelector("#next").disabled = chosen === shown[shown.length - 1];
  for (const row of list.querySelectorAll("tbody tr")) {
    row.classList.toggle("chosen", row.querySelector("a")?.getAttribute("href") === `#n${chosen}`);
  }
}

// As a word of a command line, whatever is in it.
function quoted(text) {
  return /^[\w@%+:,./][\w@%+:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// The fragment of the address holds the rank of the selected node, so that links, the back button and bookmarks work.
function follow() {
  const match = /^#n(\d+)$/.exec(location.hash);
  if (!match) return;
  const rank = Number(match[1]);
  if (!(rank in page.egos)) return;
  chosen = rank;
  const moving = parts.node.contains(document.activeElement);
  const stepping = parts.chooser.contains(document.activeElement);
  draw();
  if (stepping) return;
  if (!moving || panel.getBoundingClientRect().top < 0) panel.scrollIntoView();
  document.getElementById("chosen").focus({ preventScroll: true });
}

const sections = [
  overview(page),
  list && section("Most anomalous nodes", listIntro(), list),
  section(page.probable ? "Probabilities" : "Scores", null, parts.scores),
  page.groups.length > 0 && section("Groups", groupIntro(), groupTable()),
  page.edges.length > 0 && section("Edges most out of place", edgeIntro(), edgeTable()),
  page.details.length > 0 && section("How this report was made", null, page.files.length > 0 && fileLinks(), records(page.details)),
].filter(Boolean);
document.getElementById("main").append(
  heading(), contents(sections),
  ...sections.map((each) => (list && each.contains(list) ? el("div", { class: "beside" }, each, panel) : each)),
  el("footer", { class: "page" }, "Made by hopsight. This file is self-contained and fetches nothing."));
document.body.append(tip);
draw();
follow();
addEventListener("hashchange", follow);
// As in many lists: the next and the previous node, the search, the sections; unless somebody is typing.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  const button = { j: "#next", k: "#previous" }[event.key];
  if (button) parts.chooser.querySelector(button).click();
  if (event.key === "/") { event.preventDefault(); parts.chooser.querySelector("#find").focus(); }
  const there = /^[1-9]$/.test(event.key) && sections[Number(event.key) - 1];
  if (there) { there.scrollIntoView(); there.querySelector("h2").focus({ preventScroll: true }); }
});
let drawnFor = room();
addEventListener("resize", () => {
  if (room() === drawnFor) return;
  drawnFor = room();
  draw();
});
