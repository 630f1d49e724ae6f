// Every submission in scope, with filters of its own.

function makeSubmissions(container) {
  const chosen = { words: "", verdict: "", flags: "" };
  let inScope = [];
  const table = sortedTable({
    caption: "Submissions",
    noun: "submission",
    empty: "No submission is in this selection.",
    columns: [
      { title: "submission", head: true, value: submissionName, cell: (each) => el("button", { type: "button", class: "open", onclick: () => openDetail(each) }, submissionName(each)) },
      { title: "model", value: (each) => groupName(COLUMNS.group[each]), wide: true },
      { title: "problem", value: (each) => problemOf(each).title },
      { title: "verdict", value: (each) => String(VERDICT_ORDER.indexOf(COLUMNS.verdict[each])), cell: (each) => badge(COLUMNS.verdict[each]) },
      { title: "speed-up", number: true, value: (each) => COLUMNS.speedup[each], cell: speedupCell },
      { title: "of the roofline", number: true, wide: true, value: (each) => COLUMNS.fraction[each], cell: (each) => percent(COLUMNS.fraction[each]) },
      { title: "flags", value: (each) => String(3 - SEVERITY_ORDER.indexOf(COLUMNS.severity[each])), cell: flagCell },
      { title: "what came of it", value: (each) => COLUMNS.outcome[each], wide: true },
    ],
  });
  const search = el("input", { type: "search", oninput: (event) => { chosen.words = event.target.value.toLowerCase(); filter(); } });
  container.replaceChildren(
    el("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
      el("label", { class: "field grow" }, el("span", {}, "search"), search),
      select("verdict", VERDICT_ORDER, (value) => { chosen.verdict = value; filter(); }, { words: (value) => VERDICTS[value].word }),
      select("flags", ["none", "warn"], (value) => { chosen.flags = value; filter(); }, { all: "any", words: (value) => ({ none: "without doubts", warn: "warn or reject" })[value] }),
    ),
    table.element,
  );

  function filter() {
    const words = chosen.words.split(/\s+/).filter(Boolean);
    table.show(inScope.filter((each) => {
      if (chosen.verdict && COLUMNS.verdict[each] !== chosen.verdict) return false;
      const doubtful = SEVERITY_ORDER.indexOf(COLUMNS.severity[each]) >= 2;
      if (chosen.flags && doubtful !== (chosen.flags === "warn")) return false;
      if (words.length === 0) return true;
      const text = `${submissionName(each)} ${groupName(COLUMNS.group[each])} ${problemOf(each).title} ${COLUMNS.outcome[each]} ${COLUMNS.marks[each]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    }));
  }

  function show(submissions) {
    inScope = submissions;
    filter();
  }

  return { show, rows: table.rows };
}

function badge(verdict) {
  const { sign, word } = VERDICTS[verdict];
  return el("span", { class: `badge ${verdict}` }, seen(`${sign} `), word);
}

function speedupCell(each) {
  const speedup = COLUMNS.speedup[each];
  if (speedup === null) return NOTHING;
  const [low, high] = [COLUMNS.low[each], COLUMNS.high[each]];
  const sure = low > 1 ? "faster" : high < 1 ? "slower" : "";
  return [el("span", { class: sure || null }, ratio(speedup)), el("small", { class: "wide" }, interval(low, high))];
}

function flagCell(each) {
  const severity = COLUMNS.severity[each];
  const marks = COLUMNS.marks[each];
  if (!severity && !marks) return "";
  return [severity ? el("span", { class: `severity ${severity}` }, severity) : "", marks ? el("small", {}, marks) : ""];
}
