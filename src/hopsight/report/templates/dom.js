// Elements are made from text only: no markup is ever parsed, so no name can become an element.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of [children].flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// The name of a node or an attribute, isolated from the text around it whatever its writing direction;
// lines break after punctuation rather than within a word.
function name(text) {
  return el("bdi", null, String(text).split(/(?<=[_=./:-])/).map((part, i) => [i > 0 && el("wbr"), part]));
}

// What a word of the report means; other pages have no glossary.
function glossary(word) {
  return page.glossary?.[word];
}

// A word that says what it means on hover, touch and keyboard focus.
function term(word, label = word) {
  const meaning = glossary(word);
  return meaning ? withTip(el("span", { class: "term", tabindex: "0" }, label), word, [meaning]) : el("span", null, label);
}

function section(title, intro, ...children) {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return el("section", { id }, el("h2", { tabindex: "-1" }, title), intro && el("p", { class: "intro" }, intro), ...children);
}

// What decides whether the page is worth anything: which columns are the ends of edges, and which rows were left out.
const DECISIVE = /^Read edges from|not ranked|^Left out|no such|not read/;
const N_DECISIVE = 3;

// How the data was read; most notices fold into one line, so that the first screen shows what was found.
function notices(texts) {
  const first = texts.filter((text) => DECISIVE.test(text) || texts.length < 2).slice(0, N_DECISIVE);
  const others = texts.filter((text) => !first.includes(text));
  return [
    first.length > 0 && el("ul", { class: "notice small" }, first.map((text) => el("li", null, text))),
    others.length > 0 && el("details", { class: "notice small quiet" }, el("summary", null, `${plural(others.length, first.length ? "more note" : "note")} on the data and the run`), el("ul", null, others.map((text) => el("li", null, text)))),
  ];
}

// A name of at most so many characters; an id keeps its end, by which alike ones differ.
function shortName(label, most) {
  if (label.length <= most) return label;
  return /\s/.test(label) ? `${label.slice(0, most - 1)}…` : `${label.slice(0, most - 6)}…${label.slice(-5)}`;
}

// The record of a run: titled lists of names and values.
function records(details) {
  return el("div", { class: "grid" }, details.map(({ title, rows }) => el("div", null, el("h3", null, title),
    el("dl", { class: "facts-list" }, rows.map(([key, value]) => [el("dt", null, key), el("dd", null, name(value))])))));
}

function whole(value) {
  return value.toLocaleString("en");
}

function plural(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4)) return value.toExponential(2);
  const rounding = Math.abs(value) >= 1e3 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: digits };
  return value.toLocaleString("en", rounding).replace("-", "−");
}

// How to read such values, where there are any.
function forCount(attributes) {
  return attributes.some((each) => each.endsWith(" for its count")) && el("p", { class: "soft small" },
    "“for its count” compares with nodes that have about as many edges: + and − are differences, × is a factor.");
}

// A score, always with the same number of digits, so that columns line up.
function score(value, digits = 4) {
  if (typeof value !== "number" || Math.abs(value) >= 1e3 || Math.abs(value) < 1e-4) return number(value, digits);
  return value.toLocaleString("en", { minimumSignificantDigits: digits, maximumSignificantDigits: digits }).replace("-", "−");
}

// What nodes are ranked by: scores, or probabilities once labels make the ranking, rounded as on the console.
function level(value, digits) {
  if (!page.probable) return score(value, digits);
  return value < 0.01 ? "<1%" : value < 0.99 ? share(value) : percent(100 * value);
}

function measure() {
  return page.probable ? "Probability" : "Score";
}

// A share of 1 as a percentage, rounded as on the console.
function share(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en", { style: "percent", roundingMode: "halfEven" });
}

function fixed(value, digits) {
  if (value === null || value === undefined) return "–";
  const least = 10 ** -digits;
  return value > 0 && value < least / 2 ? `< ${least}` : value.toFixed(digits);
}

// Small probabilities keep two digits, because edges out of place differ only there.
function chance(value) {
  if (value === null || value === undefined) return "–";
  return value < 1e-4 ? "< 0.0001" : value < 0.01 ? value.toPrecision(2) : value.toFixed(3);
}

// Rounded down, because no node has a value higher than 100% of nodes.
function percent(value) {
  return `${value < 99 ? Math.floor(value) : Math.floor(value * 10) / 10}%`;
}

// Width in pixels of the content of a section: drawings of that width need no scaling, which would shrink their text.
function room() {
  const [outer, inner] = innerWidth <= 560 ? [24, 34] : [48, 66];
  return Math.max(260, Math.min(1120, document.documentElement.clientWidth) - outer - inner);
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

const tip = el("div", { id: "tip", role: "status", hidden: true });

let tipOwner = null;

function placeTip() {
  if (tipOwner === null) return;
  const box = tipOwner.getBoundingClientRect();
  const own = tip.getBoundingClientRect();
  const above = box.top - own.height - 10;
  tip.style.left = `${clamp(box.left + box.width / 2 - own.width / 2, 8, innerWidth - own.width - 8)}px`;
  tip.style.top = `${above < 8 ? box.bottom + 10 : above}px`;
}

function hideTip() {
  tipOwner = null;
  tip.hidden = true;
}

// Shows values on hover, touch and keyboard focus.
function withTip(element, title, lines) {
  const show = () => {
    tip.replaceChildren(el("b", null, name(title)), ...lines.map((line) => el("div", null, line)));
    tip.hidden = false;
    tipOwner = element;
    placeTip();
  };
  for (const event of ["pointerenter", "focus"]) element.addEventListener(event, show);
  for (const event of ["pointerleave", "blur"]) element.addEventListener(event, hideTip);
  return element;
}

addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
addEventListener("scroll", placeTip, { passive: true });

// t from 0 (near, ordinary) to 1 (far, anomalous): five colors that color-blind readers can tell apart.
function ramp(t) {
  const place = clamp(t, 0, 1) * 4;
  const low = Math.min(3, Math.floor(place));
  return `color-mix(in srgb, var(--ramp-${low}), var(--ramp-${low + 1}) ${Math.round((place - low) * 100)}%)`;
}

// The data of a large page is compressed.
async function data() {
  const block = document.getElementById("data");
  if (block.type !== "application/gzip") return JSON.parse(block.textContent);
  if (typeof DecompressionStream !== "function") {
    document.getElementById("main").append(el("p", { class: "lone" }, "This page needs a browser of 2023 or later."));
  }
  const bytes = Uint8Array.from(atob(block.textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
