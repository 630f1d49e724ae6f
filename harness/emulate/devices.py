"""What a candidate asks about the device and its tensors, answered as on a GPU; and two words that are spelt anew."""

import re
from collections.abc import Callable

from harness.emulate.draft import Draft
from harness.emulate.tokens import next_code

_CUDA_STRING = re.compile(r'"cuda(?::\d+)?"')
_EMULATED_ARCHITECTURE = "900, an H100"


def answer_as_on_a_gpu(draft: Draft) -> None:
    for index, token in enumerate(draft.tokens):
        if token.kind == "string" and _CUDA_STRING.fullmatch(token.text):
            draft.out[index] = '"cpu"'
            draft.note(f"the device {token.text} taken as the CPU", index)
        elif token.kind == "name" and token.text in _ANSWERS:
            _ANSWERS[token.text](draft, index)


def _answer_is_cuda(draft: Draft, index: int) -> None:
    if not _is_member_call(draft, index):
        return
    draft.out[index] = "is_cpu"
    # `x.type()` has an is_cuda() and no is_cpu(); `x.device()` has both.
    receiver = draft.code_before(index, 4)
    if [draft.text(i) for i in receiver] == ["type", "(", ")", "."]:
        draft.out[receiver[0]] = "device"
    draft.note("is_cuda() answered as if on the GPU", index)


def _answer_is_cpu(draft: Draft, index: int) -> None:
    if _is_member_call(draft, index):
        draft.out[index] = "is_cuda"
        draft.note("is_cpu() answered as if on the GPU", index)


def _answer_to_cuda(draft: Draft, index: int) -> None:
    if _is_member_call(draft, index):
        draft.out[index] = "cpu"
        draft.note("Tensor::cuda() kept on the CPU", index)


def _answer_kcuda(draft: Draft, index: int) -> None:
    draft.out[index] = "kCPU"
    draft.note("kCUDA taken as the CPU", index)


def _answer_device_type(draft: Draft, index: int) -> None:
    scope = draft.before(index)
    owner = draft.text(draft.before(scope)) if scope is not None and draft.text(scope) == "::" else ""
    registered = "TORCH_LIBRARY_IMPL" in map(draft.text, draft.code_before(index, 4))
    if owner in ("DeviceType", "Backend", "DispatchKey") or registered:
        draft.out[index] = "CPU"
        draft.note(f"{owner or 'TORCH_LIBRARY_IMPL'}{'::' if owner else ' for '}CUDA taken as the CPU", index)


def _answer_is_available(draft: Draft, index: int) -> None:
    path = draft.code_before(index, 4)
    if [draft.text(i) for i in path] == ["torch", "::", "cuda", "::"]:
        draft.out[path[0]] = "at"
        draft.note("torch::cuda::is_available() answered as if on the GPU", index)


def _answer_architecture(draft: Draft, index: int) -> None:
    draft.out[index] = "CUDA_EMULATION_ARCH"
    draft.note(f"__CUDA_ARCH__ taken as {_EMULATED_ARCHITECTURE}", index)


def _answer_compiler(draft: Draft, index: int) -> None:
    draft.out[index] = "CUDA_EMULATION"
    draft.note(f"{draft.text(index)} taken as defined", index)


def _spell_noinline(draft: Draft, index: int) -> None:
    # Here, because as a macro it would also reach into the standard library's own __attribute__((__noinline__)).
    if draft.text(draft.before(index)) != "(":
        draft.out[index] = "__attribute__((noinline))"


_MOST_SPECIFIERS = 6


def _spell_forceinline(draft: Draft, index: int) -> None:
    """`__forceinline__` is `inline` to the headers, and beside an `inline` of the candidate's own one too many."""
    for step in (-1, 1):
        at = next_code(draft.tokens, index + step, step)
        for _ in range(_MOST_SPECIFIERS):
            if at is None or draft.tokens[at].kind != "name":
                break
            if draft.text(at) in ("inline", "__inline__"):
                draft.out[index] = ""
            at = next_code(draft.tokens, at + step, step)


_ANSWERS: dict[str, Callable[[Draft, int], None]] = {
    "is_cuda": _answer_is_cuda,
    "is_cpu": _answer_is_cpu,
    "cuda": _answer_to_cuda,
    "kCUDA": _answer_kcuda,
    "CUDA": _answer_device_type,
    "is_available": _answer_is_available,
    "__CUDA_ARCH__": _answer_architecture,
    "__CUDACC__": _answer_compiler,
    "__NVCC__": _answer_compiler,
    "__noinline__": _spell_noinline,
    "__forceinline__": _spell_forceinline,
}


def _is_member_call(draft: Draft, index: int) -> bool:
    return draft.text(draft.before(index)) in (".", "->") and draft.text(draft.after(index)) == "("
