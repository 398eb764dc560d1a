// All nodes of the graph, packed: unpacked in the background after the page is drawn, or when somebody asks for a node.

const page = data();
const packed = page.archive;
const numberOf = new Map(); // the number of a node on this page, by its rank
let opening = null;
let all = null; // what was unpacked

page.words = {}; // sentences about nodes that were unpacked
page.truth = { ...page.truth };
page.nodes.forEach((row, i) => numberOf.set(row[2], i));
if (page.more && typeof page.more !== "string") join(page.more);

function openArchive() {
  opening ??= typeof DecompressionStream === "function" ? unpack().catch(() => null) : Promise.resolve(null);
  return opening;
}

// Further nodes, drawings and reasons, whose numbers continue those of the page.
function join({ nodes, truth, egos, reasons }) {
  nodes.forEach((row, i) => {
    numberOf.set(row[2], page.nodes.length);
    if (truth.length) page.truth[page.nodes.length] = truth[i];
    page.nodes.push(row);
  });
  Object.assign(page.egos, egos);
  Object.assign(page.reasons, reasons);
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function inflateJson(text) {
  return JSON.parse(new TextDecoder().decode(await inflate(text)));
}

async function unpack() {
  if (typeof page.more === "string") join(await inflateJson(page.more));
  if (!packed) return null;
  const { n, m, kinds, decides } = packed;
  const [names, titles, scores, degrees, planes, ends, hops, words] = await Promise.all([
    unpackNames(), packed.titles && inflateJson(packed.titles), inflateJson(packed.scores), inflateJson(packed.degrees), inflate(packed.planes),
    inflate(packed.ends), packed.hops && inflate(packed.hops), packed.words && inflateJson(packed.words),
  ]);
  const plane = (i) => planes.subarray(i * n, (i + 1) * n);
  all = {
    n, names, titles, scores, degrees, flags: plane(0), decided: decides && plane(1), decides,
    evidence: kinds.map((_, i) => plane(i + 2)), words: new Map(words ?? []), ...adjacency(ends, hops, n, m),
  };
  return all;
}

async function unpackNames() {
  const { prefix, width, n } = packed;
  if (!width) return (await inflateJson(packed.names)).map((rest) => prefix + rest);
  const text = new TextDecoder().decode(await inflate(packed.names));
  return Array.from({ length: n }, (_, i) => prefix + text.slice(i * width, (i + 1) * width));
}

// Edges are kept once, at the end with the lower rank; this returns both directions: where each node's neighbors start.
function adjacency(ends, hops, n, m) {
  let at = 0;
  const next = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = ends[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const counts = Array.from({ length: n }, next);
  const [low, high] = [new Uint32Array(m), new Uint32Array(m)];
  const starts = new Uint32Array(n + 1);
  for (let node = 0, edge = 0; node < n; node += 1) {
    let other = 0;
    for (let i = 0; i < counts[node]; i += 1, edge += 1) {
      other += next();
      low[edge] = node;
      high[edge] = other;
      starts[node + 1] += 1;
      starts[other + 1] += 1;
    }
  }
  for (let node = 0; node < n; node += 1) starts[node + 1] += starts[node];
  const [others, apart, free] = [new Uint32Array(2 * m), hops && new Uint8Array(2 * m), starts.slice()];
  for (let edge = 0; edge < m; edge += 1) {
    for (const [here, there] of [[low[edge], high[edge]], [high[edge], low[edge]]]) {
      if (apart) apart[free[here]] = hops[edge];
      others[free[here]++] = there;
    }
  }
  return { starts, others, apart };
}

// Values of a node by its rank: those of an explained node are exact.
function shownName(rank) {
  return numberOf.has(rank) ? page.nodes[numberOf.get(rank)][0] : all.names[rank - 1];
}

// The name to show beside the id, where nodes have one.
function shownTitle(rank) {
  return (numberOf.has(rank) ? page.nodes[numberOf.get(rank)][5] : all?.titles?.[rank - 1]) || null;
}

function shownScore(rank) {
  return numberOf.has(rank) ? page.nodes[numberOf.get(rank)][1] : all.scores[rank - 1];
}

function shownDegree(rank) {
  return numberOf.has(rank) ? page.nodes[numberOf.get(rank)][3] : all.degrees[rank - 1];
}

function isFlagged(rank) {
  return numberOf.has(rank) ? page.nodes[numberOf.get(rank)][4] : all.flags[rank - 1] & 1;
}

function shownEvidence(rank) {
  const known = page.evidence[numberOf.get(rank)];
  if (known || !all || rank > all.n || !page.kinds.length) return known ?? null;
  return [all.decided && all.decides[all.decided[rank - 1]], ...all.evidence.map((values) => values[rank - 1] / 10)];
}

function decidedBy(rank) {
  const known = page.evidence[numberOf.get(rank)];
  if (known || !all?.decided || rank > all.n) return known?.[0] ?? null;
  return all.decides[all.decided[rank - 1]];
}

// 1 anomalous, 0 normal, −1 unknown: as the labels that came with the data.
function truthOf(rank) {
  const known = page.truth[numberOf.get(rank)];
  if (known !== undefined || !all) return known ?? -1;
  return all.flags[rank - 1] & 4 ? 1 : all.flags[rank - 1] & 2 ? 0 : -1;
}

// Add a node to those of the page, and return its number there; null if the page does not have it.
function take(rank) {
  if (!numberOf.has(rank)) {
    if (!all || rank < 1 || rank > all.n) return null;
    numberOf.set(rank, page.nodes.length);
    page.nodes.push([all.names[rank - 1], all.scores[rank - 1], rank, all.degrees[rank - 1], all.flags[rank - 1] & 1, all.titles?.[rank - 1]]);
    page.truth[page.nodes.length - 1] = all.flags[rank - 1] & 4 ? 1 : all.flags[rank - 1] & 2 ? 0 : -1;
  }
  return numberOf.get(rank);
}

// Make a node ready to be shown, with its evidence and its neighbors.
function prepare(rank) {
  const node = take(rank);
  if (node === null) return null;
  const evidence = shownEvidence(rank);
  if (evidence) page.evidence[node] = evidence;
  if (!(node in page.egos)) {
    if (!all || rank > all.n) return null;
    page.egos[node] = surroundings(rank);
  }
  if (all?.words.has(rank)) page.words[node] = all.words.get(rank);
  return node;
}

function neighborsOf(rank) {
  const found = new Map();
  for (let i = all.starts[rank - 1]; i < all.starts[rank]; i += 1) {
    const other = all.others[i] + 1;
    found.set(other, Math.max(all.apart ? all.apart[i] / 10 : 0, found.get(other) ?? 0));
  }
  return found;
}

const MOST_NEIGHBORS = 60;

function surroundings(rank) {
  const found = [...neighborsOf(rank)].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_NEIGHBORS);
  const near = new Set(found.map(([other]) => other));
  const between = found.flatMap(([other]) => [...neighborsOf(other)]
    .filter(([third]) => near.has(third) && third > other)
    .map(([third, hop]) => [take(other), take(third), all.apart ? hop : null]));
  const edges = found.map(([other, hop]) => [take(other), all.apart ? hop : null, null, null]);
  return { total: all.degrees[rank - 1], edges, between };
}

// Ranks of nodes whose ids or names match what somebody typed: the exact id first, then exact names, beginnings, any part.
function search(text, most) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const ranks = all ? all.names.keys() : numberOf.keys();
  const found = [[], [], [], []];
  for (const key of ranks) {
    const rank = all ? key + 1 : key;
    const label = shownName(rank);
    const folded = [label, shownTitle(rank) ?? ""].map((each) => each.toLowerCase());
    const places = folded.map((each) => each.indexOf(wanted)).filter((place) => place >= 0);
    if (places.length) found[label === text ? 0 : folded.includes(wanted) ? 1 : Math.min(...places) === 0 ? 2 : 3].push(rank);
  }
  return found.flat().slice(0, most);
}
