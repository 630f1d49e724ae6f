// Source with line numbers and colours. Colours never decide: where they cannot be had, the text stands as it is.

// highlight.js needs quadratic time for some words of tens of thousands of letters; no honest line is this long.
const LONGEST_LINE = 2000;

hljs.registerLanguage("cuda", (library) => {
  const grammar = library.getLanguage("cpp").rawDefinition();
  grammar.keywords.keyword.push(
    "__global__",
    "__device__",
    "__host__",
    "__shared__",
    "__constant__",
    "__restrict__",
    "__forceinline__",
    "__launch_bounds__",
    "__syncthreads",
    "__syncwarp",
  );
  grammar.keywords.built_in?.push?.("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize");
  grammar.keywords.type.push(
    "float2",
    "float4",
    "int2",
    "int4",
    "half",
    "half2",
    "__half",
    "__half2",
    "__nv_bfloat16",
    "dim3",
    "cudaStream_t",
  );
  return grammar;
});

const LOOKS_LIKE_CPP = /__global__|#include|torch::Tensor|at::Tensor/;
const TRIPLE_QUOTED = /^([a-z]{0,2}(?:"""|'''))([^]*)((?:"""|'''))$/i;

// [text, scope] pairs, in order. The C++ and CUDA that a Python source carries in its strings is coloured as such.
function* pieces(text, language) {
  const node = hljs.highlight(text, { language, ignoreIllegals: true })._emitter.rootNode;
  yield* walk(node, "", language);
}

function* walk(node, scopeName, language) {
  if (typeof node === "string") {
    yield [node, scopeName];
    return;
  }
  const name = node.scope ?? scopeName;
  if (language === "python" && name === "string") {
    const quoted = TRIPLE_QUOTED.exec(flat(node));
    if (quoted && LOOKS_LIKE_CPP.test(quoted[2])) {
      yield [quoted[1], "string"];
      yield* pieces(quoted[2], "cuda");
      yield [quoted[3], "string"];
      return;
    }
  }
  for (const child of node.children) yield* walk(child, name, language);
}

const flat = (node) => (typeof node === "string" ? node : node.children.map(flat).join(""));

// A block of code. `marks`: line number -> what to say of it; `prefix` makes the lines' ids.
function codeBlock(text, { language = "", label, marks = new Map(), prefix, file }) {
  const code = el("code");
  let number = 0;
  let line = null;
  function begin() {
    number += 1;
    const said = marks.get(number);
    line = el("span", {
      class: said ? "line marked" : "line",
      id: `${prefix}-${number}`,
      tabindex: said ? "-1" : null,
    });
    line.append(el("span", { class: "number", "data-number": String(number), "aria-hidden": "true" }));
    if (said) line.append(spoken(`flagged, ${said}: `));
    code.append(line);
  }
  begin();
  const colourable = language && text.split("\n").every((each) => each.length <= LONGEST_LINE);
  for (const [piece, scopeName] of colourable ? pieces(text, language) : [[text, ""]]) {
    piece.split("\n").forEach((part, index) => {
      if (index > 0) {
        line.append("\n");
        begin();
      }
      if (part) line.append(scopeName ? el("span", { class: `hl-${scopeName.split(".")[0]}` }, part) : part);
    });
  }
  const block = el("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, code);
  const copy = el("button", { type: "button", onclick: () => copyText(text, copy, code) }, "Copy");
  const keep = el("button", { type: "button", onclick: () => download(file ?? `${prefix}.txt`, text) }, "Download");
  return el("div", { class: "held" }, el("div", { class: "tools" }, copy, keep), block);
}

// Two texts line by line: pairs of [line of the first, line of the second], null where it is in one alone.
function compareLines(first, second) {
  const [a, b] = [first.split("\n"), second.split("\n")];
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [m, n] = [a.length - start - end, b.length - start - end];
  const pairs = a.slice(0, start).map((_, index) => [index, index]);
  if (m * n > 4_000_000) {
    for (let i = 0; i < m; i++) pairs.push([start + i, null]);
    for (let j = 0; j < n; j++) pairs.push([null, start + j]);
  } else pairs.push(...longestCommon(a, b, start, m, n));
  for (let index = 0; index < end; index++) pairs.push([a.length - end + index, b.length - end + index]);
  return pairs.map(([i, j]) => [i === null ? null : [i + 1, a[i]], j === null ? null : [j + 1, b[j]]]);
}

function longestCommon(a, b, start, m, n) {
  const lengths = Array.from({ length: m + 1 }, () => new Uint16Array(n + 1));
  for (let i = m - 1; i >= 0; i--)
    for (let j = n - 1; j >= 0; j--)
      lengths[i][j] =
        a[start + i] === b[start + j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < m || j < n) {
    if (i < m && j < n && a[start + i] === b[start + j]) pairs.push([start + i++, start + j++]);
    else if (j >= n || (i < m && lengths[i + 1][j] >= lengths[i][j + 1])) pairs.push([start + i++, null]);
    else pairs.push([null, start + j++]);
  }
  return pairs;
}

// The differences of two sources, with three lines around each.
function differences(first, second, names) {
  const pairs = compareLines(first, second);
  const near = pairs.map((_, at) => pairs.slice(Math.max(0, at - 3), at + 4).some(([a, b]) => !a || !b));
  const rows = [];
  pairs.forEach(([a, b], at) => {
    if (!near[at]) {
      if (near[at - 1] || at === 0) rows.push(el("span", { class: "line gap" }, "⋯"));
      return;
    }
    const kind = a && b ? "" : a ? "removed" : "added";
    const sign = { removed: "−", added: "+" }[kind] ?? " ";
    rows.push(
      el(
        "span",
        { class: `line ${kind}` },
        kind ? spoken(`${kind === "removed" ? "only in the first" : "only in the second"}: `) : null,
        el("span", { class: "number", "data-number": String(a?.[0] ?? ""), "aria-hidden": "true" }),
        el("span", { class: "number", "data-number": String(b?.[0] ?? ""), "aria-hidden": "true" }),
        `${sign} ${(a ?? b)[1]}\n`,
      ),
    );
  });
  if (!pairs.some(([a, b]) => !a || !b)) return el("p", {}, "Both have the same source.");
  const label = `Differences from ${names[0]} to ${names[1]}`;
  return el("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, el("code", {}, rows));
}
