// Small charts drawn as SVG: the histogram of scores or probabilities, one attribute's strip.

const CHART = { left: 44, right: 10, top: 26, bottom: 42 };

function chartSize() {
  const width = room();
  return { ...CHART, width, height: clamp(width * 0.3, 200, 280) };
}

function linear(low, high, from, to) {
  const span = high > low ? high - low : 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function ticks(low, high, count) {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) {
    values.push(Math.abs(value) < step / 1e6 ? 0 : value);
  }
  return values;
}

function frame(size, label, x, y, xTicks, yTicks, xLabel) {
  const { width, height, left, right, bottom } = size;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    yTicks.map((value) => [
      svg("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, number(value)),
    ]),
    xTicks.map((value) => svg("text", { x: x(value), y: height - bottom + 18, "text-anchor": x(value) > width - right - 12 ? "end" : "middle" }, number(value))),
    svg("text", { x: width - right, y: height - 4, "text-anchor": "end" }, xLabel));
}

function histogram(scores, place) {
  const { edges, counts, threshold } = scores;
  const size = chartSize();
  const { width, height, left, right, top, bottom } = size;
  const x = linear(edges[0], edges[edges.length - 1], left, width - right);
  const y = linear(0, Math.max(...counts), height - bottom, top);
  const drawn = frame(size, `Histogram of ${page.probable ? "probabilities" : "scores"}`, x, y,
    ticks(edges[0], edges[edges.length - 1], width / 110), ticks(0, Math.max(...counts), 4).filter(Number.isInteger), measure().toLowerCase());
  counts.forEach((count, i) => {
    if (!count) return;
    const tall = Math.max(2, y(0) - y(count));
    const bar = svg("rect", {
      class: edges[i + 1] > threshold && edges[i] >= threshold - (edges[1] - edges[0]) / 2 ? "bar warm" : "bar",
      x: x(edges[i]) + 0.5, width: Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1), y: y(0) - tall, height: tall, rx: 1.5,
    });
    drawn.append(withTip(bar, plural(count, "node"),
      [`${measure().toLowerCase()} ${number(edges[i])} to ${number(edges[i + 1])}`]));
  });
  const limit = clamp(x(threshold), left, width - right);
  const side = limit > width - 150 ? "end" : "start";
  drawn.append(
    svg("line", { class: "mark dashed", x1: limit, x2: limit, y1: top - 12, y2: height - bottom }),
    svg("text", { class: "strong", x: limit + (side === "end" ? -6 : 6), y: top - 4, "text-anchor": side }, "flagged →"));
  if (place !== null) {
    const here = clamp(x(place.score), left, width - right);
    const foot = height - bottom + 1;
    drawn.append(withTip(svg("path", { class: "pointer", d: `M${here} ${foot}l6 9h-12z` }), place.name,
      [`${measure().toLowerCase()} ${level(place.score)}`]));
  }
  return drawn;
}

// One attribute: the neighbors' 10–90% range as a band, their median as a notch, the node as a dot.
function strip(value, low, median, high) {
  const x = linear(Math.min(low, value), Math.max(high, value), 10, 140);
  const words = `${number(value)}; neighbors ${number(low)} to ${number(high)}, median ${number(median)}`;
  return stripOf(words, x(low), x(high), x(value), svg("line", { class: "middle", x1: x(median), x2: x(median), y1: 7, y2: 15 }));
}

// A binary attribute or a category: the band is the share of the neighbors that have it.
function shareStrip(value, part) {
  const x = linear(0, 1, 10, 140);
  return stripOf(`${value}; ${share(part)} of the neighbors have 1`, x(0), x(part), x(value), null);
}

function stripOf(words, from, to, here, notch) {
  const drawn = svg("svg", { class: "strip", viewBox: "0 0 150 22", role: "img", "aria-label": words },
    svg("line", { class: "track", x1: 4, x2: 146, y1: 11, y2: 11 }),
    svg("line", { class: "band", x1: from, x2: to + 0.01, y1: 11, y2: 11 }),
    notch,
    svg("circle", { class: "here", cx: here, cy: 11, r: 5.5 }));
  return withTip(drawn, "This node and its neighbors", [words]);
}
