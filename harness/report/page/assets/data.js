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
const distinct = (values) => [...new Set(values)];

const RUNS = distinct(DATA.groups.map((group) => group.run));
const PLACES = distinct(DATA.groups.map(placeOf));
const MODELS = distinct(DATA.groups.map((group) => group.model));
const LEVELS = Object.keys(DATA.boards).filter((level) => level !== "");

// A row of the leaderboard in as many words as tell it from the others.
function groupName(number) {
  const group = DATA.groups[number];
  const parts = [modelName(group.model)];
  if (RUNS.length > 1) parts.push(group.run);
  if (PLACES.length > 1) parts.push(placeOf(group));
  return parts.join(", ");
}

const problemOf = (submission) => DATA.problems[COLUMNS.problem[submission]];
const groupOf = (submission) => DATA.groups[COLUMNS.group[submission]];

function submissionName(submission) {
  const sample = COLUMNS.sample[submission];
  return COLUMNS.path[submission] + (sample ? ` (sample ${sample})` : "");
}

// The part of the data that the whole page shows; "" is all of it.
const scope = { level: "", model: "", run: "", place: "" };

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
  return found;
}

// The leaderboard's rows in scope, each with its rank.
function boardInScope() {
  return DATA.boards[scope.level]
    .map((row, index) => ({ ...row, rank: index + 1, ...DATA.groups[row.group] }))
    .filter(groupInScope);
}

// Speed-ups taken in different places are not put into one chart: the place that was chosen, else the one with most.
function placeToChart(submissions) {
  const timed = new Map();
  for (const each of submissions) {
    if (COLUMNS.speedup[each] === null) continue;
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
