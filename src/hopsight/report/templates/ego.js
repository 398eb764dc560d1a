// One node and its neighbors: the farther the model thinks a neighbor is, the farther out it is drawn.

const hidden = new Set(); // relations that are not shown; "shared device" stands for devices
const SHARED = "shared ";

function shownEgo(page, center) {
  const ego = page.egos[center];
  if (!ego.types) return ego;
  const edges = ego.edges.filter((row) => row[5].split(", ").some((word) => !hidden.has(word)));
  const near = new Set(edges.map(([node]) => node));
  return {
    ...ego, edges, between: ego.between.filter(([a, b]) => near.has(a) && near.has(b)),
    others: ego.others.filter(([type]) => !hidden.has(SHARED + ego.types[type])),
  };
}

function egoNetwork(page, center) {
  const ego = shownEgo(page, center);
  const size = innerWidth > 900 ? clamp(room() * 0.44, 300, 500) : clamp(room(), 260, 560);
  const middle = size / 2;
  const [near, far] = [size * 0.13, size * 0.41];
  const [low, high] = page.range.hops;
  const hasHops = ego.edges.some(([, hop]) => hop !== null);
  const radius = hasHops ? linear(low, high, near, far) : () => far * 0.85;
  const places = arrange(ego, middle, (hop) => radius(hop ?? low));
  const drawn = svg("svg", {
    viewBox: `0 0 ${size} ${size}`, role: "group",
    "aria-label": `${fullName(page, center)} and its neighbors`,
  });
  if (hasHops) drawn.append(...rings(radius, low, high, middle));
  drawn.append(...ties(page, ego, places), ...spokes(page, center, ego, places, middle));
  const labeled = places.size <= 16;
  drawn.append(...sharedNodes(ego, places, middle, labeled));
  for (const [node, place] of places) drawn.append(spot(page, node, place, labeled, places.size));
  drawn.append(spot(page, center, { x: middle, y: middle, center: true }, labeled, 1));
  return drawn;
}

function egoLegend(page, center) {
  const ego = shownEgo(page, center);
  const hasHops = ego.edges.some(([, hop]) => hop !== null);
  const [low, high] = page.range.hops;
  const ramped = (label, from, to) => el("span", null, `${label}: ${from}`, el("i", { class: "ramp" }), to);
  return el("div", { class: "legend" },
    relationToggles(page.egos[center]),
    hasHops && ramped("edges", `${number(low, 2)} hop`, `${number(high, 2)} hops`),
    ramped("nodes", `low ${measure().toLowerCase()}`, `high ${measure().toLowerCase()}`),
    el("span", null, "outlined: flagged"),
    ego.edges.some((row) => isShared(row[5])) && el("span", null, "dashed: only by what both share"),
    ego.others?.length < ego.n_others && el("span", null, `${whole(ego.others.length)} of ${whole(ego.n_others)} shared nodes of other types`),
    ego.total > ego.edges.length &&
      el("span", null, `the ${whole(ego.edges.length)}${hasHops && !hidden.size ? " farthest" : ""} of ${whole(ego.total)} edges`));
}

// A button for each relation and each type around a node, which hides and shows what belongs to it.
function relationToggles(ego) {
  if (!ego.types) return null;
  const words = new Set([...ego.edges.flatMap((row) => row[5].split(", ")), ...ego.others.map(([type]) => SHARED + ego.types[type])]);
  return el("div", { class: "toggles", role: "group", "aria-label": "Relations to show" }, [...words].sort().map((word) => {
    const type = word.startsWith(SHARED) ? ego.types.indexOf(word.slice(SHARED.length)) : -1;
    const mark = type < 0 ? svg("line", { x1: 1, y1: 7, x2: 13, y2: 7 }) : shape(type, 7, 7, 6);
    const toggle = () => {
      if (!hidden.delete(word)) hidden.add(word);
      draw();
      [...document.querySelectorAll(".toggles button")].find((button) => button.dataset.relation === word)?.focus();
    };
    return el("button", { type: "button", "aria-pressed": String(!hidden.has(word)), "data-relation": word, onclick: toggle },
      svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, mark), word);
  }));
}

// Nodes of other types have the corners and the color of their type; those of the ranked type are round.
const CORNERS = [[4, 45], [4, 0], [3, 90], [6, 0], [5, 90]];

function shape(type, x, y, r) {
  const [count, turn] = CORNERS[type % CORNERS.length];
  const corners = Array.from({ length: count }, (_, i) => {
    const angle = ((360 * i) / count - turn) * (Math.PI / 180);
    return `${(x + r * Math.cos(angle)).toFixed(1)},${(y + r * Math.sin(angle)).toFixed(1)}`;
  });
  return svg("polygon", { class: `other type-${type % CORNERS.length}`, points: corners.join(" ") });
}

// What the node in the middle shares, each between it and the neighbors that share it.
function sharedNodes(ego, places, middle, labeled) {
  const shared = (ego.others ?? []).map(([type, label, count, sharing]) => {
    const near = sharing.map((node) => places.get(node)).filter(Boolean);
    const angle = near.length ? Math.atan2(sum(near.map((place) => Math.sin(place.angle))), sum(near.map((place) => Math.cos(place.angle)))) : Math.PI / 2;
    return { type, label, count, near, angle };
  }).sort((a, b) => a.angle - b.angle);
  const apart = Math.min(0.4, (2 * Math.PI) / Math.max(shared.length, 1));
  return shared.flatMap((each, i) => {
    if (i > 0) each.angle = Math.max(each.angle, shared[i - 1].angle + apart);
    const [x, y] = [middle + middle * 0.36 * Math.cos(each.angle), middle + middle * 0.36 * Math.sin(each.angle)];
    const ends = [{ x: middle, y: middle }, ...each.near];
    const name_ = `${ego.types[each.type]} ${each.label}`;
    const spot_ = svg("g", { class: "spot", tabindex: "0", role: "img", "aria-label": `${name_}, shared by ${whole(each.count)}` },
      shape(each.type, x, y, 8), labeled && svg("text", { class: "label", x, y: y + 18, "text-anchor": "middle" }, shortName(each.label, 14)));
    return [
      ...ends.map((end) => svg("line", { class: `of-type type-${each.type % CORNERS.length}`, x1: x, y1: y, x2: end.x, y2: end.y })),
      withTip(spot_, name_, [`shared by ${whole(each.count)}`, each.near.length > 0 && `${whole(each.near.length)} of them drawn here`].filter(Boolean)),
    ];
  });
}

function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

// An edge that is there only because both ends share a node of another type, such as a device.
function isShared(relation) {
  return relation !== undefined && relation.split(", ").every((word) => word.startsWith(SHARED));
}

// Neighbors that are connected to each other are placed side by side, largest group first.
function arrange(ego, middle, radius) {
  const hops = new Map();
  for (const [node, hop] of ego.edges) hops.set(node, Math.max(hop ?? 0, hops.get(node) ?? 0));
  const order = groups([...hops.keys()], ego.between).flat();
  const places = new Map();
  order.forEach((node, i) => {
    const angle = (2 * Math.PI * (i + 0.5)) / order.length - Math.PI / 2; // the top is left free for the names of the rings
    const hop = hops.get(node) || null;
    const r = radius(hop);
    places.set(node, { x: middle + r * Math.cos(angle), y: middle + r * Math.sin(angle), angle, hop, size: 2 * middle });
  });
  return places;
}

function groups(nodes, between) {
  const next = new Map(nodes.map((node) => [node, []]));
  for (const [a, b] of between) {
    next.get(a)?.push(b);
    next.get(b)?.push(a);
  }
  const seen = new Set();
  const found = [];
  for (const start of nodes) {
    if (seen.has(start)) continue;
    const group = [];
    const waiting = [start];
    seen.add(start);
    while (waiting.length) {
      const node = waiting.pop();
      group.push(node);
      for (const other of next.get(node)) {
        if (!seen.has(other)) {
          seen.add(other);
          waiting.push(other);
        }
      }
    }
    found.push(group);
  }
  return found.sort((a, b) => b.length - a.length);
}

function rings(radius, low, high, middle) {
  const whole = [];
  for (let hop = Math.ceil(low); hop <= high + 0.01; hop += 1) whole.push(hop);
  return whole.flatMap((hop) => [
    svg("circle", { class: "ring", cx: middle, cy: middle, r: radius(hop) }),
    svg("text", { x: middle, y: middle - radius(hop) - 4, "text-anchor": "middle" }, hop === 1 ? "1 hop" : `${hop} hops`),
  ]);
}

function hopColor(page, hop) {
  const [low, high] = page.range.hops;
  return hop === null ? "var(--ramp-2)" : ramp((hop - low) / (high - low || 1));
}

function ties(page, ego, places) {
  return ego.between.filter(([a, b]) => places.has(a) && places.has(b)).map(([a, b, hop]) => {
    const [from, to] = [places.get(a), places.get(b)];
    const line = svg("line", { class: "tie", x1: from.x, y1: from.y, x2: to.x, y2: to.y });
    line.style.stroke = hopColor(page, hop);
    return line;
  });
}

function spokes(page, center, ego, places, middle) {
  return ego.edges.map(([node, hop, variance, probability, , relation]) => {
    const place = places.get(node);
    const ends = { x1: middle, y1: middle, x2: place.x, y2: place.y };
    const line = svg("line", { class: isShared(relation) ? "edge by-shared" : "edge", ...ends });
    line.style.stroke = hopColor(page, hop);
    if (hop === null) return line;
    return withTip(svg("g", null, line, svg("line", { class: "reach", ...ends })), `${fullName(page, center)} – ${fullName(page, node)}`,
      [relation, `ends look ${fixed(hop, 2)} hops apart`, variance !== null && `variance ${fixed(variance, 3)}`, probability !== null && `probability of 1 hop ${chance(probability)}`].filter(Boolean));
  });
}

function spot(page, node, place, labeled, count) {
  const [label, own, rank, degree, flagged] = page.nodes[node];
  const [low, high] = page.range.scores;
  const r = place.center ? 13 : clamp(11 - count / 10, 5, 9.5);
  const dot = svg("circle", { class: flagged ? "dot warm" : "dot", cx: place.x, cy: place.y, r });
  dot.style.fill = ramp((own - low) / (high - low || 1));
  const href = place.center ? null : address(page, node);
  const known = href !== null;
  const spoken = `${label}, ${measure().toLowerCase()} ${level(own)}, rank ${whole(rank)}`;
  const made = svg(known ? "a" : "g", {
    class: "spot", href, tabindex: "0", role: known ? "link" : "img", "aria-label": spoken,
  }, svg("circle", { class: "halo", cx: place.x, cy: place.y, r: r + 6 }), dot, labeled && caption(label, place, r));
  const lines = [`${measure().toLowerCase()} ${level(own)}${flagged ? ", flagged" : ""}`, `rank ${whole(rank)}`, plural(degree, "edge")];
  if (place.hop) lines.unshift(`looks ${fixed(place.hop, 2)} hops away`);
  if (!known && !place.center) lines.push("its neighbors are not on this page");
  return withTip(made, label, lines);
}

function caption(label, place, r) {
  const short = shortName(label, 14);
  if (place.center) return svg("text", { class: "label", x: place.x, y: place.y + r + 16, "text-anchor": "middle" }, short);
  const across = Math.cos(place.angle);
  const reach = place.x + Math.sign(across) * (r + 5 + short.length * 6.8);
  if (reach < 0 || reach > place.size) { // no space beside it: below it, along the border
    const [x, anchor] = reach < 0 ? [2, "start"] : [place.size - 2, "end"];
    return svg("text", { class: "label", x, y: place.y + r + 13, "text-anchor": anchor }, short);
  }
  const anchor = Math.abs(across) < 0.35 ? "middle" : across > 0 ? "start" : "end";
  const dx = anchor === "middle" ? 0 : Math.sign(across) * (r + 5);
  const dy = anchor === "middle" ? (Math.sin(place.angle) > 0 ? r + 15 : -r - 7) : 4;
  return svg("text", { class: "label", x: place.x + dx, y: place.y + dy, "text-anchor": anchor }, short);
}
