"""What cannot be emulated, by name. A table: a new construct is a new row."""

import functools
import re
from collections.abc import Sequence

from harness.emulate.tokens import Token, next_code

# Headers, as written between the quotes or angle brackets of an #include.
_HEADERS: tuple[tuple[str, str], ...] = (
    (r"mma\.h|crt/mma\.h", "wmma (mma.h)"),
    (r"cutlass/.*", "CUTLASS"),
    (r"cute/.*", "CuTe"),
    (r"cublas\w*\.h", "cuBLAS"),
    (r"cudnn\w*\.h|ATen/cudnn/.*", "cuDNN"),
    (r"cusparse\w*\.h", "cuSPARSE"),
    (r"cusolver\w*\.h", "cuSOLVER"),
    (r"cufft\w*\.h", "cuFFT"),
    (r"curand\w*\.h", "cuRAND"),
    (r"cub/.*|ATen/cuda/cub\.\w+", "CUB"),
    (r"thrust/.*|ATen/cuda/ThrustAllocator\.h", "Thrust"),
    (r"nccl\w*\.h", "NCCL"),
    (r"nvrtc\.h", "NVRTC"),
    (r"cuda_pipeline\w*\.h", "cp.async (cuda_pipeline.h)"),
    (r"cooperative_groups/memcpy_async\.h", "memcpy_async"),
    (r"cuda/.*|nv/target", "libcu++"),
    (r"cuda_fp[468]\.h", "fp8 and narrower types"),
    (r"cudaTypedefs\.h", "the driver's entry points (cudaTypedefs.h)"),
    (r"ATen/cuda/(?:CUDABlas|CUDASparse\w*)\.h", "cuBLAS and cuSPARSE through ATen"),
    (r"ATen/cuda/CUDAGraph\w*\.\w+", "CUDA graphs"),
    (r"ATen/cuda/(?:CUDAGeneratorImpl|(?:detail/)?(?:Philox|Unpack)\w*)\.\w+", "PyTorch's CUDA generator"),
    (r"ATen/native/cuda/.*", "ATen's own CUDA kernels"),
    (r"c10/cuda/CUDACachingAllocator\.h", "the caching allocator"),
)

# Names that mean only one thing wherever they stand in code.
_NAMES: tuple[tuple[str, str], ...] = (
    (r"asm|__asm|__asm__", "inline PTX (asm)"),
    (r"nvcuda|wmma", "wmma"),
    (r"cublas[A-Z]\w*|CUBLAS_\w+|getCurrentCUDABlasHandle", "cuBLAS"),
    (r"cudnn[A-Z]\w*|CUDNN_\w+", "cuDNN"),
    (r"cusparse[A-Z]\w*", "cuSPARSE"),
    (r"cufft[A-Z]\w*", "cuFFT"),
    (r"curand\w*|CURAND_\w+", "cuRAND"),
    (r"nvrtc[A-Z]\w*", "NVRTC"),
    (r"this_grid|grid_group|this_multi_grid|cudaLaunchCooperative\w+", "cooperative groups over a grid"),
    (r"this_cluster|cluster_group|__cluster_dims__|cudaLaunchAttributeClusterDimension", "thread block clusters"),
    (r"cudaLaunchKernel\w*|cuLaunchKernel\w*|cuModule[A-Z]\w*|cudaLaunchConfig_t", "a launch by function pointer"),
    (r"__pipeline_\w+|memcpy_async", "asynchronous copies (cp.async)"),
    (r"CUtensorMap\w*|cuTensorMap\w+|__grid_constant__tensor", "TMA descriptors"),
    (r"tex[123]D\w*|tex1Dfetch|surf[123]D\w*|cudaTextureObject_t|cudaSurfaceObject_t|cudaArray_t", "textures"),
    (r"cudaGraph\w*|cudaStream(?:Begin|End)Capture|CUDAGraph", "CUDA graphs"),
    (r"__nv_fp[468]\w*|__nv_cvt_\w+", "fp8 and narrower types"),
    (r"CUDACachingAllocator", "the caching allocator"),
    (r"cudaLaunchHostFunc|cudaStreamAddCallback", "host callbacks on streams"),
)

# Namespaces: named only where `::` follows, because `thrust` is also a fine name for a variable.
_NAMESPACES = {"cub": "CUB", "thrust": "Thrust", "cutlass": "CUTLASS", "cute": "CuTe"}
# `cuda::` is libcu++ before one of these, and PyTorch's at::cuda, c10::cuda or torch::cuda otherwise.
_LIBCUXX = re.compile(
    r"pipeline\w*|barrier|atomic\w*|memcpy_async|std|ptx|device|thread_scope\w*|aligned_size_t|annotated_ptr|semaphore"
)

_HEADER_PATTERNS = tuple((re.compile(pattern), construct) for pattern, construct in _HEADERS)
_NAME_PATTERNS = tuple((re.compile(pattern), construct) for pattern, construct in _NAMES)


def header_not_emulated(header: str) -> str | None:
    """The construct that the header stands for; None where including it is fine."""
    return next((construct for pattern, construct in _HEADER_PATTERNS if pattern.fullmatch(header)), None)


@functools.lru_cache(maxsize=4096)  # a source says the same names again and again
def _construct_named(name: str) -> str | None:
    return next((construct for pattern, construct in _NAME_PATTERNS if pattern.fullmatch(name)), None)


def name_not_emulated(tokens: Sequence[Token], index: int) -> str | None:
    """The construct that the name at `index` stands for; None where it is an ordinary name."""
    name = tokens[index].text
    if (construct := _construct_named(name)) is not None:
        return construct
    if name not in _NAMESPACES and name != "cuda":
        return None
    scope = next_code(tokens, index + 1)
    if scope is None or tokens[scope].text != "::":
        return None
    if name in _NAMESPACES:
        return _NAMESPACES[name]
    member = next_code(tokens, scope + 1)
    if member is not None and _LIBCUXX.fullmatch(tokens[member].text):
        return f"libcu++ (cuda::{tokens[member].text})"
    return None
