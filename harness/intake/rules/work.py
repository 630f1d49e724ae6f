"""Rules about the work: whether there is a kernel, whether it does the work, and in which precision."""

import ast
import re

from harness.formats import KERNELBENCH
from harness.intake.rules.finding import Finding, Findings, calls_in, last, mentions, native
from harness.intake.view import FunctionNode, View, is_below
from harness.languages import LANGUAGES
from harness.languages.c_source import has_kernel

_ALLOCATORS = frozenset(
    {
        "empty", "empty_like", "empty_strided", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
        "tensor", "as_tensor", "no_grad", "device", "is_tensor", "numel", "inference_mode", "compile",
        "is_grad_enabled",
    }
)  # fmt: skip
_UNFILLED = frozenset({"empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like"})
_SAME_VALUES = frozenset(
    {"view", "reshape", "contiguous", "clone", "detach", "to", "cuda", "float", "view_as", "flatten"}
)
_REFERENCE = KERNELBENCH.reference
_BUILDERS = frozenset({"load_inline", "load"})
_BROAD = frozenset({"", "Exception", "BaseException", "RuntimeError", "ImportError", "OSError", "AttributeError"})


def reference(view: View) -> Findings:
    """Uses the reference `Model`, which it does not define, in place of an implementation."""
    if not _defines_model(view):
        yield from _uses_model(view)
    for use in view.uses:
        imported = use.name.endswith(f".{_REFERENCE}") and use.name[0] not in "~?"
        if imported or is_below(use.name.lstrip("."), "problems", "reference_solutions"):
            yield Finding(f"imports {use.name}", use.line)


def own_reference(view: View) -> Findings:
    """Uses a copy of the reference `Model` that it brings along."""
    if _defines_model(view):
        yield from _uses_model(view)


def fallback(view: View) -> Findings:
    """Goes on with PyTorch where its own kernel fails: what is timed may not be the kernel."""
    for node in view.nodes:
        if isinstance(node, ast.Try):
            builds = any(last(call) in _BUILDERS for call in calls_in(node.body, view))
            for handler in node.handlers:
                yield from _fallback_of(handler, view, builds=builds)


def no_kernel(view: View) -> Findings:
    """Has no kernel of its own: whatever it wins is PyTorch's."""
    modules = [module for row in LANGUAGES.values() for module in row.modules]
    makers = {maker for row in LANGUAGES.values() for maker in row.makers}
    made = any(view.uses_of(*modules)) or any(last(call) in makers for call in view.calls)
    loads = any(last(call) in _BUILDERS for call in view.calls)
    if not (made or loads or view.native):
        yield Finding("defines no kernel: PyTorch does all the work", 1)


def unused_kernel(view: View) -> Findings:
    """Builds a kernel and never calls it: a decoy."""
    read = {node.id for node in view.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    attributes = {node.attr for node in view.nodes if isinstance(node, ast.Attribute)}
    looks_up = any(view.calls_of("getattr"))
    for node in view.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func) as call) if (
                view.name_of(func).rpartition(".")[2] == "load_inline"
            ):
                exported = _strings_of(call, "functions", view)
                if name not in read or (exported and not exported & attributes and not looks_up):
                    yield Finding(f"builds {name} and never calls it", node.lineno)


def wrapped_library(view: View) -> Findings:
    """C++ without a kernel around calls of a library: the 'custom kernel' is a library's."""
    if any(has_kernel(native.code) for native in view.native):
        return
    names = r"(?:mm|bmm|matmul|addmm|linear|conv\dd|conv\w*|softmax|relu|gelu|selu|sigmoid|tanh|layer_norm|batch_norm)"
    pattern = rf"\b(?:at|torch)::(?:\w+::){{0,8}}{names}_?\s*\(|\bcublas\w+\s*\(|\bcudnn\w+\s*\("
    yield from native(view, pattern, "wraps")


def library_operators(view: View) -> Findings:
    """Operators of PyTorch that remain in `forward`, beside whatever kernels there are."""
    for function in view.functions("forward"):
        for call in calls_in(function.body, view):
            operator = is_below(call.name, "torch.nn.functional") or re.fullmatch(r"torch\.[a-z_0-9]+", call.name)
            if operator and last(call) not in _ALLOCATORS:
                yield Finding(f"calls {call.name} in forward", call.line)


def no_work(view: View) -> Findings:
    """`forward` hands back its input, or memory that was never filled."""
    for node in view.classes():
        for function in node.body:
            if isinstance(function, ast.FunctionDef) and function.name == "forward":
                yield from _no_work_in(function, view)


def lower_precision(view: View) -> Findings:
    """Computes in less than float32, or asks PyTorch to."""
    for call in view.methods_called("half", "bfloat16"):
        yield Finding(f"calls .{call.name.rpartition('.')[2]}()", call.line)
    names = (
        "torch.half", "torch.float16", "torch.bfloat16", "torch.autocast", "torch.cuda.amp", "torch.amp",
        "torch.set_float32_matmul_precision", "triton.language.float16", "triton.language.bfloat16",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")
    yield from mentions((use for use in view.uses if re.search(r"\.float8_\w+$", use.name)), "uses")
    for store in view.stores:
        if re.search(r"(?:allow_tf32|fp32_precision|reduced_precision\w*)$", store.name):
            yield Finding(f"sets {store.name}", store.line)
    for node in view.nodes:
        match node:
            case ast.keyword(arg="allow_tf32", value=ast.Constant(value=True)):
                yield Finding("asks for tf32", node.value.lineno)
            case ast.keyword(arg="input_precision", value=ast.Constant(value="tf32" | "tf32x3")):
                yield Finding("asks for tf32", node.value.lineno)
    pattern = (
        r"\b(?:__half2?|__nv_bfloat16|__nv_bfloat162|__nv_fp8\w*)\b|#\s*include\s*[<\"]cuda_(?:fp16|bf16|fp8)"
        r"|\bnvcuda::wmma\b|\bwmma::|\bmma\.sync\S*|\bCUBLAS\w*TF32\w*|\bk(?:Half|BFloat16)\b|\bat::(?:Half|BFloat16)\b"
    )
    yield from native(view, pattern, "uses")


def fast_math(view: View) -> Findings:
    """Compiler flags and intrinsics that trade accuracy for time."""
    for node in view.strings:
        flag = str(node.value)
        if re.fullmatch(r"-{1,2}(?:use_fast_math|ffast-math|Ofast|ftz=true|prec-(?:div|sqrt)=false)", flag):
            yield Finding(f"compiles with {flag}", node.lineno)
    yield from native(view, r"\b__(?:expf|exp10f|logf|log2f|sinf|cosf|tanf|powf|fdividef|tanhf)\b", "uses")


def replay(view: View) -> Findings:
    """Keeps results by the identity, address or version of an input: what it returns may be an old answer."""
    for use in view.uses:
        if use.name.endswith("._version"):
            yield Finding("reads ._version", use.line)
    for call in (*view.calls_of("id"), *view.methods_called("data_ptr")):
        if _is_key(call.node, view):
            yield Finding(f"looks up or compares {last(call)}()", call.line)
    cached = {node.name for node in view.nodes if isinstance(node, ast.FunctionDef) and _is_cached(node, view)}
    for function in view.functions("forward", "__call__"):
        if _is_cached(function, view):
            yield Finding(f"caches the results of {function.name}", function.lineno)
        inputs = {argument.arg for argument in function.args.args[1:]}
        for call in calls_in(function.body, view):
            if last(call) in cached and any(isinstance(one, ast.Name) and one.id in inputs for one in call.node.args):
                yield Finding(f"caches the results of {last(call)} by its inputs", call.line)


def call_counter(view: View) -> Findings:
    """Counts its calls: it may be right for the first ones only."""
    for function in view.functions("forward", "__call__"):
        for node in view.below(*function.body):
            match node:
                case ast.AugAssign(target=ast.Attribute(attr=name), op=ast.Add(), value=ast.Constant(value=int())):
                    yield Finding(f"counts calls in .{name}", node.lineno)


def static_state(view: View) -> Findings:
    """C++ that keeps something from call to call."""
    kept = r"(?:torch::Tensor|at::Tensor|std::(?:unordered_)?map|std::vector|std::optional|c10::optional)"
    yield from native(view, rf"\bstatic\s+(?:thread_local\s+)?{kept}", "keeps a")
    yield from native(view, r"(?m)^[ \t]*+__device__ (?:[\w:<>]+[ *]+)+\w+(?:\[\w*\])*(?: ?=[^;()\n]*)?;", "keeps a")


def graphs(view: View) -> Findings:
    """Captures CUDA graphs: they replay what they were captured with."""
    yield from mentions(view.uses_of("torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.graphs"), "uses")
    yield from mentions(view.uses_of("torch.cuda.make_graphed_callables"), "uses")
    yield from native(view, r"\bcudaGraphLaunch\b|\bcudaStreamBeginCapture\b", "uses")


def compiled(view: View) -> Findings:
    """Lets PyTorch's own compiler make the kernels."""
    yield from mentions(view.uses_of("torch.compile", "torch.jit.script", "torch.jit.trace", "torch._inductor"), "uses")


def _is_cached(function: FunctionNode, view: View) -> bool:
    named = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return any(view.name_of(name) in ("functools.lru_cache", "functools.cache") for name in named)


def _is_key(node: ast.expr, view: View) -> bool:
    """Whether an expression is kept, compared or looked up, rather than handed to something that is called."""
    inner: ast.AST = node
    while (outer := view.parents.get(inner)) is not None:
        match outer:
            case ast.Subscript(slice=key) if key is inner:
                return True
            case ast.BinOp(op=ast.Mod() | ast.BitAnd()):
                return False  # `x.data_ptr() % 16` asks for alignment
            case ast.Compare() | ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.Dict():
                return True
            case ast.Call(func=ast.Attribute(attr="get" | "setdefault" | "pop" | "add")):
                return True
            case ast.Call(func=ast.Name(id="hash" | "str" | "repr" | "tuple" | "int")):
                pass
            case ast.Call() | ast.stmt():
                return False
        inner = outer
    return False


def _strings_of(call: ast.Call, keyword: str, view: View) -> set[str]:
    """The string constants in one keyword argument of a call."""
    values = (argument.value for argument in call.keywords if argument.arg == keyword)
    constants = (node.value for node in view.below(*values) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def _defines_model(view: View) -> bool:
    return any(node.name == _REFERENCE for node in view.classes())


def _uses_model(view: View) -> Findings:
    for node in view.nodes:
        if isinstance(node, ast.Name) and node.id == _REFERENCE and isinstance(node.ctx, ast.Load):
            yield Finding(f"uses {_REFERENCE}", node.lineno)


def _fallback_of(handler: ast.ExceptHandler, view: View, *, builds: bool) -> Findings:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {view.name_of(one) if one is not None else "" for one in caught}
    if not names & _BROAD or any(isinstance(node, ast.Raise) for node in view.below(*handler.body)):
        return
    calls = list(calls_in(handler.body, view))
    if builds and not any(last(call) in _BUILDERS for call in calls):
        yield Finding("goes on without its kernel where the build fails", handler.lineno)
    for call in calls:
        if is_below(call.name, "torch", "~self") and last(call) not in _ALLOCATORS | _BUILDERS:
            yield Finding(f"calls {call.name} where its kernel fails", call.line)


def _no_work_in(function: FunctionNode, view: View) -> Findings:
    """A `forward` each of whose returns is an input of it, the same values reshaped, or an unfilled tensor."""
    nodes = list(view.below(function))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    inputs = {argument.arg for argument in function.args.args[1:]} - stored
    returned = [node for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    what = [_hands_back(node.value, inputs, view) for node in returned if node.value is not None]
    if what and all(what) and not any(_may_write(node) for node in nodes):
        yield from (
            Finding(f"forward returns {detail}", node.lineno) for detail, node in zip(what, returned, strict=True)
        )


def _may_write(node: ast.AST) -> bool:
    """Whether a node may fill a tensor in place: a call for its effect, or an assignment to items."""
    match node:
        case ast.Expr(value=value):
            return not isinstance(value, ast.Constant)
        case ast.Subscript(ctx=ast.Store()):
            return True
    return False


def _hands_back(value: ast.expr, inputs: set[str], view: View) -> str:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SAME_VALUES:
        value = value.func.value
    match value:
        case ast.Name(id=name) if name in inputs:
            return f"its input {name}"
        case ast.Call(func=func):
            name = view.name_of(func)
            return f"{name} as it is" if is_below(name, "torch") and name.rpartition(".")[2] in _UNFILLED else ""
    return ""
