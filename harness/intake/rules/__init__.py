"""The rules of screening: one function a rule, one table.

A rule looks at a `View` and yields findings. Severity "reject" is for what no kernel has an honest use for, "warn" for
what cheats are made of but honest candidates use too, "info" for what a reader of the record wants to know. None of
them decides a verdict.
"""

from harness.intake.rules import device, hiding, process, work
from harness.intake.rules.finding import Finding, Rule

__all__ = ["RULES", "Finding", "Rule"]

RULES: tuple[Rule, ...] = (
    Rule("patched-function", "reject", device.patched_function),
    Rule("frames", "reject", process.frames),
    Rule("harness-access", "reject", process.harness_access),
    Rule("reference", "reject", work.reference),
    Rule("process-exit", "reject", process.process_exit),
    Rule("native-memory", "reject", process.native_memory),
    Rule("network", "reject", process.network),
    Rule("hidden-code", "reject", hiding.hidden_code),
    Rule("no-work", "warn", work.no_work),
    Rule("no-kernel", "warn", work.no_kernel),
    Rule("unused-kernel", "warn", work.unused_kernel),
    Rule("wrapped-library", "warn", work.wrapped_library),
    Rule("own-reference", "warn", work.own_reference),
    Rule("fallback", "warn", work.fallback),
    Rule("lower-precision", "warn", work.lower_precision),
    Rule("replay", "warn", work.replay),
    Rule("call-counter", "warn", work.call_counter),
    Rule("threads", "warn", process.threads),
    Rule("unjoined-streams", "warn", device.unjoined_streams),
    Rule("tensor-subclass", "warn", device.tensor_subclass),
    Rule("dynamic-code", "warn", hiding.dynamic_code),
    Rule("obfuscation", "warn", hiding.obfuscation),
    Rule("pickling", "warn", process.pickling),
    Rule("ctypes", "warn", process.ctypes_access),
    Rule("native-system", "warn", process.native_system),
    Rule("subprocesses", "warn", process.subprocesses),
    Rule("exit-hooks", "warn", process.exit_hooks),
    Rule("descriptors", "warn", process.descriptors),
    Rule("environment", "warn", process.environment),
    Rule("files-written", "warn", process.files_written),
    Rule("private-paths", "warn", process.private_paths),
    Rule("cache-pinning", "warn", device.cache_pinning),
    Rule("device-sharing", "warn", device.device_sharing),
    Rule("library-operators", "info", work.library_operators),
    Rule("static-state", "info", work.static_state),
    Rule("graphs", "info", work.graphs),
    Rule("compiled", "info", work.compiled),
    Rule("fast-math", "info", work.fast_math),
    Rule("token-paste", "info", hiding.token_paste),
    Rule("files-read", "info", process.files_read),
    Rule("build-environment", "info", process.build_environment),
    Rule("clock", "info", device.clock),
    Rule("seeds", "info", device.seeds),
    Rule("global-state", "info", device.global_state),
)
"""Every rule, the gravest first; flags come in this order."""
