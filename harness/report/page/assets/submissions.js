// Every submission in scope, with filters of its own.

function makeSubmissions(container) {
  const chosen = { words: asked.get("q") ?? "", verdict: asked.get("verdict") ?? "", flags: asked.get("flags") ?? "" };
  const code = { texts: null, on: false };
  let inScope = [];
  const table = sortedTable({
    caption: "The submissions, each with its verdict",
    noun: "submission",
    empty: "No submission is in this selection.",
    columns: [
      { title: "problem", head: true, value: (each) => problemOf(each).title, cell: rowHeading },
      { title: "submission", value: submissionName, wide: true },
      DATA.groups.length > 1 && { title: "model", value: (each) => groupName(COLUMNS.group[each]), wide: true },
      {
        title: "verdict",
        value: (each) => String(VERDICT_ORDER.indexOf(COLUMNS.verdict[each])),
        cell: (each) => badge(COLUMNS.verdict[each]),
      },
      { title: "speed-up", number: true, value: speedupOf, cell: speedupCell },
      SOME_ROOFLINE && {
        title: "of the roofline",
        number: true,
        wide: true,
        value: (each) => COLUMNS.fraction[each],
        cell: (each) => percent(COLUMNS.fraction[each]),
      },
      {
        title: "flags",
        wide: true,
        value: (each) => String(3 - SEVERITY_ORDER.indexOf(COLUMNS.severity[each])),
        cell: flagCell,
      },
      {
        title: "what came of it",
        value: (each) => (speedupOf(each) === null ? COLUMNS.outcome[each] : ""),
        wide: true,
      },
    ].filter(Boolean),
  });
  const search = el("input", {
    type: "search",
    value: chosen.words,
    oninput: (event) => {
      chosen.words = event.target.value.toLowerCase();
      filter();
    },
  });
  container.replaceChildren(
    el(
      "form",
      { class: "filters", onsubmit: (event) => event.preventDefault() },
      el("label", { class: "field grow" }, el("span", {}, "search"), search),
      select(
        "verdict",
        VERDICT_ORDER,
        (value) => {
          chosen.verdict = value;
          filter();
        },
        { chosen: chosen.verdict, words: (value) => VERDICTS[value].word },
      ),
      select(
        "flags",
        ["none", "warn"],
        (value) => {
          chosen.flags = value;
          filter();
        },
        { chosen: chosen.flags, all: "any", words: (value) => ({ none: "without doubts", warn: "warn or reject" })[value] },
      ),
    ),
    table.element,
  );
  container.querySelector("form").append(
    el("label", { class: "check" }, el("input", { type: "checkbox", onchange: searchCode }), "search in code too"),
    el("button", { type: "button", onclick: () => download("submissions.csv", csv(table.rows()), "text/csv") }, "CSV"),
  );

  // Only where it is asked for: a thousand sources are unpacked in some seconds.
  async function searchCode(event) {
    code.on = event.target.checked;
    code.texts ??= await Promise.all(
      DATA.details.map(async (_, each) => ((await details(each)).files["candidate.py"] ?? "").toLowerCase()),
    );
    filter();
  }

  function filter() {
    Object.assign(filters, { q: chosen.words, verdict: chosen.verdict, flags: chosen.flags });
    showAddress();
    const words = chosen.words.split(/\s+/).filter(Boolean);
    table.show(
      inScope.filter((each) => {
        if (chosen.verdict && COLUMNS.verdict[each] !== chosen.verdict) return false;
        const doubtful = SEVERITY_ORDER.indexOf(COLUMNS.severity[each]) >= 2;
        if (chosen.flags && doubtful !== (chosen.flags === "warn")) return false;
        if (words.length === 0) return true;
        const text =
          `${code.on ? (code.texts?.[each] ?? "") : ""} ${submissionName(each)} ${groupName(COLUMNS.group[each])} ${problemOf(each).title} ${COLUMNS.outcome[each]} ${COLUMNS.marks[each]}`.toLowerCase();
        return words.every((word) => text.includes(word));
      }),
    );
  }

  function show(submissions) {
    inScope = submissions;
    filter();
  }

  return { show, rows: table.rows };
}

function csv(rows) {
  const titles = ["id", "problem", "submission", "sample", "turn", "model", "run", "place", "verdict", "outcome"];
  const numbers = ["speedup", "low", "high", "candidate_ms", "of_the_roofline"];
  const lines = rows.map((each) => [
    COLUMNS.id[each],
    problemOf(each).title,
    COLUMNS.path[each],
    COLUMNS.sample[each],
    COLUMNS.turn[each],
    groupOf(each).model,
    groupOf(each).run,
    placeOf(groupOf(each)),
    COLUMNS.verdict[each],
    COLUMNS.outcome[each],
    speedupOf(each),
    over(each, "low"),
    over(each, "high"),
    COLUMNS.candidate_ms[each],
    COLUMNS.fraction[each],
  ]);
  return [[...titles, ...numbers], ...lines].map((line) => `${line.map(csvCell).join(",")}\n`).join("");
}

// On a narrow screen the heading says what the columns left out there would.
function rowHeading(each) {
  const open = el(
    "button",
    { type: "button", class: "open", onclick: () => openDetail(each) },
    problemOf(each).title,
    spoken(`, ${submissionName(each)}`),
  );
  return [open, el("small", { class: "narrow" }, `${submissionName(each)}, ${groupName(COLUMNS.group[each])}`)];
}

function badge(verdict) {
  const { sign, word } = VERDICTS[verdict];
  return el("span", { class: `badge ${verdict}` }, seen(`${sign} `), word);
}

function speedupCell(each) {
  const speedup = speedupOf(each);
  if (speedup === null) return NOTHING;
  return [
    el("span", { class: over(each, "conclusion") }, ratio(speedup)),
    el("small", {}, interval(over(each, "low"), over(each, "high"))),
  ];
}

function flagCell(each) {
  const severity = COLUMNS.severity[each];
  const marks = COLUMNS.marks[each];
  if (!severity && !marks) return "";
  return [severity ? el("span", { class: `severity ${severity}` }, severity) : "", marks ? el("small", {}, marks) : ""];
}
