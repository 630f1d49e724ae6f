// Problems down, rows of the leaderboard across; each cell is the best answer to that problem.

const MATRIX_ROWS = 60;
const MATRIX_COLUMNS = 24;

function makeMatrix(container) {
  let page = 0;
  let submissions = [];
  let groups = [];

  function show(newSubmissions, board) {
    submissions = newSubmissions;
    groups = board.map((row) => row.group);
    page = 0;
    drawMatrix();
  }

  function drawMatrix() {
    const shown = groups.slice(0, MATRIX_COLUMNS);
    const answers = answersByProblem(submissions);
    const problems = [...answers.keys()].sort((a, b) =>
      COLLATOR.compare(DATA.problems[a].title, DATA.problems[b].title),
    );
    const pages = Math.max(1, Math.ceil(problems.length / MATRIX_ROWS));
    const part = problems.slice(page * MATRIX_ROWS, (page + 1) * MATRIX_ROWS);
    const table = el(
      "table",
      { class: "matrix" },
      el("caption", {}, "The best answer of each row to each problem: its speed-up, or how it ended"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "problem"),
          shown.map((group) => el("th", { scope: "col", title: groupName(group) }, el("span", {}, groupName(group)))),
        ),
      ),
      el(
        "tbody",
        {},
        part.map((problem) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, DATA.problems[problem].title),
            shown.map((group) => matrixCell(answers.get(problem).get(group), group)),
          ),
        ),
      ),
    );
    rove(table);
    const left = groups.length - shown.length;
    const turn = (step) =>
      el(
        "button",
        {
          type: "button",
          disabled: page + step < 0 || page + step >= pages,
          onclick: () => {
            page += step;
            drawMatrix();
          },
        },
        step < 0 ? "Previous" : "Next",
      );
    container.replaceChildren(
      el("div", { class: "scroller", role: "region", "aria-label": "Matrix of models and problems" }, table),
      el(
        "div",
        { class: "pager" },
        el(
          "p",
          { class: "status", role: "status" },
          `${count(problems.length, "problem")}${pages > 1 ? `, page ${page + 1} of ${pages}` : ""}${left > 0 ? `; the first ${MATRIX_COLUMNS} of ${groups.length} rows are shown` : ""}`,
        ),
        pages > 1 ? [turn(-1), turn(1)] : null,
      ),
    );
  }

  return { show };
}

// problem -> group -> submissions, the best first.
function answersByProblem(submissions) {
  const answers = new Map();
  for (const each of submissions) {
    const [problem, group] = [COLUMNS.problem[each], COLUMNS.group[each]];
    if (!answers.has(problem)) answers.set(problem, new Map());
    const row = answers.get(problem);
    if (!row.has(group)) row.set(group, []);
    row.get(group).push(each);
  }
  for (const row of answers.values()) for (const list of row.values()) list.sort(betterFirst);
  return answers;
}

function betterFirst(a, b) {
  const place = (each) => VERDICT_ORDER.indexOf(COLUMNS.verdict[each]);
  return place(a) - place(b) || (speedupOf(b) ?? 0) - (speedupOf(a) ?? 0) || a - b;
}

function matrixCell(answers, group) {
  if (!answers) return el("td", { class: "unasked" }, seen("·"), spoken("not asked"));
  const best = answers[0];
  const verdict = COLUMNS.verdict[best];
  const speedup = speedupOf(best);
  const doubtful = SEVERITY_ORDER.indexOf(COLUMNS.severity[best]) >= 2;
  const shown = verdict === "correct" && speedup !== null ? ratio(speedup) : VERDICTS[verdict].sign;
  const label = [
    `${problemOf(best).title}, ${groupName(group)}`,
    VERDICTS[verdict].word,
    speedup === null ? "" : `${ratio(speedup)} as fast as the reference`,
    answers.length > 1 ? `best of ${answers.length}` : "",
    doubtful ? "flagged" : "",
  ]
    .filter(Boolean)
    .join(", ");
  return el(
    "td",
    { class: `answer ${verdict} ${speedup === null ? "" : heat(speedup)}` },
    el(
      "button",
      { type: "button", tabindex: "-1", "aria-label": label, title: label, onclick: () => openDetail(best, answers) },
      shown,
      doubtful ? seen(" ⚑") : "",
    ),
  );
}

// From far slower to far faster, in halves of an octave around 1.
const heat = (speedup) => `heat${Math.max(-3, Math.min(3, Math.round(Math.log2(speedup) * 1.5)))}`;

// One stop of the tabulator for the whole table; arrows go from cell to cell.
function rove(table) {
  const first = table.querySelector("button");
  if (first) first.tabIndex = 0;
  table.addEventListener("focusin", (event) => {
    for (const each of table.querySelectorAll('button[tabindex="0"]')) each.tabIndex = -1;
    event.target.tabIndex = 0;
  });
  table.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    let cell = event.target.closest("td");
    do {
      const row = table.rows[cell.parentElement.rowIndex + step[0]];
      cell = row?.cells[cell.cellIndex + step[1]];
    } while (cell && cell.tagName === "TD" && !cell.querySelector("button"));
    cell?.querySelector("button")?.focus();
  });
}
