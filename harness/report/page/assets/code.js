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
function codeBlock(text, { language = "", label, marks = new Map(), prefix }) {
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
  return el("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, code);
}
