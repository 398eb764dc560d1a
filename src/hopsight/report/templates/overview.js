// The first screen: the strongest suspects with what their scores are made of, and the groups as small drawings.
const N_SUSPECTS = 10;
const N_DRAWN = 6;
const MOST_MEMBERS = 16;

function overview(page) {
  if (!page.top.length) return null;
  const rest = page.summary.slice(1).map((text) => el("p", null, text));
  return section("At a glance", null,
    el("div", { class: page.groups.length ? "glance two" : "glance" },
      el("div", null, el("h3", null, page.probable ? "The strongest suspects, and what is unusual about them" : "The strongest suspects, and what their scores are made of"), suspects(page), kindLegend(page)),
      page.groups.length > 0 && el("div", null, el("h3", null, page.n_groups > N_DRAWN ? `The first ${N_DRAWN} of ${whole(page.n_groups)} suspicious groups` : plural(page.n_groups, "suspicious group")), groupDrawings(page))),
    el("div", { class: "in-words" }, rest));
}

function suspects(page) {
  const rows = page.top.slice(0, N_SUSPECTS);
  const most = Math.max(...rows.map((node) => page.nodes[node][1]));
  return el("ol", { class: "suspects" }, rows.map((node) => {
    const [, own] = page.nodes[node];
    const [id, , , , , title_] = page.nodes[node];
    const shown = title_ && title_ !== id ? [name(title_), el("span", { class: "id" }, name(id))] : el("span", { class: "id" }, name(id));
    return el("li", null, el("a", { href: address(page, node) }, shown), scoreBar(page, node, most), el("span", { class: "number" }, level(own, 3)),
      el("span", { class: "soft small why" }, why(page, node)));
  }));
}

// A score is the root of a sum of squares, so each kind gets its share of the sum, by its weight (0 if it does not count).
function scoreBar(page, node, most) {
  const bar = el("span", { class: "score-bar", role: "img" });
  const full = most > 0 ? (100 * Math.max(0, page.nodes[node][1])) / most : 0;
  const strengths = page.evidence[node]?.slice(1) ?? [];
  const squares = page.kinds.map(([, weight], i) => (weight * Math.max(0, strengths[i])) ** 2);
  const sum = squares.reduce((a, b) => a + b, 0);
  if (!sum) squares.splice(0, squares.length, 1);
  squares.forEach((square, i) => {
    const part = el("i", { class: `kind-${page.kinds[i]?.[0] ?? "score"}` });
    part.style.width = `${(full * square) / (sum || 1)}%`;
    bar.append(part);
  });
  const words = page.kinds.map(([kind], i) => `${kind} ${fixed(strengths[i], 1)}`);
  if (!words.length) words.push(`${measure().toLowerCase()} ${level(page.nodes[node][1])}`);
  bar.setAttribute("aria-label", words.join(", "));
  return withTip(bar, fullName(page, node), words);
}

function why(page, node) {
  const decided = page.evidence[node]?.[0];
  const meaning = page.kinds.find(([kind]) => kind === decided)?.[2];
  return page.reasons[node]?.why || (meaning ?? page.reasons[node]?.attributes[0]?.[0] ?? "");
}

function kindLegend(page) {
  return page.kinds.length > 0 && el("p", { class: "legend kinds" }, page.kinds.filter(([, counts]) => counts).map(([kind]) =>
    el("span", null, el("i", { class: `kind-${kind}` }), term(kind))));
}

function groupDrawings(page) {
  return el("ul", { class: "drawings" }, page.groups.slice(0, N_DRAWN).map(([number_, kind, members, size, density, , about, types]) => {
    const lines = [`a ${kind} of ${whole(size)}, ${share(density)} of their pairs connected`, about];
    const link = el("a", { href: address(page, members[0]), "aria-label": `Group ${number_}, a ${kind} of ${size}` }, drawing(page, members, kind, types));
    return el("li", null, withTip(link, `Group ${number_}`, lines), el("span", { class: "small" }, `Group ${number_}: ${{ cycle: "circle" }[kind] ?? kind} of ${whole(size)}`));
  }));
}

// Each member after one that it is connected to, as far as possible: so a circle of payments is drawn as one.
function inTurn(page, members) {
  const left = new Set(members), found = [];
  for (const first of members) {
    for (let node = first; left.delete(node);) {
      found.push(node);
      node = (page.egos[node]?.edges ?? []).map(([other]) => other).find((other) => left.has(other)) ?? node;
    }
  }
  return found;
}

// Members in a circle; in the middle the nodes of other types that a group has gathered around.
function drawing(page, members, kind, types) {
  const shown = inTurn(page, members.slice(0, MOST_MEMBERS));
  const place = new Map(shown.map((node, i) => {
    const angle = (2 * Math.PI * i) / shown.length - Math.PI / 2;
    return [node, [50 + 40 * Math.cos(angle), 50 + 40 * Math.sin(angle)]];
  }));
  const edges = shown.flatMap((node) => (page.egos[node]?.edges ?? []).filter(([other]) => place.has(other) && other > node).map(([other]) => [node, other]));
  return svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" },
    edges.map(([a, b]) => svg("line", { x1: place.get(a)[0], y1: place.get(a)[1], x2: place.get(b)[0], y2: place.get(b)[1] })),
    types.slice(0, 3).map((type, i) => shape(type, 50 + 16 * (i - (Math.min(types.length, 3) - 1) / 2), 50, 8)),
    shown.map((node) => svg("circle", { class: `kind-${kind}`, cx: place.get(node)[0], cy: place.get(node)[1], r: 6 })));
}
