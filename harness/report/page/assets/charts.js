// Three charts of all that is in scope, and one of a submission's samples. Each has its numbers as a table beside it.

const MOST_LINES = 12;
const MOST_POINTS = 3000;
const BINS_PER_OCTAVE = 4;
const drawn = new Map(); // canvas -> Chart

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A colour and a dash for each row of the leaderboard, the same in every chart.
function pen(number) {
  const colours = Array.from({ length: 10 }, (_, index) => style(`--series-${index}`));
  return { colour: colours[number % 10], dash: [[], [6, 3], [2, 2]][Math.floor(number / 10) % 3] };
}

function draw(canvas, configuration) {
  drawn.get(canvas)?.destroy();
  const text = style("--text-2");
  const grid = style("--line");
  for (const axis of Object.values(configuration.options.scales)) {
    axis.ticks = { color: text, ...axis.ticks };
    axis.grid = { color: grid, ...axis.grid };
    axis.border = { color: grid };
    axis.title = { ...axis.title, display: true, color: text };
  }
  configuration.options = {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    ...configuration.options,
    plugins: {
      ...configuration.options.plugins,
      legend: {
        position: "bottom",
        labels: { color: text, boxWidth: 14, boxHeight: 8, usePointStyle: false, ...configuration.options.plugins?.legend?.labels },
      },
    },
  };
  drawn.set(canvas, new Chart(canvas, configuration));
}

function erase(canvas) {
  drawn.get(canvas)?.destroy();
  drawn.delete(canvas);
}

const powersOf = (base) => (axis) => {
  const first = Math.ceil(Math.log(axis.min) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(axis.max) / Math.log(base) + 1e-9);
  axis.ticks = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({ value: base ** (first + index) }));
};

// What a chart shows, in words and as a table. `say` is also the picture's text for those who do not see it.
function tell(figure, sentence, table) {
  const canvas = figure.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${figure.querySelector("h3").textContent}. ${sentence}`);
  figure.querySelector(".said").textContent = sentence;
  figure.querySelector(".numbers").replaceChildren(table);
}

function nothingToDraw(figure, sentence) {
  const canvas = figure.querySelector("canvas");
  erase(canvas);
  figure.classList.add("bare");
  figure.querySelector(".said").textContent = sentence;
  figure.querySelector(".numbers").replaceChildren();
}

function drawFastP(figure, board) {
  const rows = board.filter((row) => row.curve);
  if (rows.length === 0) return nothingToDraw(figure, "Nothing in this selection was timed.");
  figure.classList.remove("bare");
  const shown = rows.slice(0, MOST_LINES);
  const datasets = shown.map((row) => {
    const { colour, dash } = pen(row.group);
    const data = DATA.p.map((p, index) => ({ x: p, y: row.curve[index] }));
    return { label: groupName(row.group), data, borderColor: colour, backgroundColor: colour, borderDash: dash, borderWidth: 2, pointRadius: 0, pointHitRadius: 6, stepped: "after" };
  });
  const [least, most] = [DATA.p[0], DATA.p[DATA.p.length - 1]];
  datasets.push({ label: "", data: [{ x: 1, y: 0 }, { x: 1, y: 1 }], borderColor: style("--text-2"), borderWidth: 1, borderDash: [3, 3], pointRadius: 0, pointHitRadius: 0 });
  draw(figure.querySelector("canvas"), {
    type: "line",
    data: { datasets },
    options: {
      interaction: { mode: "nearest", intersect: false, axis: "xy" },
      scales: {
        x: { type: "logarithmic", min: least, max: most, title: { text: "p, times as fast as the reference" }, afterBuildTicks: powersOf(2), ticks: { callback: (value) => ratio(value) } },
        y: { min: 0, max: 1, title: { text: "share of what was asked" }, ticks: { callback: (value) => percent(value) } },
      },
      plugins: {
        legend: { labels: { filter: (item) => item.text !== "" } },
        tooltip: { filter: (item) => item.dataset.label !== "", callbacks: { title: () => "", label: (item) => `${item.dataset.label}: ${percent(item.parsed.y)} correct and more than ${ratio(item.parsed.x)} as fast` } },
      },
    },
  });
  const left = rows.length - shown.length;
  const best = shown[0];
  tell(
    figure,
    `The share of all submissions that is correct and more than p times as fast as the reference. ${groupName(best.group)}: ${rate(best.fast_0)} correct, ${rate(best.fast_1)} faster than the reference.` +
      (left > 0 ? ` The first ${MOST_LINES} of ${rows.length} rows are drawn; choose a model to see another.` : ""),
    fastPTable(rows),
  );
}

function fastPTable(rows) {
  const chosen = DATA.p.map((p, index) => ({ p, index })).filter(({ p }) => Number.isInteger(Math.log2(p)));
  return plainTable(
    "fast_p for some p",
    ["row", ...chosen.map(({ p }) => `p = ${significant(p, 3)}`)],
    rows.map((row) => [groupName(row.group), ...chosen.map(({ index }) => rate(row.curve[index]))]),
  );
}

function drawHistogram(figure, submissions) {
  const place = placeToChart(submissions);
  const timed = submissions.filter((each) => COLUMNS.speedup[each] !== null && placeOf(groupOf(each)) === place);
  if (timed.length === 0) return nothingToDraw(figure, "Nothing correct in this selection was timed.");
  figure.classList.remove("bare");
  const bin = (each) => Math.floor(Math.log2(COLUMNS.speedup[each]) * BINS_PER_OCTAVE);
  const bins = timed.map(bin);
  const first = Math.min(-BINS_PER_OCTAVE, bins.reduce((a, b) => Math.min(a, b)));
  const last = Math.max(BINS_PER_OCTAVE - 1, bins.reduce((a, b) => Math.max(a, b)));
  const counts = new Map();
  timed.forEach((each, index) => {
    const group = COLUMNS.group[each];
    if (!counts.has(group)) counts.set(group, new Array(last - first + 1).fill(0));
    counts.get(group)[bins[index] - first] += 1;
  });
  const groups = [...counts.keys()].sort((a, b) => a - b);
  const centre = (index) => (first + index + 0.5) / BINS_PER_OCTAVE;
  const edges = (index) => [2 ** ((first + index) / BINS_PER_OCTAVE), 2 ** ((first + index + 1) / BINS_PER_OCTAVE)];
  // The axis is linear in the logarithm, because bars on a logarithmic one would not be equally wide.
  draw(figure.querySelector("canvas"), {
    type: "bar",
    data: {
      datasets: groups.map((group) => ({ label: groupName(group), data: counts.get(group).map((y, index) => ({ x: centre(index), y })), backgroundColor: pen(group).colour, barPercentage: 0.96, categoryPercentage: 1, stack: "all" })),
    },
    options: {
      scales: {
        x: { type: "linear", stacked: true, offset: false, grid: { offset: false }, min: first / BINS_PER_OCTAVE, max: (last + 1) / BINS_PER_OCTAVE, title: { text: "speed-up over the reference" }, afterBuildTicks: (axis) => { axis.ticks = Array.from({ length: Math.floor(axis.max) - Math.ceil(axis.min) + 1 }, (_, index) => ({ value: Math.ceil(axis.min) + index })); }, ticks: { callback: (value) => ratio(2 ** value) } },
        y: { stacked: true, beginAtZero: true, title: { text: "submissions" }, ticks: { precision: 0 } },
      },
      plugins: {
        legend: { labels: { filter: (_, data) => data.datasets.length <= MOST_LINES } },
        tooltip: { callbacks: { title: ([item]) => edges(item.dataIndex).map(ratio).join(" to "), label: (item) => `${item.dataset.label}: ${item.parsed.y}` } },
      },
    },
  });
  const faster = timed.filter((each) => COLUMNS.low[each] > 1).length;
  const slower = timed.filter((each) => COLUMNS.high[each] < 1).length;
  tell(
    figure,
    `${count(timed.length, "correct and timed submission")} on ${place}: ${faster} surely faster than the reference, ${slower} surely slower, ${timed.length - faster - slower} too close to call.`,
    plainTable(
      "Submissions by speed-up",
      ["speed-up", ...groups.map(groupName)],
      Array.from({ length: last - first + 1 }, (_, index) => index)
        .filter((index) => groups.some((group) => counts.get(group)[index] > 0))
        .map((index) => [edges(index).map(ratio).join(" to "), ...groups.map((group) => String(counts.get(group)[index]))]),
    ),
  );
}

function drawRoofline(figure, submissions) {
  const place = placeToChart(submissions);
  const known = submissions.filter((each) => COLUMNS.floor_ms[each] > 0 && COLUMNS.candidate_ms[each] > 0 && COLUMNS.speedup[each] !== null && placeOf(groupOf(each)) === place);
  if (known.length === 0) return nothingToDraw(figure, "No record in this selection holds a roofline.");
  figure.classList.remove("bare");
  const shown = known.slice(0, MOST_POINTS);
  const groups = distinct(shown.map((each) => COLUMNS.group[each])).sort((a, b) => a - b);
  const x = (each) => COLUMNS.floor_ms[each];
  const y = (each) => COLUMNS.candidate_ms[each];
  const least = 10 ** Math.floor(Math.log10(shown.reduce((a, each) => Math.min(a, x(each), y(each)), Infinity)));
  const most = 10 ** Math.ceil(Math.log10(shown.reduce((a, each) => Math.max(a, x(each), y(each)), 0)));
  const datasets = groups.map((group) => {
    const members = shown.filter((each) => COLUMNS.group[each] === group);
    const { colour } = pen(group);
    return { label: groupName(group), members, data: members.map((each) => ({ x: x(each), y: y(each) })), backgroundColor: colour, borderColor: colour, pointStyle: members.map((each) => (COLUMNS.bound[each] === "compute" ? "triangle" : "circle")), pointRadius: 4, pointHoverRadius: 7 };
  });
  const shares = [[1, []], [0.1, [4, 4]], [0.01, [1, 4]]];
  for (const [share, dash] of shares) {
    datasets.push({ type: "line", label: "", share, data: [{ x: least, y: least / share }, { x: most, y: most / share }], borderColor: style("--text-2"), borderWidth: 1, borderDash: dash, pointRadius: 0, pointHitRadius: 0 });
  }
  const canvas = figure.querySelector("canvas");
  const decades = { type: "logarithmic", min: least, max: most, afterBuildTicks: powersOf(10), ticks: { callback: (value) => significant(value, 1) } };
  draw(canvas, {
    type: "scatter",
    data: { datasets },
    options: {
      onClick: (_, [hit]) => {
        const submission = hit && datasets[hit.datasetIndex].members?.[hit.index];
        if (submission !== undefined) openDetail(submission);
      },
      scales: {
        x: { ...decades, title: { text: "what the roofline allows, ms a call" } },
        y: { ...decades, title: { text: "measured, ms a call" } },
      },
      plugins: {
        legend: { labels: { usePointStyle: true, filter: (item, data) => item.text !== "" && data.datasets.length <= MOST_LINES + shares.length } },
        tooltip: { filter: (item) => item.dataset.label !== "", callbacks: { label: (item) => pointText(item.dataset.members[item.dataIndex]) } },
      },
    },
  });
  const left = known.length - shown.length;
  tell(
    figure,
    `${count(known.length, "submission")} on ${place}. The solid line is the roofline, the dashed one a tenth of it, the dotted one a hundredth; circles are bound by memory, triangles by compute; a point below the line would be faster than the device can be.` +
      (left > 0 ? ` ${MOST_POINTS} of them are drawn.` : ""),
    rooflineTable(known),
  );
}

const pointText = (each) => `${modelName(groupOf(each).model)}, ${problemOf(each).title}: ${milliseconds(COLUMNS.candidate_ms[each])}, ${percent(COLUMNS.fraction[each])} of the roofline`;

function rooflineTable(known) {
  const nearest = [...known].sort((a, b) => (COLUMNS.fraction[b] ?? 0) - (COLUMNS.fraction[a] ?? 0)).slice(0, 50);
  return plainTable(
    known.length > nearest.length ? `The ${nearest.length} nearest to the roofline` : "Nearest to the roofline first",
    ["submission", "model", "problem", "of the roofline", "measured", "allowed", "bound by"],
    nearest.map((each) => [
      el("a", { href: `#submission-${each}` }, submissionName(each)), modelName(groupOf(each).model), problemOf(each).title,
      percent(COLUMNS.fraction[each]), milliseconds(COLUMNS.candidate_ms[each]), milliseconds(COLUMNS.floor_ms[each]), COLUMNS.bound[each],
    ]),
    { numbersFrom: 3 },
  );
}

// The samples of one submission, in the order taken, with the medians.
function drawSamples(figure, timing) {
  const series = [
    ["candidate", timing.candidate_samples_ms, timing.candidate_ms, style("--series-0"), "circle"],
    ["reference", timing.reference_samples_ms, timing.reference_ms, style("--series-1"), "rectRot"],
  ];
  const rounds = Math.max(...series.map(([, samples]) => samples.length));
  draw(figure.querySelector("canvas"), {
    type: "scatter",
    data: {
      datasets: series.flatMap(([label, samples, median, colour, pointStyle]) => [
        { label, data: samples.map((value, index) => ({ x: index + 1, y: value })), backgroundColor: colour, borderColor: colour, pointStyle, pointRadius: 3 },
        { type: "line", label: "", data: [{ x: 1, y: median }, { x: rounds, y: median }], borderColor: colour, borderWidth: 1, pointRadius: 0, pointHitRadius: 0 },
      ]),
    },
    options: {
      scales: {
        x: { type: "linear", min: 0, max: rounds + 1, title: { text: "round" }, ticks: { precision: 0 } },
        y: { beginAtZero: true, title: { text: "ms a call" } },
      },
      plugins: {
        legend: { labels: { usePointStyle: true, filter: (item) => item.text !== "" } },
        tooltip: { filter: (item) => item.dataset.label !== "", callbacks: { label: (item) => `${item.dataset.label}, round ${item.parsed.x}: ${milliseconds(item.parsed.y)}` } },
      },
    },
  });
  tell(
    figure,
    `Each point is the mean of ${count(timing.calls_per_round, "call")} of one round, the lines are the medians: candidate ${milliseconds(timing.candidate_ms)}, reference ${milliseconds(timing.reference_ms)}.`,
    plainTable(
      "Samples, milliseconds of one call", ["round", "candidate", "reference"],
      Array.from({ length: rounds }, (_, index) => [String(index + 1), ...series.map(([, samples]) => significant(samples[index], 6))]),
    ),
  );
}

// The skeleton that the above fill.
function chartFigure(title) {
  return el(
    "figure", { class: "chart" },
    el("h3", {}, title),
    el("div", { class: "canvas" }, el("canvas", {})),
    el("figcaption", {}, el("p", { class: "said" }), el("details", {}, el("summary", {}, "The numbers as a table"), el("div", { class: "numbers" }))),
  );
}
