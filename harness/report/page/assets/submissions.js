// Every submission in scope, with filters of its own.

function makeSubmissions(container) {
  const chosen = { words: "", verdict: "", flags: "" };
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
        { words: (value) => VERDICTS[value].word },
      ),
      select(
        "flags",
        ["none", "warn"],
        (value) => {
          chosen.flags = value;
          filter();
        },
        { all: "any", words: (value) => ({ none: "without doubts", warn: "warn or reject" })[value] },
      ),
    ),
    table.element,
  );

  function filter() {
    const words = chosen.words.split(/\s+/).filter(Boolean);
    table.show(
      inScope.filter((each) => {
        if (chosen.verdict && COLUMNS.verdict[each] !== chosen.verdict) return false;
        const doubtful = SEVERITY_ORDER.indexOf(COLUMNS.severity[each]) >= 2;
        if (chosen.flags && doubtful !== (chosen.flags === "warn")) return false;
        if (words.length === 0) return true;
        const text =
          `${submissionName(each)} ${groupName(COLUMNS.group[each])} ${problemOf(each).title} ${COLUMNS.outcome[each]} ${COLUMNS.marks[each]}`.toLowerCase();
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
