// The rows of the leaderboard.

function makeLeaderboard() {
  const numbers = [
    ["submissions", "submissions", (value) => value.toLocaleString("en"), true],
    ["compiled", "compiled", (value) => value.toLocaleString("en"), true],
    ["correct", "correct", (value) => value.toLocaleString("en")],
    ["fast_0", "fast₀", rate, true],
    ["fast_1", "fast₁", rate],
    ["fast_2", "fast₂", rate, true],
    ["geomean_speedup", "geomean speed-up", ratio],
  ];
  return sortedTable({
    caption: "Leaderboard: one row a model, run, device and precision",
    noun: "row",
    empty: "No row is in this selection.",
    columns: [
      { title: "#", number: true, value: (row) => -row.rank, cell: (row) => String(row.rank) },
      { title: "model", head: true, value: (row) => modelName(row.model), cell: rowHead },
      ...numbers.map(([key, title, format, wide]) => ({ title, number: true, wide, value: (row) => row[key], cell: (row) => format(row[key]) })),
      { title: "notes", value: (row) => row.notes.map((note) => note.text).join("; "), cell: (row) => notesOf(row) },
    ],
  });
}

function rowHead(row) {
  const { colour } = pen(row.group);
  const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = colour;
  return [swatch, modelName(row.model), el("small", {}, `${row.run}, ${placeOf(row)}`)];
}

const notesOf = (row) => (row.notes.length ? el("ul", { class: "notes" }, row.notes.map((note) => el("li", {}, note.text))) : "");
