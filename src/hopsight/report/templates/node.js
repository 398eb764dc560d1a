// Everything about the chosen node: why it ranks where it does, its neighborhood, its attributes.

function nodePanel(page, node, command, truth) {
  const [label, , , , flagged, title_] = page.nodes[node];
  const reasons = page.reasons[node];
  return [
    el("h2", { id: "chosen", tabindex: "-1" }, name(label), title_ && el("span", { class: "title" }, name(title_)),
      el("span", { class: flagged ? "badge warm" : "badge" }, flagged ? "flagged" : "not flagged"),
      truth !== undefined && truth !== false && truth >= 0 && el("span", { class: truth ? "badge warm" : "badge" }, truth ? "known to be anomalous" : "known to be normal"),
      page.labeled?.[node] && el("span", { class: page.labeled[node] === "anomalous" ? "badge warm" : "badge" }, `labeled ${page.labeled[node]}`)),
    el("p", { class: "lead" }, reasons ? reasons.summary : place(page, node)),
    !reasons && command && el("p", { class: "soft small" }, "For the attributes and all edges, run in the folder of the results: ", el("code", null, command)),
    evidenceBars(page, node),
    values(page, node, reasons),
    (reasons?.notes || []).map((note) => el("p", { class: "soft small" }, `Note: ${note}`)),
    reasons?.without && withoutEdges(page, node, reasons.without),
    eventPanel(page, node),
    el("div", { class: "columns after" },
      el("div", { class: "ego" }, el("h3", null, "Neighborhood"), egoNetwork(page, node), egoLegend(page, node)),
      el("div", null, el("h3", null, "Neighbors"), neighbors(page, node))),
    reasons?.own.length > 0 && el("div", { class: "after" },
      el("h3", null, "Unusual attributes of the node itself"), ownValues(reasons.own), forCount(reasons.own.map(([each]) => each))),
    reasons?.attributes.length > 0 && el("div", { class: "after" },
      el("h3", null, "Attributes that differ most from those of its neighbors"), attributes(reasons.attributes), forCount(reasons.attributes.map(([each]) => each))),
  ];
}

// Evidence is −log₁₀ of the share of ordinary nodes that are as unusual; the mark stands at 3, 1 in 1,000.
const FULL = 6;

function evidenceBars(page, node) {
  const found = page.evidence[node];
  if (!found) return null;
  const [decided, ...strengths] = found;
  return [
    el("ul", { class: "evidence" }, page.kinds.map(([kind, counts, meaning], i) =>
      el("li", { class: [kind === decided && "decided", !counts && "faint"].filter(Boolean).join(" ") || null },
        el("b", null, term(kind)), evidenceBar(strengths[i]), el("span", { class: "number" }, fixed(strengths[i], 1)),
        el("span", { class: "soft small" }, counts ? meaning : `${meaning} (does not count)`)))),
    el("p", { class: "soft small" }, "The mark is at a ", term("Strength", "strength"), " of 3: as unusual as an estimated 1 in 1,000 ordinary nodes."),
  ];
}

function evidenceBar(strength) {
  const bar = el("i");
  bar.style.width = `${(100 * clamp(strength, 0, FULL)) / FULL}%`;
  return el("span", { class: "strength", "aria-hidden": "true" }, bar);
}

// Five small columns, one per kind, in the order of the legend.
function evidenceStrip(page, node) {
  const [decided, ...strengths] = page.evidence[node];
  const words = page.kinds.map(([kind], i) => `${kind} ${fixed(strengths[i], 1)}`).join(", ");
  const drawn = el("span", { class: "columns-of-evidence", role: "img", "aria-label": words }, page.kinds.map(([kind, counts], i) => {
    const bar = el("i", { class: kind === decided ? "decided" : counts ? null : "faint" });
    bar.style.height = `${Math.max(6, (100 * clamp(strengths[i], 0, FULL)) / FULL)}%`;
    return bar;
  }));
  return withTip(drawn, page.nodes[node][0], words.split(", "));
}

function place(page, node) {
  const [, , rank, , flagged] = page.nodes[node];
  const decided = page.evidence[node]?.[0];
  if (rank > page.n_ranked) return "Not ranked: it has no row in the node table.";
  return `Ranks ${whole(rank)} of ${whole(page.n_ranked)} (${flagged ? "" : "not "}flagged)${decided ? `, decided by ${decided}` : ""}.`;
}

function ownValues(rows) {
  return table({
    label: "Unusual attributes",
    rows,
    limit: 25,
    columns: [
      { label: "Attribute", value: (row) => row[0], cell: (row) => name(row[0]) },
      { label: "This node", right: true, value: (row) => row[3], text: (row) => row[1] },
      { label: "Among all nodes", value: (row) => row[2] },
    ],
  });
}

function values(page, node, reasons) {
  const [, own, rank, degree] = page.nodes[node];
  const item = (label, value, words, word = label) => el("li", null, term(word, label), el("b", null, value), el("span", null, words));
  const above = (percentile) => `higher than for ${percent(percentile)} of nodes`;
  const known = page.kinds.length ? [] : reasons?.values || []; // evidence says it in words
  const same = known.find(([, value]) => value === own);
  return el("ul", { class: "values" },
    item(same ? `Score (${title(same[0])})` : measure(), level(own), page.probable ? `flagged from ${(100 * page.threshold).toFixed(1)}%` : `flagged above ${score(page.threshold)}`, measure()),
    rank > page.n_ranked ? item("Rank", "–", "not ranked") : item("Rank", whole(rank), `of ${whole(page.n_ranked)}`),
    item("Connections", whole(degree), reasons && `more than ${percent(reasons.degree_percentile)} of nodes`),
    known.filter((value) => value !== same).map(([key, value, percentile, meaning]) =>
      item(title(key), number(value), `${meaning}; ${above(percentile)}`)));
}

function title(key) {
  return { ahp: "AHP", iv: "IV", hav: "HAV" }[key] || key.replaceAll("_", " ");
}

function withoutEdges(page, node, [count, newScore, newRank]) {
  const last = count - 1;
  const edges = page.egos[node].edges.slice(0, count).map(([other], i) => [i > 0 && (i === last ? " and " : ", "), nodeLink(page, other)]);
  const [, own, rank] = page.nodes[node];
  return el("p", { class: "notice" }, `Without the ${edges.length === 1 ? "edge" : "edges"} to `, edges,
    `, the ${measure().toLowerCase()} would be about ${level(newScore)} instead of ${level(own)}`,
    newRank === rank ? `; it would still rank ${whole(rank)}.` : ` and the rank about ${whole(newRank)} instead of ${whole(rank)}.`);
}

// Where a node is shown; a server can show any node.
function address(page, node) {
  return page.served || node in page.egos ? `#n${node}` : null;
}

// The id of a node, after the name to show where it has one.
function fullName(page, node) {
  const [id, , , , , title_] = page.nodes[node];
  return title_ && title_ !== id ? `${title_} (${id})` : id;
}

function nodeLink(page, node) {
  const label = name(fullName(page, node));
  const href = address(page, node);
  return href ? el("a", { href }, label) : label;
}

function neighbors(page, node) {
  const rows = shownEgo(page, node).edges;
  if (!rows.length) return el("p", { class: "soft" }, page.egos[node].edges.length ? "All relations are hidden." : "This node has no neighbors.");
  const total = page.egos[node].total;
  const hasHops = rows.some((row) => row[1] !== null);
  const unlike = rows.some((row) => row[4] !== null);
  const of = (row) => page.nodes[row[0]];
  const columns = [
    { label: "Neighbor", wide: true, value: (row) => fullName(page, row[0]), cell: (row) => nodeLink(page, row[0]) },
    rows[0][5] !== undefined && { label: "Relation", value: (row) => row[5] },
    hasHops && { label: "Hops", right: true, value: (row) => row[1], text: (row) => fixed(row[1], 2), title: "how far away it looks" },
    hasHops && !unlike && rows.some((row) => row[2] !== null) && { label: "Variance", right: true, value: (row) => row[2], text: (row) => fixed(row[2], 3), title: "how uncertain the model is" },
    hasHops && rows.some((row) => row[3] !== null) && { label: "P(1 hop)", right: true, value: (row) => row[3], text: (row) => chance(row[3]), title: "probability of really being a neighbor" },
    unlike && { label: "Less alike than", right: true, value: (row) => row[4], text: (row) => (row[4] === null ? "–" : percent(row[4])), title: "of edges" },
    { label: measure(), right: true, value: (row) => of(row)[1], text: (row) => level(of(row)[1]), warm: (row) => of(row)[4] },
    !hasHops && { label: "Connections", right: true, value: (row) => of(row)[3], text: (row) => whole(of(row)[3]) },
  ].filter(Boolean);
  return [
    table({ label: "Neighbors", columns, rows, limit: 12, search: rows.length > 12 || rows[0][5] !== undefined ? "Search the neighbors" : null }),
    total > rows.length && el("p", { class: "soft small" }, `Showing ${whole(rows.length)} of ${whole(total)} edges.`),
  ];
}

// Rows: name, own value and that of the neighbors as text; value, low, median, high, difference, percentile, share.
function attributes(rows) {
  return table({
    label: "Attributes",
    rows,
    limit: 25,
    faint: (row) => Math.abs(row[7]) < 1,
    columns: [
      { label: "Attribute", wide: true, value: (row) => row[0], cell: (row) => name(row[0]) },
      { label: "This node", right: true, value: (row) => row[3], text: (row) => row[1] },
      {
        label: "Neighbors", value: (row) => row[5], text: (row) => row[2], title: "10–90% range, or the most common value",
        cell: (row) => el("div", { class: "against" }, row[9] === null ? strip(row[3], row[4], row[5], row[6]) : shareStrip(row[3], row[9]), el("span", { class: "soft number" }, row[2])),
      },
      { label: "Difference", right: true, value: (row) => Math.abs(row[7]), text: (row) => `${row[7] > 0 ? "+" : "−"}${fixed(Math.abs(row[7]), 1)}`, title: "in units of how much connected nodes usually differ" },
      { label: "Higher than", right: true, wide: true, value: (row) => row[8], text: (row) => (row[9] === null ? percent(row[8]) : "–"), title: "of nodes" },
    ],
  });
}
