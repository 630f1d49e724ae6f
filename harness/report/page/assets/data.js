// What Python put into the page (see content.py), and which of it is looked at.

const DATA = JSON.parse(byId("data").textContent);
const COLUMNS = DATA.columns;
const TOTAL = COLUMNS.group.length;

const VERDICTS = {
  correct: { sign: "✓", word: "correct" },
  wrong: { sign: "✗", word: "wrong" },
  failed: { sign: "!", word: "failed" },
  rejected: { sign: "⊘", word: "rejected" },
  infrastructure: { sign: "?", word: "not judged" },
};
const VERDICT_ORDER = Object.keys(VERDICTS);
const SEVERITY_ORDER = ["", "info", "warn", "reject"];

const modelName = (name) => name || "(no model named)";
const placeOf = (group) =>
  `${group.device}${group.precision === "fp32" ? "" : ` ${group.precision}`}: ${group.device_name}`;

// Sorts level1/9_x before level1/19_x.
const COLLATOR = new Intl.Collator("en", { numeric: true });
const distinct = (values) => [...new Set(values)].sort(COLLATOR.compare);

const RUNS = distinct(DATA.groups.map((group) => group.run));
const PLACES = distinct(DATA.groups.map(placeOf));
const MODELS = distinct(DATA.groups.map((group) => modelName(group.model)));
const LEVELS = distinct(DATA.problems.map((problem) => problem.level));
const SOME_ROOFLINE = COLUMNS.fraction.some((each) => each !== null);

const BASELINE_WORDS = {
  eager: "PyTorch eager",
  compile: "torch.compile",
  "compile-max-autotune": "torch.compile, max-autotune",
};
const BASELINES = Object.keys(BASELINE_WORDS).filter((name) => DATA.rows.some((row) => row.baseline === name));

// A row of the leaderboard in as many words as tell it from the others.
function groupName(number) {
  const group = DATA.groups[number];
  const parts = [modelName(group.model)];
  if (RUNS.length > 1) parts.push(group.run);
  if (PLACES.length > 1) parts.push(placeOf(group));
  return parts.join(", ");
}

// A submission by the id that addresses name it by, or by its place in this page.
const PLACE_OF_ID = new Map(COLUMNS.id.map((id, place) => [id, place]));

const problemOf = (submission) => DATA.problems[COLUMNS.problem[submission]];
const groupOf = (submission) => DATA.groups[COLUMNS.group[submission]];

function submissionName(submission) {
  const [sample, turn] = [COLUMNS.sample[submission], COLUMNS.turn[submission]];
  const parts = [sample ? `sample ${sample}` : "", turn ? `turn ${turn + 1}` : ""].filter(Boolean);
  return COLUMNS.path[submission] + (parts.length ? ` (${parts.join(", ")})` : "");
}

// The part of the data that the whole page shows; "" is all of it. Speed-ups are always over one baseline.
const scope = { level: "", model: "", run: "", place: "", baseline: BASELINES[0] ?? "eager" };

// What the address says: the scope, the filters of the submissions, and the submission that is open.
const asked = new URLSearchParams(location.hash.slice(1));
const filters = {};
for (const [key, values] of Object.entries({ level: LEVELS, model: MODELS, run: RUNS, place: PLACES, baseline: BASELINES })) {
  if (values.includes(asked.get(key))) scope[key] = asked.get(key);
}

function showAddress() {
  const said = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...scope, ...filters })) {
    if (value && !(key === "baseline" && value === BASELINES[0])) said.set(key, value);
  }
  if (current.submission >= 0) said.set("submission", COLUMNS.id[current.submission]);
  const text = said.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

const NEVER = { value: [], low: [], high: [], conclusion: [] };
const over = (submission, what) => (DATA.speedups[scope.baseline] ?? NEVER)[what][submission] ?? null;
const speedupOf = (submission) => over(submission, "value");

const groupInScope = (group) =>
  (!scope.model || modelName(group.model) === scope.model) &&
  (!scope.run || group.run === scope.run) &&
  (!scope.place || placeOf(group) === scope.place);

function submissionsInScope() {
  const groups = DATA.groups.map(groupInScope);
  const problems = DATA.problems.map((problem) => !scope.level || problem.level === scope.level);
  const found = [];
  for (let each = 0; each < TOTAL; each++) {
    if (groups[COLUMNS.group[each]] && problems[COLUMNS.problem[each]]) found.push(each);
  }
  return found.sort(byQuestion);
}

// The order that does not depend on which was judged first: problem, model, run, name, sample, turn.
function ranks(names) {
  const order = [...names.keys()].sort((a, b) => COLLATOR.compare(names[a], names[b]));
  const found = [];
  order.forEach((place, rank) => (found[place] = rank));
  return found;
}

const PROBLEM_RANKS = ranks(DATA.problems.map((problem) => problem.title));
const GROUP_RANKS = ranks(DATA.groups.map((_, number) => groupName(number)));

function byQuestion(a, b) {
  return (
    PROBLEM_RANKS[COLUMNS.problem[a]] - PROBLEM_RANKS[COLUMNS.problem[b]] ||
    GROUP_RANKS[COLUMNS.group[a]] - GROUP_RANKS[COLUMNS.group[b]] ||
    COLLATOR.compare(COLUMNS.path[a], COLUMNS.path[b]) ||
    COLUMNS.sample[a] - COLUMNS.sample[b] ||
    (COLUMNS.turn[a] ?? 0) - (COLUMNS.turn[b] ?? 0)
  );
}

// The leaderboard's rows in scope with their ranks. `figures` are those of the level, where one is chosen. A row that
// nothing was timed of, as under emulation, stays whatever the baseline.
function boardInScope() {
  const timed = new Set(DATA.rows.filter((row) => row.baseline === scope.baseline).map((row) => row.group));
  return DATA.rows
    .filter((row) => row.baseline === scope.baseline || (row.timed === 0 && !timed.has(row.group)))
    .map((row) => ({ ...row, ...DATA.groups[row.group], figures: figuresOf(row) }))
    .filter((row) => row.figures)
    .sort(byMerit)
    .map((row, index) => ({ ...row, rank: index + 1 }))
    .filter(groupInScope);
}

function figuresOf(row) {
  if (!scope.level || LEVELS.length < 2) return row;
  const alone =
    row.levels.length === 0 &&
    COLUMNS.group.some((group, each) => group === row.group && problemOf(each).level === scope.level);
  return alone ? row : row.levels.find((level) => level.level === scope.level);
}

const fast = (figures, p) => figures.fast.find((each) => each.p === p) ?? null;

// As Python ranks them: those with something correct first, of these those with times, by fast_1, then speed-up, then
// correctness; else the order stays.
function byMerit(a, b) {
  const keys = ({ figures }) => {
    const fast1 = fast(figures, 1);
    const correct = figures.correct > 0 ? 1 : 0;
    return [correct, fast1 ? 1 : 0, fast1?.value ?? 0, figures.geomean?.value ?? 0, figures.correct_rate ?? 0];
  };
  const [mine, other] = [keys(a), keys(b)];
  return mine.map((value, index) => other[index] - value).find((difference) => difference !== 0) ?? 0;
}

// Speed-ups taken in different places are not put into one chart: the place that was chosen, else the one with most.
function placeToChart(submissions) {
  const timed = new Map();
  for (const each of submissions) {
    if (speedupOf(each) === null) continue;
    const place = placeOf(groupOf(each));
    timed.set(place, (timed.get(place) ?? 0) + 1);
  }
  return [...timed].sort((a, b) => b[1] - a[1])[0]?.[0] ?? scope.place ?? "";
}

const hasDetails = (submission) => submission < DATA.details.length;

// The record and its attachments. Only now unpacked: a page may hold a thousand of them.
async function details(submission) {
  const packed = Uint8Array.from(atob(DATA.details[submission]), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
