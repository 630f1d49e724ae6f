// Puts the parts together and redraws them when what is looked at changes.

const leaderboardTable = makeLeaderboard();
const matrix = makeMatrix(byId("matrix-body"));
const submissionsTable = makeSubmissions(byId("submissions-body"));
const figures = {
  fastP: chartFigure("fast_p: correct and p times as fast"),
  histogram: chartFigure("Speed-ups of the correct"),
  roofline: chartFigure("Distance to the roofline"),
};

function redraw() {
  const submissions = submissionsInScope();
  const board = boardInScope();
  leaderboardTable.show(board);
  const denominators = [...new Set(board.map((row) => row.denominator))];
  byId("denominators").textContent =
    denominators.length > 1
      ? "Rates are shares of the problems that a row counts, which are not as many in each; a model's name opens what they are."
      : (denominators[0] ?? "");
  matrix.show(submissions, board);
  submissionsTable.show(submissions);
  drawCharts(submissions, board);
}

function drawCharts(submissions = submissionsInScope(), board = boardInScope()) {
  drawFastP(figures.fastP, board);
  drawHistogram(figures.histogram, submissions);
  drawRoofline(figures.roofline, submissions);
}

// A choice is offered where there are several.
function makeScope() {
  const choose = (key) => (value) => {
    scope[key] = value;
    redraw();
  };
  const fields = [
    { key: "level", values: LEVELS },
    { key: "model", values: MODELS },
    { key: "run", values: RUNS },
    { key: "place", label: "device", values: PLACES },
    {
      key: "baseline",
      label: "reference",
      values: BASELINES,
      all: null,
      words: (value) => BASELINE_WORDS[value],
    },
  ];
  const offered = fields.filter((field) => field.values.length > 1);
  byId("scope").append(
    ...offered.map(({ key, label = key, values, ...rest }) =>
      select(label, values, choose(key), { ...rest, chosen: scope[key] }),
    ),
  );
  byId("scope").hidden = offered.length === 0;
}

function summarise() {
  const problems = count(DATA.problems.length, "problem");
  const kept = DATA.details.length;
  const held =
    kept < TOTAL
      ? `It holds source, logs and samples of the first ${kept.toLocaleString("en")} submissions; those of the others are in their runs' folders.`
      : "It holds the source, logs and samples of all of them.";
  const where = PLACES.length === 1 ? ` on ${PLACES[0]}` : "";
  const { judged, ...rest } = DATA.made;
  const day = (text) => text.slice(0, 10);
  const dates = judged.length ? [...new Set(judged.map(day))].join(" to ") : "";
  const versions = Object.entries(rest)
    .filter(([, words]) => words.length)
    .map(([name, words]) => `${name === "machine" ? "on" : name} ${words.slice(0, 3).join(", ")}${words.length > 3 ? ", ..." : ""}`);
  byId("made").textContent = dates ? `Judged ${dates}: ${versions.join("; ")}.` : "";
  byId("summary").textContent =
    `${count(TOTAL, "submission")} to ${problems} by ${count(MODELS.length, "model")}${where}. ${held} One file of ${byId("summary").dataset.size}, no network.`;
}

const THEMES = ["system", "light", "dark"];

function makeTheme() {
  const button = byId("theme");
  const set = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.dataset.theme = theme;
  };
  set(rememberedTheme() ?? "system");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length];
    set(next);
    rememberTheme(next);
    recolour();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
}

function recolour() {
  drawCharts();
  if (current.submission >= 0) openDetail(current.submission, current.list);
}

// A page that was opened as a file may be forbidden to keep anything; then nothing is remembered.
function rememberedTheme() {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem("kernel-harness-theme"));
  } catch {
    return undefined;
  }
}

function rememberTheme(theme) {
  try {
    localStorage.setItem("kernel-harness-theme", theme);
  } catch {
    // See above.
  }
}

function followAddress(address) {
  const named = PLACE_OF_ID.get(new URLSearchParams(address.slice(1)).get("submission"));
  const numbered = /^#submission-(\d+)$/.exec(address);
  const place = named ?? (numbered ? Number(numbered[1]) : -1);
  if (place >= 0 && place < TOTAL && (place !== current.submission || !dialog.open)) openDetail(place);
}

const address = location.hash; // what is drawn first writes its own
makeTheme();
makeScope();
makeDetail();
summarise();
byId("leaderboard-body").append(leaderboardTable.element);
byId("charts-body").append(figures.fastP, figures.histogram, figures.roofline);
redraw();
window.addEventListener("hashchange", () => followAddress(location.hash));
followAddress(address);
