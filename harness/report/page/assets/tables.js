// A table that sorts by its headings and shows a page at a time.

// columns: {title, value: row -> what to sort by, cell: row -> what to show (value where absent), number, wide, head}.
//   `number` aligns to the right and sorts from the largest; `wide` is left out on a narrow screen; `head` is the row's
//   heading. Values that are null come last either way.
// Returns {element, show(rows), rows(): all rows, sorted}.
function sortedTable({ caption, columns, noun, pageRows = 50, empty }) {
  let rows = [];
  let sorted = [];
  let page = 0;
  let by = null;
  const headings = columns.map((column) => {
    const arrow = seen("");
    const button = el("button", { type: "button", class: "sort", onclick: () => sortBy(column) }, column.title, arrow);
    const cell = el("th", { scope: "col", "aria-sort": "none", class: classOf(column) }, button);
    return { column, cell, arrow };
  });
  const body = el("tbody");
  const table = el(
    "table",
    {},
    el("caption", {}, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        headings.map((heading) => heading.cell),
      ),
    ),
    body,
  );
  const status = el("p", { class: "status", role: "status" });
  const back = el("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = el("button", { type: "button", onclick: () => turn(1) }, "Next");
  const pager = el("div", { class: "pager" }, status, back, on);
  const wrapper = el("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption }, table);

  function classOf(column) {
    return [column.number && "number", column.wide && "wide", column.head && "head"].filter(Boolean).join(" ") || null;
  }

  function sortBy(column) {
    const first = column.number ? "descending" : "ascending";
    const other = column.number ? "ascending" : "descending";
    by = by?.column !== column ? { column, way: first } : by.way === first ? { column, way: other } : null;
    page = 0;
    draw();
  }

  function turn(step) {
    page += step;
    draw();
    wrapper.scrollIntoView({ block: "nearest" });
  }

  function order() {
    if (!by) return rows;
    const { column, way } = by;
    const sign = way === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => ({ row, value: column.value(row) }));
    keyed.sort((a, b) => {
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
      return sign * (typeof a.value === "number" ? a.value - b.value : COLLATOR.compare(a.value, b.value));
    });
    return keyed.map((each) => each.row);
  }

  function draw() {
    sorted = order();
    const pages = Math.max(1, Math.ceil(rows.length / pageRows));
    page = Math.min(Math.max(page, 0), pages - 1);
    for (const { column, cell, arrow } of headings) {
      const way = by?.column === column ? by.way : "none";
      cell.setAttribute("aria-sort", way);
      arrow.textContent = { none: "", ascending: " ▲", descending: " ▼" }[way];
    }
    const start = page * pageRows;
    body.replaceChildren(...sorted.slice(start, start + pageRows).map(drawRow));
    if (rows.length === 0) body.append(el("tr", {}, el("td", { colspan: String(columns.length) }, empty)));
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
    back.hidden = on.hidden = pages === 1;
    const range =
      pages > 1
        ? `${(start + 1).toLocaleString("en")} to ${Math.min(start + pageRows, rows.length).toLocaleString("en")} of `
        : "";
    status.textContent = range + count(rows.length, noun);
  }

  function drawRow(row) {
    return el(
      "tr",
      {},
      columns.map((column) => {
        const shown = (column.cell ?? column.value)(row);
        const tag = column.head ? "th" : "td";
        return el(
          tag,
          { class: classOf(column), scope: column.head ? "row" : null },
          shown === null ? NOTHING : typeof shown === "number" ? String(shown) : shown,
        );
      }),
    );
  }

  function show(newRows) {
    rows = newRows;
    page = 0;
    draw();
  }

  return { element: el("div", {}, wrapper, pager), show, rows: () => sorted };
}

// A small table of facts: [name, value] pairs; those without a value are left out.
function factTable(caption, facts) {
  const rows = facts
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)));
  return el("table", { class: "facts" }, el("caption", { class: "spoken" }, caption), el("tbody", {}, rows));
}

// A plain table: titles and rows of cells, the first cell of each its heading.
function plainTable(caption, titles, rows, { numbersFrom = 1 } = {}) {
  const cells = (row) =>
    row.map((cell, index) =>
      index === 0
        ? el("th", { scope: "row" }, cell)
        : el("td", { class: index >= numbersFrom ? "number" : null }, cell),
    );
  return el(
    "div",
    { class: "scroller", tabindex: "0", role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          titles.map((title, index) =>
            el("th", { scope: "col", class: index >= numbersFrom ? "number" : null }, title),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, cells(row))),
      ),
    ),
  );
}

function select(label, values, onchange, { all = "all", words = (value) => value, chosen = "" } = {}) {
  const options = values.map((value) => el("option", { value, selected: value === chosen }, words(value)));
  const field = el(
    "select",
    { onchange: (event) => onchange(event.target.value) },
    all === null ? null : el("option", { value: "" }, all),
    options,
  );
  return el("label", { class: "field" }, el("span", {}, label), field);
}
