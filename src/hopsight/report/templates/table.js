// A table that can be sorted by any column, searched, and shown in part.
// columns: [{ label, value(row), text(row)?, cell(row)?, right?, minor?, descending?, title? }]

function table({ label, columns, rows, search, limit = 25, chosen, faint }) {
  const state = { column: null, descending: false, query: "", all: rows.length <= limit + 5 };
  const body = el("tbody");
  const heads = columns.map((column) => head(column, () => sortBy(column)));
  const count = el("span", { class: "soft small", role: "status" });
  const more = el("button", { class: "more", type: "button", onclick: () => { state.all = true; draw(); } });
  const none = el("p", { class: "none", hidden: true }, "Nothing matches.");

  function sortBy(column) {
    const first = column.descending ?? column.right ?? false;
    state.descending = state.column === column ? !state.descending : first;
    state.column = column;
    draw();
  }

  function visible() {
    const found = rows.filter((row) => !state.query || text(row).includes(state.query));
    if (!state.column) return found;
    const sign = state.descending ? -1 : 1;
    const { value } = state.column;
    return [...found].sort((a, b) => sign * compare(value(a), value(b), sign));
  }

  function text(row) {
    return columns.map((column) => String((column.text || column.value)(row) ?? "")).join("\n").toLowerCase();
  }

  function draw() {
    const found = visible();
    const shown = state.all ? found : found.slice(0, limit);
    body.replaceChildren(...shown.map((row) => line(columns, row, [chosen?.(row) && "chosen", faint?.(row) && "faint"])));
    columns.forEach((column, i) => {
      const order = column === state.column ? (state.descending ? "descending" : "ascending") : "none";
      heads[i].setAttribute("aria-sort", order);
    });
    count.textContent = state.query ? `${whole(found.length)} of ${whole(rows.length)}` : "";
    more.hidden = shown.length === found.length;
    more.textContent = `Show all ${whole(found.length)}`;
    none.hidden = found.length > 0;
  }

  const box = search && el("input", {
    type: "search", placeholder: search, "aria-label": search, autocomplete: "off", spellcheck: "false",
    oninput: (event) => { state.query = event.target.value.trim().toLowerCase(); draw(); },
  });
  draw();
  return el("div", { class: "table" },
    box && el("div", { class: "controls" }, box, count),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label },
      el("table", { "aria-label": label }, el("thead", null, el("tr", null, heads)), body)),
    none, more);
}

function head(column, onclick) {
  const classes = [column.right && "right", column.minor && "minor"].filter(Boolean).join(" ");
  return el("th", { scope: "col", class: classes || null, title: column.title, "aria-sort": "none" },
    column.value ? el("button", { type: "button", onclick }, column.label) : column.label);
}

function line(columns, row, states) {
  return el("tr", { class: states.filter(Boolean).join(" ") || null }, columns.map((column) => {
    const classes = [column.right ? "right" : "name", column.minor && "minor", column.warm?.(row) && "warm"];
    const content = column.cell ? column.cell(row) : (column.text || column.value)(row);
    return el("td", { class: classes.filter(Boolean).join(" ") }, content);
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
