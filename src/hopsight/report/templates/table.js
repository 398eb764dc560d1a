// A table that can be sorted by any column, searched, filtered, shown in part, and saved as CSV.
// columns: [{ label, value(row), text(row)?, cell(row)?, fields?, right?, wide?, said?, descending?, title? }]
// On a narrow screen a wide column has a line of its own in each row, with its label if it has numbers or is to be said.
// fields: [[label, value(row)], …] are the cells of a column in the CSV file, where they differ from its value.
// views: [[label, rows()], …] are choices of rows; csv: name of the file; words(row): what a search looks at.

const STEP = 200; // rows that are added at once to a long table

function table({ label, columns, rows, search, limit = 25, chosen, faint, views, csv, words }) {
  const state = { column: null, descending: false, query: "", most: limit, rows };
  const body = el("tbody");
  const heads = columns.map((column) => head(column, () => sortBy(column)));
  const count = el("span", { class: "soft small", role: "status" });
  const more = el("button", { class: "more", type: "button", onclick: () => { state.most = next(found().length); draw(); } });
  const none = el("p", { class: "none", hidden: true }, "Nothing matches.");
  const next = (total) => (total > state.most + 2 * STEP ? state.most + STEP : Infinity);

  function sortBy(column) {
    const first = column.descending ?? column.right ?? false;
    state.descending = state.column === column ? !state.descending : first;
    state.column = column;
    draw();
  }

  function found() {
    const matching = state.query ? state.rows.filter((row) => (words ?? text)(row).toLowerCase().includes(state.query)) : state.rows;
    if (!state.column) return matching;
    const sign = state.descending ? -1 : 1;
    const { value } = state.column;
    return [...matching].sort((a, b) => sign * compare(value(a), value(b), sign));
  }

  function text(row) {
    return columns.map((column) => String((column.text || column.value)(row) ?? "")).join("\n");
  }

  function draw() {
    const matching = found();
    const shown = matching.length <= state.most + 5 ? matching : matching.slice(0, state.most);
    body.replaceChildren(...shown.map((row) => line(columns, row, [chosen?.(row) && "chosen", faint?.(row) && "faint"])));
    columns.forEach((column, i) => {
      const order = column === state.column ? (state.descending ? "descending" : "ascending") : "none";
      heads[i].setAttribute("aria-sort", order);
    });
    count.textContent = state.query ? `${whole(matching.length)} of ${whole(state.rows.length)}` : "";
    more.hidden = shown.length === matching.length;
    more.textContent = next(matching.length) === Infinity ? `Show all ${whole(matching.length)}` : `Show ${STEP} more of ${whole(matching.length)}`;
    none.hidden = matching.length > 0;
  }

  function view(place) {
    state.rows = views[place][1]();
    state.most = limit;
    draw();
  }

  const box = search && el("input", {
    type: "search", placeholder: search, "aria-label": search, autocomplete: "off", spellcheck: "false",
    oninput: (event) => { state.query = event.target.value.trim().toLowerCase(); draw(); },
  });
  const choice = views?.length > 1 && el("select", { "aria-label": `Which rows of ${label}`, onchange: (event) => view(Number(event.target.value)) },
    views.map(([name_], i) => el("option", { value: i }, name_)));
  const save = csv && el("button", { type: "button", class: "save", onclick: () => saveCsv(csv, columns, found()) }, "Save as CSV");
  draw();
  const grid = el("table", { "aria-label": label, class: columns.some((column) => column.wide) ? "stacked" : null }, el("thead", null, el("tr", null, heads)), body);
  grid.style.setProperty("--columns", Math.max(1, columns.filter((column) => !column.wide).length));
  const whole_ = el("div", { class: "table" },
    (box || choice || save) && el("div", { class: "controls" }, box, choice, count, save),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label },
      grid),
    none, more);
  return Object.assign(whole_, { found });
}

function head(column, onclick) {
  const classes = [column.right && "right", column.wide && "wide"].filter(Boolean).join(" ");
  const inner = column.value ? el("button", { type: "button", onclick }, column.label) : el("span", null, column.label);
  const meaning = glossary(column.label) ?? column.title;
  if (meaning && !column.value) inner.tabIndex = 0;
  return el("th", { scope: "col", class: classes || null, "aria-sort": "none" }, meaning ? withTip(inner, column.label, [meaning]) : inner);
}

function line(columns, row, states) {
  return el("tr", { class: states.filter(Boolean).join(" ") || null }, columns.map((column) => {
    const classes = [column.right ? "right" : "name", column.wide && "wide", column.warm?.(row) && "warm"];
    const content = column.cell ? column.cell(row) : (column.text || column.value)(row);
    return el("td", { class: classes.filter(Boolean).join(" "), "data-label": column.wide && (column.right || column.said) ? column.label : null }, content);
  }));
}

// Unknown values come last in either direction.
function compare(a, b, sign) {
  if (a === null || a === undefined || b === null || b === undefined) {
    return sign * ((a === null || a === undefined) - (b === null || b === undefined));
  }
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

const collator = new Intl.Collator("en", { numeric: true });

// The rows that are shown, in their order, with all digits.
function saveCsv(file, columns, rows) {
  const fields = columns.flatMap((column) => column.fields ?? (column.value ? [[column.label, column.value]] : []));
  const lines = [fields.map(([label]) => label), ...rows.map((row) => fields.map(([, value]) => value(row)))];
  const content = lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n");
  const address = URL.createObjectURL(new Blob(["\ufeff", content, "\r\n"], { type: "text/csv" }));
  el("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// No cell of text begins a formula in a spreadsheet: as in the tables of the run folder, a ' before it prevents that.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const first = [...value].find((character) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}]/u.test(character));
  const formula = /^['\t\r\n]/.test(value) || (first && /^[=+@-]/.test(first.normalize("NFKC")));
  const text = formula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
