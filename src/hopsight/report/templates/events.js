// The events of a node: a timeline, incoming above the line and outgoing below it, and the flow, in on the left and out on the right.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// A time as the user's file writes dates; numbers that are no dates stay numbers.
function dayOf(page, time) {
  if (!page.dates) return number(time);
  const at = new Date(time * 1000);
  const two = (value) => String(value).padStart(2, "0");
  const parts = { "%Y": at.getUTCFullYear(), "%m": two(at.getUTCMonth() + 1), "%d": two(at.getUTCDate()), "%b": MONTHS[at.getUTCMonth()] };
  return page.dates.replace(/%[Ymdb]/g, (part) => parts[part]);
}

function momentOf(page, time) {
  if (!page.dates || time % 86400 === 0) return dayOf(page, time);
  return `${dayOf(page, time)} ${new Date(time * 1000).toISOString().slice(11, 16)}`;
}

function amountOf(value, currency) {
  return currency ? `${number(value)} ${currency}` : number(value);
}

// Large numbers in little room: 23.7K.
function compact(value) {
  return value.toLocaleString("en", value >= 1e4 ? { notation: "compact", maximumSignificantDigits: 3 } : { maximumSignificantDigits: 4 });
}

// The card of a node may be beside a list, and narrower than the page (overview.css).
function paneRoom() {
  const beside = innerWidth >= 1180 && document.querySelector(".beside");
  return beside ? ((Math.min(1480, innerWidth - 32) - 20) * 11) / 25 - 40 : room();
}

function eventPanel(page, node) {
  const events = page.events?.[node];
  if (!events) return null;
  const timed = events.rows.filter((row) => row[3] !== null);
  return [
    timed.length > 0 && el("div", { class: "after" }, el("h3", null, "Events over time"), el("figure", null, eventLine(page, node, timed, events), eventLegend(events, timed))),
    el("div", { class: "after" }, el("h3", null, events.amounts ? "Where amounts come from and go to" : "Where events come from and go to"), el("figure", null, flowChart(page, node, events))),
  ];
}

function eventLegend(events, timed) {
  const some = timed.length < events.all ? ` The ${whole(timed.length)} largest of ${whole(events.all)} events.` : "";
  return el("figcaption", null, el("i", { class: "event-key in" }), "incoming, above the line; ", el("i", { class: "event-key out" }), `outgoing, below it.${events.amounts ? " Heights are square roots of amounts." : ""}${some}`);
}

function eventLine(page, node, rows, { amounts, currency }) {
  const size = { ...chartSize(), width: paneRoom(), height: 220 };
  const { width, left, right, top, bottom, height } = size;
  const times = rows.map((row) => row[3]);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const pad = (last - first || 1) * 0.02;
  const x = linear(first - pad, last + pad, left + 14, width - right);
  const tall = (row) => (amounts ? row[2] ?? 0 : 1);
  const most = Math.max(1e-9, ...rows.map(tall));
  const zero = (top + height - bottom) / 2;
  const reach = zero - top;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Events of ${fullName(page, node)} over time` },
    svg("line", { class: "axis", x1: left, x2: width - right, y1: zero, y2: zero }),
    amounts && [most, most / 4].flatMap((value) => [1, -1].map((sign) => svg("text", { x: left + 6, y: zero - sign * reach * Math.sqrt(value / most) + 4, "text-anchor": "end" }, compact(value)))),
    amounts && currency && svg("text", { x: left + 6, y: top - 12, "text-anchor": "end" }, currency));
  for (const row of rows) {
    const [partner, received, amount, time, unit] = row;
    const end = zero + (received ? -1 : 1) * Math.max(3, reach * Math.sqrt(tall(row) / most));
    const stem = svg("g", { class: received ? "event in" : "event out" },
      svg("line", { x1: x(time), x2: x(time), y1: zero, y2: end }), svg("circle", { cx: x(time), cy: end, r: 3.5 }));
    const said = `${received ? "from" : "to"} ${fullName(page, partner)}`;
    drawn.append(withTip(stem, said, [amount !== null && amountOf(amount, unit), momentOf(page, time)].filter(Boolean)));
  }
  const marks = Math.max(2, Math.min(5, Math.floor(width / 150)));
  for (let i = 0; i < marks; i += 1) {
    const time = first + ((last - first) * i) / (marks - 1);
    const anchor = i === 0 ? "start" : i === marks - 1 ? "end" : "middle";
    if (i === 0 || dayOf(page, time) !== dayOf(page, first)) drawn.append(svg("text", { x: x(time), y: height - 12, "text-anchor": anchor }, dayOf(page, time)));
  }
  return drawn;
}

const ROW = 24; // pixels between the names of two partners, or more if much flows between

function flowChart(page, node, { received, sent, amounts, currency }) {
  const width = paneRoom();
  const small = width < 480;
  const sides = [received, sent].map(([first, others, rest]) => [...first.map(([key, value]) => ({ key, value })), ...(others ? [{ others, value: rest }] : [])]);
  const total = Math.max(1e-9, received[3], sent[3]);
  const thick = (value) => Math.max(1, (110 * value) / total);
  const tall = (side) => side.reduce((sum, each) => sum + Math.max(ROW, thick(each.value) + 6), 0);
  const height = Math.max(60, ...sides.map(tall)) + 34;
  const [middle, center] = [width / 2, (height + 24) / 2];
  const brief = (value) => (amounts ? `${compact(value)}${currency ? ` ${currency}` : ""}` : plural(value, "event"));
  const text = (value) => (amounts ? amountOf(value, currency) : plural(value, "event"));
  const cutName = (label) => shortName(label, small ? 10 : 18);
  const drawn = svg("svg", { class: "flow", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Flow around ${fullName(page, node)}: ${text(received[3])} in, ${text(sent[3])} out` });
  sides.forEach((side, out) => {
    const sign = out ? 1 : -1;
    const far = middle + sign * (middle - (small ? 122 : 190));
    const near = middle + sign * 7;
    const bend = (far + near) / 2;
    let outer = center - tall(side) / 2;
    let inner = center - side.reduce((sum, each) => sum + thick(each.value), 0) / 2;
    for (const each of side) {
      const w = thick(each.value);
      const room_ = Math.max(ROW, w + 6);
      const y = outer + room_ / 2;
      const label = each.others ? `${whole(each.others)} ${each.others === 1 ? "other" : "others"}` : fullName(page, each.key);
      const [a, b] = [y - w / 2, y + w / 2];
      const d = `M${far} ${a}C${bend} ${a} ${bend} ${inner} ${near} ${inner}V${inner + w}C${bend} ${inner + w} ${bend} ${b} ${far} ${b}Z`;
      drawn.append(withTip(svg("path", { class: out ? "stream out" : "stream in", d }), out ? `to ${label}` : `from ${label}`, [text(each.value)]),
        svg("text", { x: far + sign * 6, y: y + 4, "text-anchor": out ? "start" : "end" }, `${cutName(label)} `, svg("tspan", { class: "strong" }, compact(each.value))));
      outer += room_;
      inner += w;
    }
  });
  const bar = Math.max(...sides.map((side) => side.reduce((sum, each) => sum + thick(each.value), 0)), 24);
  drawn.append(svg("rect", { class: "node", x: middle - 7, y: center - bar / 2, width: 14, height: bar, rx: 4 }),
    svg("text", { x: middle - 12, y: 14, "text-anchor": "end" }, `in ${brief(received[3])}`), svg("text", { x: middle + 12, y: 14, "text-anchor": "start" }, `out ${brief(sent[3])}`));
  return drawn;
}
