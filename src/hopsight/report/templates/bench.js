// The page of one benchmark, from top to bottom.

const page = await data();

// Numbers are aligned right, including "0.81 ± 0.02"; a reason in place of a number is sorted last.
function looksNumeric(value) {
  return typeof value === "number" || /^[<>~≥≤]?\s*[-−+]?[\d.,]+(e[-+]?\d+)?(\s*(±|\[|\(|%|s$|MB|GB).*)?$/i.test(String(value).trim());
}

function leading(value) {
  if (value === null || value === undefined || !looksNumeric(value)) return null;
  const match = /[-−+]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?/i.exec(String(value));
  return match ? Number(match[0].replace("−", "-").replaceAll(",", "")) : null;
}

function columnsOf({ columns, rows }) {
  return columns.map((label, i) => {
    const known = rows.map((row) => row[i]).filter((value) => value !== null && value !== "");
    const right = i > 0 && known.length > 0 && known.filter(looksNumeric).length >= known.length / 2;
    const shown = (row) => (typeof row[i] === "number" ? number(row[i]) : row[i] ?? "–");
    return {
      label, right, text: shown,
      value: right ? (row) => leading(row[i]) : (row) => row[i],
      cell: right ? null : (row) => name(String(shown(row))),
    };
  });
}

function tableSection(each) {
  const grid = table({ label: each.title, rows: each.rows, columns: columnsOf(each), limit: 60, search: each.rows.length > 20 ? "Search the table" : null });
  return section(each.title, null, grid, each.note && el("p", { class: "soft small" }, each.note));
}

function figureSection(each) {
  return section(each.title, null, el("figure", null,
    el("div", { class: "sheet" }, el("img", { src: each.image, alt: each.title })),
    each.note && el("figcaption", null, each.note)));
}

// What was measured comes first; keys, settings and versions are long, and stay on one line.
function cells() {
  const { columns, rows } = page.results;
  if (!rows.length) return "";
  const long = (i) => columns[i] === "key" || rows.some((row) => typeof row[i] === "string" && (row[i].length > 60 || /^[{[]/.test(row[i])));
  const order = columns.map((_, i) => i).sort((a, b) => long(a) - long(b));
  const shown = columnsOf({ columns, rows });
  const line = (column) => ({ ...column, right: false, cell: (row) => withTip(el("bdi", { class: "line", tabindex: "0" }, String(column.text(row))), column.label, [String(column.text(row))]) });
  return section("Every cell", `${whole(rows.length)} ${rows.length === 1 ? "row" : "rows"}, as in results.csv.`,
    table({ label: "Every cell", rows, columns: order.map((i) => (long(i) ? line(shown[i]) : shown[i])), limit: 20, search: "Search the cells" }));
}

function heading() {
  return el("header", { class: "page" },
    el("p", { class: "eyebrow" }, "hopsight benchmark"),
    el("h1", null, page.title),
    page.summary.map((text) => el("p", { class: "lead" }, text)),
    notices(page.warnings));
}

document.getElementById("main").append(
  heading(),
  ...page.tables.map(tableSection),
  ...page.figures.map(figureSection),
  cells(),
  page.details.length ? section("How this was made", null, records(page.details)) : "",
  el("footer", { class: "page" }, "Made by hopsight. This file is self-contained and makes no network requests."));
document.body.append(tip);
