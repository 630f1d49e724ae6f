// Three charts of all that is in scope, and one of a submission's samples. Each has its numbers as a table beside it.

const MOST_LINES = 12;
const MOST_POINTS = 3000;
const BINS_PER_OCTAVE = 4;
const drawn = new Map(); // canvas -> Chart

// A colour of the style sheet as it is now: the property itself would say both, for light and for dark.
function style(name) {
  const probe = byId("theme");
  probe.style.setProperty("outline-color", `var(${name})`);
  const colour = getComputedStyle(probe).outlineColor;
  probe.style.removeProperty("outline-color");
  return colour;
}

// A colour and a dash for each row of the leaderboard, the same in every chart.
const seriesOf = (number) => `--series-${number % 10}`;

function pen(number) {
  return { colour: style(seriesOf(number)), dash: [[], [6, 3], [2, 2]][Math.floor(number / 10) % 3] };
}

function draw(canvas, configuration) {
  drawn.get(canvas)?.destroy();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const text = style("--text-2");
  const grid = style("--line");
  for (const axis of Object.values(configuration.options.scales)) {
    axis.ticks = { color: text, maxRotation: 0, ...axis.ticks };
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
        labels: {
          color: text,
          boxWidth: 14,
          boxHeight: 8,
          usePointStyle: false,
          generateLabels: shortLabels,
          ...configuration.options.plugins?.legend?.labels,
        },
      },
    },
  };
  drawn.set(canvas, new Chart(canvas, configuration));
}

// A legend does not wrap a name: a long one would lose its colour over the edge. Names differ at both ends.
const LEGEND_LETTERS = 32;

function shortLabels(chart) {
  return Chart.defaults.plugins.legend.labels.generateLabels(chart).map((item) => {
    const cut = item.text.length > LEGEND_LETTERS;
    return cut ? { ...item, text: `${item.text.slice(0, 18)}…${item.text.slice(-13)}` } : item;
  });
}

function erase(canvas) {
  drawn.get(canvas)?.destroy();
  drawn.delete(canvas);
}

const powersOf = (base) => (axis) => {
  const first = Math.ceil(Math.log(axis.min) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(axis.max) / Math.log(base) + 1e-9);
  axis.ticks = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({
    value: base ** (first + index),
  }));
};

const timesText = (value) => `${significant(value, 4)}x`;

// What a chart shows, in words and as a table. The sentence is also the picture's text for those who do not see it.
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
  const rows = board.filter((row) => row.figures.curve);
  const [first, last] = spanOf(rows);
  const grid = DATA.p.map((p, index) => ({ p, index })).slice(first, last + 1);
  if (rows.length === 0) return nothingToDraw(figure, "Nothing in this selection was timed.");
  figure.classList.remove("bare");
  const shown = rows.slice(0, MOST_LINES);
  const datasets = shown.map((row) => {
    const { colour, dash } = pen(row.group);
    const data = grid.map(({ p, index }) => ({ x: p, y: row.figures.curve[index] }));
    return {
      label: groupName(row.group),
      data,
      borderColor: colour,
      backgroundColor: colour,
      borderDash: dash,
      borderWidth: 2,
      pointRadius: 0,
      pointHitRadius: 6,
      stepped: "after",
    };
  });
  datasets.push({
    label: "",
    data: [
      { x: 1, y: 0 },
      { x: 1, y: 1 },
    ],
    borderColor: style("--text-2"),
    borderWidth: 1,
    borderDash: [3, 3],
    pointRadius: 0,
    pointHitRadius: 0,
  });
  draw(figure.querySelector("canvas"), {
    type: "line",
    data: { datasets },
    options: {
      interaction: { mode: "nearest", intersect: false, axis: "xy" },
      scales: {
        x: {
          type: "logarithmic",
          min: grid[0].p,
          max: grid[grid.length - 1].p,
          title: { text: "p, times as fast as the reference" },
          afterBuildTicks: powersOf(2),
          ticks: { callback: timesText },
        },
        y: {
          min: 0,
          max: 1,
          title: { text: "share of problems" },
          ticks: { callback: (value) => percent(value) },
        },
      },
      plugins: {
        legend: { labels: { filter: (item) => item.text !== "" } },
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {
            title: () => "",
            label: (item) =>
              `${item.dataset.label}: ${percent(item.parsed.y)} correct and more than ${ratio(item.parsed.x)} as fast`,
          },
        },
      },
    },
  });
  const left = rows.length - shown.length;
  const best = shown[0];
  tell(
    figure,
    `The share of all problems asked with a correct answer more than p times as fast as the reference (${BASELINE_WORDS[scope.baseline]}). ${groupName(best.group)}: ${rate(best.figures.correct_rate)} correct, ${rate(fast(best.figures, 1)?.value)} faster than the reference.` +
      (left > 0 ? ` The first ${MOST_LINES} of ${rows.length} rows are drawn; choose a model to see another.` : ""),
    fastPTable(rows, grid),
  );
}

// From octave to octave around whatever the curves do; a half to four times at the least.
function spanOf(rows) {
  const octave = (step) => (index) => step * Math.ceil(step * Math.log2(DATA.p[index]) - 1e-9);
  const at = (power) => DATA.p.findIndex((p) => Math.abs(Math.log2(p) - power) < 1e-9);
  const moves = DATA.p
    .map((_, index) => index)
    .filter((index) => index > 0 && rows.some((row) => row.figures.curve[index] !== row.figures.curve[index - 1]));
  if (moves.length === 0) return [at(-1), at(2)];
  return [
    Math.max(0, at(Math.min(-1, octave(-1)(moves[0] - 1)))),
    Math.min(DATA.p.length - 1, at(Math.max(2, octave(1)(moves[moves.length - 1])))),
  ];
}

function fastPTable(rows, grid) {
  const chosen = grid.filter(({ p }) => Number.isInteger(Math.log2(p)));
  return plainTable(
    "fast_p for some p",
    ["row", ...chosen.map(({ p }) => `p = ${significant(p, 3)}`)],
    rows.map((row) => [groupName(row.group), ...chosen.map(({ index }) => rate(row.figures.curve[index]))]),
  );
}

function drawHistogram(figure, submissions) {
  const place = placeToChart(submissions);
  const timed = submissions.filter((each) => speedupOf(each) !== null && placeOf(groupOf(each)) === place);
  if (timed.length === 0) return nothingToDraw(figure, "Nothing correct in this selection was timed.");
  figure.classList.remove("bare");
  const bin = (each) => Math.floor(Math.log2(speedupOf(each)) * BINS_PER_OCTAVE);
  const bins = timed.map(bin);
  const first = Math.min(
    -BINS_PER_OCTAVE,
    bins.reduce((a, b) => Math.min(a, b)),
  );
  const last = Math.max(
    BINS_PER_OCTAVE - 1,
    bins.reduce((a, b) => Math.max(a, b)),
  );
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
      datasets: groups.map((group) => ({
        label: groupName(group),
        data: counts.get(group).map((y, index) => ({ x: centre(index), y })),
        backgroundColor: pen(group).colour,
        barPercentage: 0.96,
        categoryPercentage: 1,
        stack: "all",
      })),
    },
    options: {
      scales: {
        x: {
          type: "linear",
          stacked: true,
          offset: false,
          grid: { offset: false },
          min: first / BINS_PER_OCTAVE,
          max: (last + 1) / BINS_PER_OCTAVE,
          title: { text: `speed-up over ${BASELINE_WORDS[scope.baseline]}` },
          afterBuildTicks: (axis) => {
            axis.ticks = Array.from({ length: Math.floor(axis.max) - Math.ceil(axis.min) + 1 }, (_, index) => ({
              value: Math.ceil(axis.min) + index,
            }));
          },
          ticks: { callback: (value) => timesText(2 ** value) },
        },
        y: { stacked: true, beginAtZero: true, title: { text: "submissions" }, ticks: { precision: 0 } },
      },
      plugins: {
        legend: { labels: { filter: (_, data) => data.datasets.length <= MOST_LINES } },
        tooltip: {
          callbacks: {
            title: ([item]) => edges(item.dataIndex).map(ratio).join(" to "),
            label: (item) => `${item.dataset.label}: ${item.parsed.y}`,
          },
        },
      },
    },
  });
  const concluded = (word) => timed.filter((each) => over(each, "conclusion") === word).length;
  tell(
    figure,
    `${count(timed.length, "correct and timed submission")} on ${place}: ${concluded("faster")} faster than the reference, ${concluded("same")} as fast, ${concluded("slower")} slower, ${concluded("ambiguous")} too close to call.`,
    plainTable(
      "Submissions by speed-up",
      ["speed-up", ...groups.map(groupName)],
      Array.from({ length: last - first + 1 }, (_, index) => index)
        .filter((index) => groups.some((group) => counts.get(group)[index] > 0))
        .map((index) => [
          edges(index).map(ratio).join(" to "),
          ...groups.map((group) => String(counts.get(group)[index])),
        ]),
    ),
  );
}

function drawRoofline(figure, submissions) {
  const place = placeToChart(submissions);
  const known = submissions.filter(
    (each) =>
      COLUMNS.floor_ms[each] > 0 &&
      COLUMNS.candidate_ms[each] > 0 &&
      speedupOf(each) !== null &&
      placeOf(groupOf(each)) === place,
  );
  if (known.length === 0) return nothingToDraw(figure, "No record in this selection holds a roofline.");
  figure.classList.remove("bare");
  const stride = Math.ceil(known.length / MOST_POINTS);
  const shown = known.filter((_, index) => index % stride === 0);
  const groups = distinct(shown.map((each) => COLUMNS.group[each]));
  const x = (each) => COLUMNS.floor_ms[each];
  const y = (each) => COLUMNS.candidate_ms[each];
  const span = (of) =>
    [
      Math.floor(Math.log10(shown.reduce((a, each) => Math.min(a, of(each)), Infinity))),
      Math.ceil(Math.log10(shown.reduce((a, each) => Math.max(a, of(each)), 0)) + 1e-9),
    ].map((power) => 10 ** power);
  const [least, most] = span(x);
  const [lowest, highest] = span(y);
  const datasets = groups.map((group) => {
    const members = shown.filter((each) => COLUMNS.group[each] === group);
    const { colour } = pen(group);
    return {
      label: groupName(group),
      members,
      data: members.map((each) => ({ x: x(each), y: y(each) })),
      backgroundColor: colour,
      borderColor: colour,
      pointStyle: members.map((each) => (COLUMNS.bound[each] === "compute" ? "triangle" : "circle")),
      pointRadius: 3.5,
      pointHoverRadius: 7,
    };
  });
  const shares = [
    [1, []],
    [0.1, [4, 4]],
    [0.01, [1, 4]],
  ];
  for (const [share, dash] of shares) {
    datasets.push({
      type: "line",
      label: "",
      share,
      data: [
        { x: least, y: least / share },
        { x: most, y: most / share },
      ],
      borderColor: style("--text-2"),
      borderWidth: 1,
      borderDash: dash,
      pointRadius: 0,
      pointHitRadius: 0,
    });
  }
  const canvas = figure.querySelector("canvas");
  const decades = {
    type: "logarithmic",
    afterBuildTicks: powersOf(10),
    ticks: { callback: (value) => significant(value, 1) },
  };
  draw(canvas, {
    type: "scatter",
    data: { datasets },
    options: {
      onClick: (_, [hit]) => {
        const submission = hit && datasets[hit.datasetIndex].members?.[hit.index];
        if (submission !== undefined) openDetail(submission);
      },
      scales: {
        x: { ...decades, min: least, max: most, title: { text: "what the roofline allows, ms a call" } },
        y: { ...decades, min: lowest, max: highest, title: { text: "measured, ms a call" } },
      },
      plugins: {
        legend: {
          labels: {
            usePointStyle: true,
            filter: (item, data) => item.text !== "" && data.datasets.length <= MOST_LINES + shares.length,
          },
        },
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: { label: (item) => pointText(item.dataset.members[item.dataIndex]) },
        },
      },
    },
  });
  tell(
    figure,
    `${count(known.length, "submission")} on ${place}. The solid line is the roofline, the dashed one a tenth of it, the dotted one a hundredth; circles are bound by memory, triangles by compute; a point below the line would be faster than the device can be.` +
      (stride > 1 ? ` ${shown.length} of them are drawn, one in ${stride}.` : ""),
    rooflineTable(known),
  );
}

const pointText = (each) =>
  `${modelName(groupOf(each).model)}, ${problemOf(each).title}: ${milliseconds(COLUMNS.candidate_ms[each])}, ${percent(COLUMNS.fraction[each])} of the roofline`;

function rooflineTable(known) {
  const nearest = [...known].sort((a, b) => (COLUMNS.fraction[b] ?? 0) - (COLUMNS.fraction[a] ?? 0)).slice(0, 50);
  return plainTable(
    known.length > nearest.length ? `The ${nearest.length} nearest to the roofline` : "Nearest to the roofline first",
    ["submission", "model", "problem", "of the roofline", "measured", "allowed", "bound by"],
    nearest.map((each) => [
      el("a", { href: `#submission-${each}` }, submissionName(each)),
      modelName(groupOf(each).model),
      problemOf(each).title,
      percent(COLUMNS.fraction[each]),
      milliseconds(COLUMNS.candidate_ms[each]),
      milliseconds(COLUMNS.floor_ms[each]),
      COLUMNS.bound[each],
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
        {
          label,
          data: samples.map((value, index) => ({ x: index + 1, y: value })),
          backgroundColor: colour,
          borderColor: colour,
          pointStyle,
          pointRadius: 3,
        },
        {
          type: "line",
          label: "",
          data: [
            { x: 1, y: median },
            { x: rounds, y: median },
          ],
          borderColor: colour,
          borderWidth: 1,
          pointRadius: 0,
          pointHitRadius: 0,
        },
      ]),
    },
    options: {
      scales: {
        x: { type: "linear", min: 0, max: rounds + 1, title: { text: "round" }, ticks: { precision: 0 } },
        y: { grace: "10%", title: { text: "ms a call" } },
      },
      plugins: {
        legend: { labels: { usePointStyle: true, filter: (item) => item.text !== "" } },
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {
            label: (item) => `${item.dataset.label}, round ${item.parsed.x}: ${milliseconds(item.parsed.y)}`,
          },
        },
      },
    },
  });
  tell(
    figure,
    `Each point is the mean of ${count(timing.calls_per_round, "call")} of one round, the lines are the medians: candidate ${milliseconds(timing.candidate_ms)}, reference ${milliseconds(timing.reference_ms)}.`,
    plainTable(
      "Samples, milliseconds of one call",
      ["round", "candidate", "reference"],
      Array.from({ length: rounds }, (_, index) => [
        String(index + 1),
        ...series.map(([, samples]) => significant(samples[index], 6)),
      ]),
    ),
  );
}

// The skeleton that the above fill.
function chartFigure(title) {
  return el(
    "figure",
    { class: "chart" },
    el("h3", {}, title),
    el("div", { class: "canvas" }, el("canvas", {})),
    el(
      "figcaption",
      {},
      el("p", { class: "said" }),
      el("details", {}, el("summary", {}, "The numbers as a table"), el("div", { class: "numbers" })),
    ),
  );
}
