// One submission, in a dialog: everything that its record and its attachments say.

const dialog = byId("detail");
let current = { submission: -1, list: [] };

function makeDetail() {
  dialog.addEventListener("close", () => {
    if (dialog.open) return; // the event comes later than the end it tells of, and another may be open by then
    for (const canvas of dialog.querySelectorAll("canvas")) erase(canvas);
    byId("detail-body").replaceChildren();
    current = { submission: -1, list: [] };
    showAddress();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });
  byId("detail-close").addEventListener("click", () => dialog.close());
  byId("detail-previous").addEventListener("click", () => step(-1));
  byId("detail-next").addEventListener("click", () => step(1));
}

function openDialog(title, content) {
  current = { submission: -1, list: [] };
  byId("detail-previous").hidden = byId("detail-next").hidden = true;
  byId("detail-title").textContent = title;
  byId("detail-body").replaceChildren(...content.filter(Boolean));
  if (!dialog.open) dialog.showModal();
  byId("detail-body").scrollTop = 0;
}

// `list`: what previous and next go through; the table's rows where none is given.
function openDetail(submission, list = submissionsTable.rows()) {
  openDialog(problemOf(submission).title, [
    head(submission),
    el("p", { role: "status" }, hasDetails(submission) ? "Unpacking …" : ""),
  ]);
  current = { submission, list };
  showAddress();
  const at = list.indexOf(submission);
  byId("detail-previous").disabled = at <= 0;
  byId("detail-next").disabled = at < 0 || at >= list.length - 1;
  byId("detail-previous").hidden = byId("detail-next").hidden = false;
  const body = byId("detail-body");
  if (!hasDetails(submission)) {
    body.replaceChildren(
      head(submission),
      el(
        "p",
        { class: "proviso" },
        `This page holds the details of its first ${DATA.details.length.toLocaleString("en")} submissions. Those of this one are in its run's folder, under artifacts.`,
      ),
    );
    return;
  }
  details(submission).then(
    (content) => {
      if (current.submission !== submission) return;
      const made = [...sections(content, submission), othersSection(submission, content)].filter(Boolean);
      body.replaceChildren(head(submission), contents(made), ...made);
      if (content.record.timing) drawTimingChart(content.record.timing);
    },
    (error) =>
      body.replaceChildren(
        head(submission),
        el(
          "p",
          { class: "proviso" },
          `These details could not be unpacked: ${error.message}. Chrome 80, Firefox 113, Safari 16.4 and later can.`,
        ),
      ),
  );
}

function step(by) {
  const next = current.list[current.list.indexOf(current.submission) + by];
  if (next !== undefined) openDetail(next, current.list);
}

function head(submission) {
  const group = groupOf(submission);
  const speedup = speedupOf(submission);
  return el(
    "div",
    { class: "head" },
    el(
      "p",
      { class: "what" },
      submissionName(submission),
      " by ",
      el("strong", {}, modelName(group.model)),
      `, run ${group.run}, on ${placeOf(group)}`,
    ),
    el(
      "p",
      { class: "verdict" },
      badge(COLUMNS.verdict[submission]),
      " ",
      speedup === null
        ? COLUMNS.outcome[submission]
        : [
            el("strong", {}, ratio(speedup)),
            ` ${interval(over(submission, "low"), over(submission, "high"))} as fast as the reference (${BASELINE_WORDS[scope.baseline]})`,
          ],
    ),
    COLUMNS.marks[submission] ? el("p", { class: "proviso" }, provisos(submission)) : null,
  );
}

const PROVISOS = {
  emulated: "CUDA was emulated on the CPU: this says that it is correct, nothing about time.",
  reduced: "It ran at a reduced size.",
  "less isolated": "The sandbox lacked some of its layers.",
  unisolated: "It ran without isolation.",
  audited: "The audit of the problem itself found fault.",
  disturbed: "The device was disturbed while it was timed.",
};

const provisos = (submission) =>
  COLUMNS.marks[submission]
    .split(", ")
    .map((mark) => PROVISOS[mark])
    .join(" ");

// A way to each section without scrolling through the others.
function contents(made) {
  const jump = (each) =>
    el(
      "button",
      { type: "button", onclick: () => each.scrollIntoView({ block: "start" }) },
      each.querySelector("h3").textContent,
    );
  return el("nav", { class: "contents", "aria-label": "Sections" }, made.map(jump));
}

// Every other answer to the same problem, over turns, models and runs, each to be opened or laid beside this one.
function othersSection(submission, content) {
  const problem = COLUMNS.problem[submission];
  const all = COLUMNS.problem.map((each, place) => (each === problem ? place : -1)).filter((place) => place >= 0);
  if (all.length < 2) return null;
  const beside = el("div", {});
  const compareWith = async (other) => {
    const theirs = await details(other);
    beside.replaceChildren(...sideBySide([submission, other], [content, theirs]));
    beside.scrollIntoView({ block: "start" });
  };
  const rows = all.sort(byQuestion).map((each) => [
    each === submission
      ? el("strong", {}, submissionName(each))
      : el("button", { type: "button", class: "open", onclick: () => openDetail(each, all) }, submissionName(each)),
    groupName(COLUMNS.group[each]),
    badge(COLUMNS.verdict[each]),
    speedupOf(each) === null ? NOTHING : [ratio(speedupOf(each)), " ", el("small", {}, interval(over(each, "low"), over(each, "high")))],
    each === submission || !hasDetails(each)
      ? ""
      : el("button", { type: "button", class: "to-line", onclick: () => compareWith(each) }, "Compare"),
  ]);
  const titles = ["submission", "model", "verdict", "speed-up", "beside this one"];
  return section("All answers to this problem", plainTable("All answers to this problem", titles, rows, { numbersFrom: 9 }), beside);
}

function sideBySide(pair, contentsOfBoth) {
  const names = pair.map((each) => `${submissionName(each)} by ${groupName(COLUMNS.group[each])}`);
  const said = (each) => (speedupOf(each) === null ? COLUMNS.outcome[each] : `${ratio(speedupOf(each))} ${interval(over(each, "low"), over(each, "high"))}`);
  const facts = [
    ["verdict", ...pair.map((each) => VERDICTS[COLUMNS.verdict[each]].word)],
    ["what came of it", ...pair.map(said)],
    ["a call", ...pair.map((each) => milliseconds(COLUMNS.candidate_ms[each]))],
    ["the reference", ...contentsOfBoth.map(({ record }) => milliseconds(record.timing?.reference_ms))],
  ];
  const sources = contentsOfBoth.map(({ files }) => files["candidate.py"] ?? files["submission.txt"] ?? "");
  return [
    el("h4", {}, "Side by side"),
    plainTable("Two submissions side by side", ["", ...names], facts, { numbersFrom: 9 }),
    el("h4", {}, "What differs in their sources"),
    differences(sources[0], sources[1], names),
  ];
}

// The answer and, where this page has it, the problem's reference beside it.
function sourceBesideReference(files, record, submission) {
  const parts = sourceParts(files, record);
  const reference = problemOf(submission).source;
  if (!reference) return parts;
  const { title } = problemOf(submission);
  const shown = codeBlock(reference, {
    language: "python",
    label: "The problem's reference",
    prefix: "reference",
    file: `${title.split("/").at(-1)}.py`,
  });
  return [
    el(
      "div",
      { class: "beside" },
      el("div", {}, el("h4", {}, "The answer"), parts),
      el("div", {}, el("h4", {}, `The problem: ${title}`), shown),
    ),
  ];
}

function sections({ record, files }, submission) {
  const source = files["candidate.py"];
  const made = [
    section("Verdict", verdictFacts(record), children(skippedBlocks(record))),
    section(
      "Flags",
      flagList(record.flags, source, "Doubts about the candidate"),
      flagList(record.audit, null, "Doubts about the problem itself"),
      toolList(record.tools, source),
    ),
    section("Timing", timingParts(record)),
    section("Roofline", rooflineFacts(record.roofline)),
    section("Profile", profileParts(record.profile)),
    section("Source", sourceBesideReference(files, record, submission)),
    section("Logs", logParts(files, record)),
    section("How it was judged", conditionsParts(record)),
  ];
  return made.filter(Boolean);
}

const children = (value) => (value ? [value] : []);

function section(title, ...parts) {
  const content = parts.flat().filter(Boolean);
  return content.length ? el("section", {}, el("h3", {}, title), content) : null;
}

function verdictFacts({ verdict, tolerance, candidate }) {
  const facts = {
    correct: () => [
      ["calls compared", String(verdict.trials)],
      [
        "largest error",
        verdict.error &&
          `${significant(verdict.error.relative, 2)} (the reference's own ${significant(verdict.error.reference_relative, 2)})`,
      ],
      ["of the tolerance used", verdict.error && percent(verdict.error.of_tolerance)],
      [
        "two calls on equal inputs",
        { bitwise: "equal to the bit", "within-tolerance": "equal within the tolerance" }[verdict.repeatable],
      ],
    ],
    wrong: () => [
      ["reason", verdict.reason],
      ["detail", verdict.detail],
      ["shown by", `${verdict.trial} inputs`],
      ...mismatchFacts(verdict.mismatch),
    ],
    failed: () => [
      ["at", verdict.stage],
      ["reason", verdict.reason],
      ["detail", verdict.detail],
    ],
    rejected: () => [
      ["rule", verdict.rule],
      ["detail", verdict.detail],
    ],
    infrastructure: () => [["a fault of ours or of the machine", verdict.detail]],
  };
  return factTable("Verdict", [
    ...facts[verdict.kind](),
    ["tolerance", tolerance],
    ["written in", candidate?.languages.join(", ")],
  ]);
}

function mismatchFacts(mismatch) {
  if (!mismatch) return [];
  return [
    [
      "out of tolerance",
      `${mismatch.mismatched.toLocaleString("en")} of ${mismatch.elements.toLocaleString("en")} elements of ${mismatch.output} (${percent(mismatch.mismatched / mismatch.elements)})`,
    ],
    ["the worst, at", `[${mismatch.worst_index.join(", ")}]`],
    ["got", el("span", { class: "got" }, significant(mismatch.actual, 9))],
    ["expected", el("span", { class: "expected" }, significant(mismatch.expected, 9))],
    ["allowed difference", significant(mismatch.tolerance, 4)],
  ];
}

// What was not taken out of the response, where nothing was.
function skippedBlocks({ submission, verdict }) {
  if (verdict.kind !== "failed" || verdict.stage !== "extract" || !submission.extraction?.blocks.length) return null;
  return plainTable(
    "Blocks of the response",
    ["block", "language", "starts at line", "lines", "what became of it"],
    submission.extraction.blocks.map((block) => [
      String(block.index + 1),
      block.language,
      String(block.first_line),
      String(block.lines),
      block.reason || block.outcome,
    ]),
    { numbersFrom: 5 },
  );
}

function flagList(flags, source, caption) {
  if (!flags.length) return [];
  const items = flags.map((flag) =>
    el(
      "li",
      {},
      el("span", { class: `severity ${flag.severity}` }, flag.severity),
      " ",
      el("strong", {}, flag.rule),
      ` ${flag.detail}`,
      meantLines(flag.lines, source),
    ),
  );
  return [el("h4", {}, caption), el("ul", { class: "flags" }, items)];
}

function toolList(tools, source) {
  if (!tools.length) return [];
  const items = tools.map((tool) =>
    el(
      "li",
      {},
      el("span", { class: `severity ${tool.clean ? "info" : "warn"}` }, tool.clean ? "clean" : "found"),
      " ",
      el("strong", {}, tool.tool),
      ` ${tool.summary}`,
      meantLines(tool.lines, source),
    ),
  );
  return [el("h4", {}, "Tools"), el("ul", { class: "flags" }, items)];
}

// The lines that a doubt means; each leads to its place in the source.
function meantLines(lines, source) {
  if (!lines.length || source === undefined || source === null) return "";
  const text = source.split("\n");
  return el(
    "ol",
    { class: "lines" },
    lines
      .filter((line) => line <= text.length)
      .map((line) =>
        el(
          "li",
          {},
          el("button", { type: "button", class: "to-line", onclick: () => goToLine(line) }, `line ${line}`),
          " ",
          el("code", {}, text[line - 1].trim().slice(0, 400)),
        ),
      ),
  );
}

function goToLine(number) {
  const line = byId(`candidate-${number}`);
  line?.closest("details")?.setAttribute("open", "");
  line?.scrollIntoView({ block: "center" });
  line?.focus({ preventScroll: true });
}

const CONCLUSIONS = {
  faster: "faster than the reference",
  slower: "slower than the reference",
  same: "as fast as the reference",
  ambiguous: "too close to call",
};

function timingParts({ timing }) {
  if (!timing) return [];
  const against = [
    {
      name: timing.baseline,
      reference_ms: timing.reference_ms,
      speedup: timing.speedup,
      conclusion: timing.conclusion,
    },
    ...timing.baselines,
  ];
  const conditions = timing.conditions;
  return [
    plainTable(
      "Against each form of the reference, with the 95% bootstrap interval",
      ["reference", "its time", "candidate", "speed-up", "interval", "conclusion"],
      against.map((each) => [
        BASELINE_WORDS[each.name] + (each.cached ? " (time known from before)" : ""),
        milliseconds(each.reference_ms),
        milliseconds(timing.candidate_ms),
        ratio(each.speedup.value),
        interval(each.speedup.low, each.speedup.high),
        CONCLUSIONS[each.conclusion],
      ]),
    ),
    timing.candidate_samples_ms.length ? chartFigure("Samples") : null,
    factTable("Timing", [
      ["rounds", `${timing.rounds} of ${count(timing.calls_per_round, "call")}`],
      ["taken off for handing over", milliseconds(timing.hand_over_ms)],
      ["clock", timing.clock],
      ["transfer", timing.transfer],
      [
        "second opinion, device events",
        isNumber(timing.candidate_device_ms)
          ? `candidate ${milliseconds(timing.candidate_device_ms)}, reference ${milliseconds(timing.reference_device_ms)}`
          : "",
      ],
      [
        "SM clock",
        conditions &&
          `${significant(conditions.sm_mhz, 4)} MHz (${significant(conditions.sm_mhz_lowest, 4)} to ${significant(conditions.sm_mhz_highest, 4)}), ${count(conditions.samples, "sample")}`,
      ],
      ["memory clock", conditions && `${significant(conditions.memory_mhz, 4)} MHz`],
      [
        "temperature and power",
        conditions && `${significant(conditions.temperature_c, 3)} °C, ${significant(conditions.power_w, 4)} W`,
      ],
      ["throttled by", conditions && (conditions.throttle.join(", ") || "nothing")],
      ["disturbed", conditions && (conditions.disturbed ? "yes" : "no")],
    ]),
  ];
}

function drawTimingChart(timing) {
  const figure = dialog.querySelector("figure.chart");
  if (figure) drawSamples(figure, timing);
}

function rooflineFacts(roofline) {
  if (!roofline) return null;
  const bytes = (value) =>
    value >= 1e9
      ? `${significant(value / 1e9, 4)} GB`
      : value >= 1e6
        ? `${significant(value / 1e6, 4)} MB`
        : `${significant(value / 1e3, 4)} kB`;
  return factTable("Roofline", [
    ["reached", percent(roofline.fraction)],
    [
      "the roofline allows",
      `${milliseconds(roofline.floor_ms)} a call, ${milliseconds(roofline.write_floor_ms)} for writing the outputs alone`,
    ],
    ["bytes", `${bytes(roofline.bytes_read)} read, ${bytes(roofline.bytes_written)} written`],
    ["floating point operations", significant(roofline.flops, 4)],
    [
      "measured on this device",
      `${significant(roofline.bandwidth_gb_s, 4)} GB/s, ${significant(roofline.matrix_tflops, 4)} TFLOP/s`,
    ],
  ]);
}

function profileParts(profile) {
  if (!profile) return [];
  const total = profile.kernels.reduce((sum, kernel) => sum + kernel.ms, 0);
  return [
    el(
      "p",
      {},
      `As torch's profiler saw it in the candidate's own process, which decides nothing: ${milliseconds(profile.device_ms)} of kernels a call, ${percent(profile.custom_kernel_share)} of it in kernels of the candidate's own source.`,
    ),
    profile.kernels.length
      ? plainTable(
          "Kernels of one call",
          ["kernel", "whose", "time", "share", "launches"],
          profile.kernels.map((kernel) => [
            el("code", {}, kernel.name),
            kernel.origin,
            milliseconds(kernel.ms),
            percent(total ? kernel.ms / total : 0),
            significant(kernel.launches, 3),
          ]),
          { numbersFrom: 2 },
        )
      : null,
  ];
}

function sourceParts(files, record) {
  const marks = new Map();
  const mark = (lines, words) => {
    for (const line of lines) marks.set(line, [marks.get(line), words].filter(Boolean).join("; "));
  };
  for (const flag of record.flags) mark(flag.lines, flag.rule);
  for (const tool of record.tools) mark(tool.lines, tool.tool);
  const first = record.submission.extraction?.first_line;
  const [candidate, submission] = [files["candidate.py"], files["submission.txt"]];
  const parts = [];
  if (candidate) {
    if (first > 1) parts.push(el("p", {}, `Its line 1 is line ${first} of the submission.`));
    parts.push(
      codeBlock(candidate, { language: "python", label: "Source of the candidate", marks, prefix: "candidate", file: "candidate.py" }),
    );
  }
  if (submission && submission !== candidate) {
    const block = codeBlock(submission, { label: "The submission as it came", prefix: "submission" });
    parts.push(
      el(
        "details",
        { open: !candidate },
        el("summary", {}, `The submission as it came (${count(submission.split("\n").length, "line")})`),
        block,
      ),
    );
  }
  if (!parts.length) parts.push(el("p", {}, "The source was not kept with this record."));
  return parts;
}

const NOT_LOGS = new Set(["candidate.py", "submission.txt"]);

function logParts(files, { verdict }) {
  const logs = Object.entries(files).filter(([name, text]) => !NOT_LOGS.has(name) && text.trim());
  const kept = logs.map(([, text]) => text.trim());
  if (verdict.log?.trim() && !kept.includes(verdict.log.trim())) logs.unshift(["log of the verdict", verdict.log]);
  const ended = verdict.kind === "failed";
  return logs.map(([name, text]) =>
    el(
      "details",
      { open: ended },
      el("summary", {}, `${name} (${count(text.trimEnd().split("\n").length, "line")})`),
      codeBlock(text.trimEnd(), { label: name, prefix: `log-${name.replace(/\W/g, "-")}` }),
    ),
  );
}

function conditionsParts(record) {
  const { workload } = record.problem;
  const settings = Object.entries(workload.settings).map(
    ([name, value]) => `${name} = ${value} (the file says ${workload.original[name] ?? "nothing"})`,
  );
  const { environment, sandbox, submission, candidate } = record;
  const phases = Object.entries(record.phases_s).map(([name, seconds]) => `${name} ${significant(seconds, 3)} s`);
  const clocks = Object.entries(environment.clocks).map(([name, value]) => `${name} ${significant(value, 4)} MHz`);
  const list = (items) =>
    items.length
      ? el(
          "ul",
          {},
          items.map((item) => el("li", {}, item)),
        )
      : "";
  return [
    factTable("How it was judged", [
      ["judged at", record.judged_at],
      ["sizes", settings.length ? list(settings) : "as the problem says"],
      ["precision", workload.precision],
      [
        "builds",
        list(
          record.builds.map(
            (build) =>
              `${build.name}: ${build.toolchain}, ${build.cached ? "cached" : `${significant(build.seconds, 3)} s, ${significant(build.cpu_seconds, 3)} s of CPU`}${build.notes.length ? `; ${build.notes.join("; ")}` : ""}`,
          ),
        ),
      ],
      ["substituted", list(record.substitutions)],
      ["isolated by", sandbox.layers.join(", ")],
      ["layers missing", sandbox.missing.join(", ")],
      ["stages", phases.join(", ")],
      [
        "tokens",
        submission.prompt_tokens === null
          ? ""
          : `${significant(submission.prompt_tokens, 9)} in the prompt, ${significant(submission.completion_tokens, 9)} in the answer`,
      ],
      [
        "machine",
        [environment.gpu, environment.cpu && `${environment.cpu}, ${environment.cores} cores`, environment.host]
          .filter(Boolean)
          .join("; "),
      ],
      [
        "versions",
        [
          `harness ${environment.harness}`,
          `Python ${environment.python}`,
          `torch ${environment.torch}`,
          environment.cuda && `CUDA ${environment.cuda}`,
          environment.driver && `driver ${environment.driver}`,
        ]
          .filter(Boolean)
          .join(", "),
      ],
      ["clocks", clocks.join(", ")],
      [
        "SHA-256",
        list(
          [
            `problem ${record.problem.sha256}`,
            `submission ${submission.sha256}`,
            candidate && `candidate ${candidate.sha256}`,
          ].filter(Boolean),
        ),
      ],
    ]),
  ];
}
