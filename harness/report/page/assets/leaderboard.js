// The rows of the leaderboard.

function makeLeaderboard() {
  const whole = (value) => value.toLocaleString("en");
  const number = (title, value, rest) => ({ title, number: true, value: (row) => value(row.figures) ?? null, ...rest });
  const share = (title, value, rest) => number(title, value, { cell: (row) => rate(value(row.figures)), ...rest });
  const within = (title, figure, rest) =>
    number(title, (figures) => figure(figures)?.value, { cell: (row) => shareCell(figure(row.figures)), ...rest });
  const estimate = (title, value, format, rest) =>
    number(title, (figures) => value(figures)?.value, {
      cell: (row) => estimateCell(value(row.figures), format),
      ...rest,
    });
  return sortedTable({
    caption: "Leaderboard: one row a model, run, device, precision and reference",
    noun: "row",
    empty: "No row is in this selection.",
    columns: [
      { title: "#", number: true, wide: true, value: (row) => -row.rank, cell: (row) => String(row.rank) },
      { title: "model", head: true, value: (row) => modelName(row.model), cell: rowHead },
      number("problems", (figures) => figures.problems, { cell: (row) => whole(row.figures.problems), wide: true }),
      number("submissions", (figures) => figures.submissions, {
        cell: (row) => whole(row.figures.submissions),
        wide: true,
      }),
      share("compiled", (figures) => figures.compile_rate, { wide: true }),
      within("correct", (figures) => fast(figures, 0)),
      within("fast₁", (figures) => fast(figures, 1)),
      within("fast₂", (figures) => fast(figures, 2), { wide: true }),
      estimate("geomean", (figures) => figures.geomean, ratio),
      SOME_ROOFLINE && estimate("roofline", (figures) => figures.roofline, percent, { wide: true }),
      { title: "notes", wide: true, value: tagsOf },
    ].filter(Boolean),
  });
}

function rowHead(row) {
  const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = `var(${seriesOf(row.group)})`;
  const open = el(
    "button",
    { type: "button", class: "open", onclick: () => openRow(row) },
    swatch,
    modelName(row.model),
  );
  const apart = [RUNS.length > 1 ? row.run : "", PLACES.length > 1 ? placeOf(row) : ""].filter(Boolean).join(", ");
  return [open, apart ? el("small", {}, apart) : "", el("small", { class: "narrow" }, tagsOf(row))];
}

function shareCell(share) {
  if (!share) return NOTHING;
  return [rate(share.value), el("small", {}, ` [${rate(share.spread.low)}, ${rate(share.spread.high)}]`)];
}

function estimateCell(estimate, format) {
  if (!estimate) return NOTHING;
  return [
    format(estimate.value),
    isNumber(estimate.low) ? el("small", {}, ` [${format(estimate.low)}, ${format(estimate.high)}]`) : "",
  ];
}

// Notes are of the whole row, also where figures of one level are shown.
const tagsOf = (row) =>
  (scope.level && row.notes.length ? "all levels: " : "") + row.notes.map((note) => note.tag).join(", ");

// All that is known of a row, in the dialog.
function openRow(row) {
  const notes = el(
    "ul",
    {},
    row.notes.map((note) => el("li", {}, note.text)),
  );
  openDialog(modelName(row.model), [
    el(
      "p",
      { class: "what" },
      `${row.denominator} Run ${row.run}, on ${placeOf(row)}, speed-ups over ${BASELINE_WORDS[row.baseline]}${scope.level ? `, ${scope.level} alone` : ""}.`,
    ),
    section(`To know before comparing${scope.level ? ", of all levels" : ""}`, row.notes.length ? [notes] : []),
    section("Figures", [rowFacts(row)]),
  ]);
}

function rowFacts({ figures, at_k, failures, tokens }) {
  const [fast1, fast2] = [fast(figures, 1), fast(figures, 2)];
  const drawn = (each) =>
    `${rate(each.passes)} correct${isNumber(each.fast_1) ? `, ${rate(each.fast_1)} faster` : ""}${isNumber(each.speedup) ? `, ${ratio(each.speedup)} to expect` : ""}`;
  return factTable("Figures of this row", [
    [
      "problems asked",
      `${figures.problems}${figures.unanswered ? `, ${figures.unanswered} of them without a submission` : ""}`,
    ],
    [
      "submissions judged",
      `${figures.submissions}: ${figures.compiled} compiled, ${figures.correct} correct, ${figures.timed} of them timed, ${figures.rejected} rejected`,
    ],
    [
      "with doubts",
      [
        [figures.flagged, "flagged"],
        [figures.reduced, "at a reduced size"],
        [figures.unisolated, "without isolation"],
        [figures.disturbed, "disturbed"],
        [figures.audited, "to an audited problem at fault"],
      ]
        .filter(([number]) => number)
        .map(([number, word]) => `${number} ${word}`)
        .join(", "),
    ],
    ["share of problems correct", rate(figures.correct_rate)],
    [
      "faster, twice as fast",
      fast1
        ? `${rate(fast1.value)}, ${rate(fast2.value)}; without the doubtful ${rate(fast1.sure)}, ${rate(fast2.sure)}`
        : "",
    ],
    ["geometric mean speed-up", figures.geomean ? estimateCell(figures.geomean, ratio) : ""],
    ["median speed-up", figures.median ? estimateCell(figures.median, ratio) : ""],
    ...at_k.map((each) => [`best of ${each.k}`, drawn(each)]),
    [
      "how the others ended",
      failures.length
        ? el(
            "ul",
            {},
            failures.map((each) =>
              el("li", {}, `${each.count} ${[each.verdict, each.stage, each.reason].filter(Boolean).join(", ")}`),
            ),
          )
        : "",
    ],
    ["of the roofline, median", figures.roofline ? estimateCell(figures.roofline, percent) : ""],
    [
      "tokens",
      tokens
        ? `${tokens.prompt.toLocaleString("en")} in prompts, ${tokens.completion.toLocaleString("en")} in answers${tokens.per_correct ? `, ${significant(Math.round(tokens.per_correct), 9)} a correct answer` : ""}`
        : "",
    ],
  ]);
}
