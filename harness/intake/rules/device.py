"""Rules about torch, the device and the clock: what a call leaves changed, or unfinished."""

import ast
import re

from harness.intake.rules.finding import Finding, Findings, mentions, native
from harness.intake.view import View, is_below

# Where assigning to an attribute is how the thing is meant to be used.
_SETTINGS = (
    "torch.backends", "torch._dynamo.config", "torch._inductor.config", "torch._functorch.config",
    "torch.utils.cpp_extension",
)  # fmt: skip


def patched_function(view: View) -> Findings:
    """Assigns to attributes of torch, of the clock, of builtins: what others call is no longer what it was."""
    roots = ("torch", "time", "builtins", "__builtins__", "numpy", "triton", "math", "json", "pickle")
    for store in view.stores:
        name = store.name.removesuffix("[]")
        by_item = store.name.endswith("[]")
        if is_below(name, *roots) and not is_below(name, *_SETTINGS) and (not by_item or name.endswith("__dict__")):
            yield Finding(f"replaces {name}", store.line)
    for call in view.calls_of("setattr", "delattr"):
        owner = view.name_of(call.node.args[0]) if call.node.args else ""
        if is_below(owner, *roots) and not is_below(owner, *_SETTINGS):
            yield Finding(f"replaces an attribute of {owner}", call.line)
    yield from mentions(view.uses_of("unittest.mock", "mock"), "patches by mock")


def unjoined_streams(view: View) -> Findings:
    """Opens a stream and never waits for it: the call may return before its work is done."""
    made = [
        *mentions(view.uses_of("torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.Stream"), "makes"),
        *native(view, r"\b(?:cudaStreamCreate\w*|cuStreamCreate\w*|getStreamFromPool)\b", "makes"),
    ]
    joins = ("wait_stream", "wait_event", "synchronize")
    waits = re.compile(
        r"\b(?:cuda|cu)(?:Stream|Device|Event|Ctx)(?:Synchronize|WaitEvent)\b|\bsynchronize\s*\(|\.block\("
    )
    joined = any(view.methods_called(*joins)) or any(waits.search(source.code) for source in view.native)
    if not joined:
        yield from (Finding(f"{found.detail} and never waits for it", found.line) for found in made)


def tensor_subclass(view: View) -> Findings:
    """Tensors that are more than their data: they may compute when they are looked at."""
    bases = (
        "torch.Tensor", "torch._C.TensorBase", "torch.overrides.TorchFunctionMode",
        "torch.utils._python_dispatch.TorchDispatchMode",
    )  # fmt: skip
    for node in view.classes():
        for base in node.bases:
            if (name := view.name_of(base)) in bases:
                yield Finding(f"class {node.name} extends {name}", node.lineno)
    for function in view.functions("__torch_function__", "__torch_dispatch__"):
        yield Finding(f"defines {function.name}", function.lineno)
    for call in view.methods_called("_make_subclass", "_make_wrapper_subclass", "as_subclass"):
        yield Finding(f"calls {call.name.rpartition('.')[2]}", call.line)
    yield from mentions(view.uses_of("types.MethodType"), "binds methods to an object by")
    functions = {one.name for one in view.nodes if isinstance(one, ast.FunctionDef)}
    for one in view.nodes:
        match one:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr=attr)], value=value):
                callable_ = isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in functions)
                if callable_ and view.meaning(owner).startswith("~") and owner not in ("self", "cls"):
                    yield Finding(f"gives {owner} a .{attr} of its own", one.lineno)


def cache_pinning(view: View) -> Findings:
    """Keeps lines in the L2 cache from one call to the next."""
    pattern = r"\baccessPolicyWindow\b|\bcudaLimitPersistingL2CacheSize\b|\bcudaAccessProperty\w*|\bL2::evict_last\b"
    yield from native(view, rf"{pattern}|\bcreatepolicy\b", "uses")
    for node in view.nodes:
        match node:
            case ast.keyword(arg="eviction_policy", value=ast.Constant(value="evict_last")):
                yield Finding("asks for evict_last", node.value.lineno)


def device_sharing(view: View) -> Findings:
    """Maps device memory of other processes, or shares its own."""
    yield from native(view, r"\bcudaIpc\w+|\bcuIpc\w+|\bcuMem(?:Import|Export)\w+", "uses")
    yield from mentions((use for use in view.uses if use.name.endswith(("_share_cuda_", "_new_shared_cuda"))), "calls")


def clock(view: View) -> Findings:
    """Reads the clock. Tuning does it honestly."""
    names = ("time", "timeit", "datetime", "torch.cuda.Event", "torch.utils.benchmark", "triton.testing")
    yield from mentions(view.uses_of(*names), "uses")
    yield from native(view, r"\bclock_gettime\b|\bstd::chrono\b|\bgettimeofday\b", "uses")


def seeds(view: View) -> Findings:
    """Sets or reads the random state."""
    names = (
        "torch.manual_seed", "torch.seed", "torch.initial_seed", "torch.get_rng_state", "torch.set_rng_state",
        "torch.random", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.cuda.initial_seed",
        "torch.default_generator", "random.seed", "numpy.random.seed",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")


def global_state(view: View) -> Findings:
    """Changes settings of the whole process."""
    names = (
        "torch.set_default_dtype", "torch.set_default_device", "torch.set_default_tensor_type", "torch.set_num_threads",
        "torch.use_deterministic_algorithms", "torch.set_flush_denormal", "torch.cuda.set_device",
        "sys.setrecursionlimit", "gc.disable", "gc.freeze", "warnings.filterwarnings", "sys.path",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")
    for store in view.stores:
        if is_below(store.name.removesuffix("[]"), *_SETTINGS) and "tf32" not in store.name:
            yield Finding(f"sets {store.name}", store.line)
