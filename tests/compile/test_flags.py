"""Flags of candidates: what kernels of models use is let through, and nothing that runs or writes what it names."""

from pathlib import Path

import pytest

from harness.compile.flags import MOST_BYTES, MOST_WORDS, refused_flag
from harness.schema import BuildRequest

HONEST = {
    "extra_cflags": [
        "", "-O3", "-O2 -march=native", "-std=c++17", "-std=c++20", "-fopenmp", "-ffast-math", "-funroll-loops",
        "-mavx2", "-mfma", "-mavx512f", "-Wall", "-Wno-unused-variable", "-Wno-error=foo", "-DNAME", "-DNAME=3",
        "-D NAME=3", "-DX='a b'", "-UNDEBUG", "-g", "-w", "-fPIC", "-I.", "-Iinclude", "-I /opt/cutlass/include",
        "-pthread", "-Ofast", "-fno-math-errno", "-fvisibility=hidden", "-mprefer-vector-width=512", "-mtune=native",
        "-include cmath", "-fno-strict-aliasing", "-flto", "-flto=auto", "-fno-lto", "-fno-exceptions",
        "-isystem /usr/local/include",
    ],
    "extra_cuda_cflags": [
        "-O3", "--use_fast_math", "-use_fast_math", "--expt-relaxed-constexpr", "--expt-extended-lambda",
        "--extended-lambda", "-lineinfo", "-arch=sm_90", "-arch=sm_90a", "-arch sm_80", "-arch=native",
        "--gpu-architecture=compute_90", "-gencode=arch=compute_80,code=sm_80",
        "-gencode arch=compute_90,code=compute_90", "-gencode=arch=compute_80,code=[sm_80,compute_80]",
        "-maxrregcount=64", "--maxrregcount 128", "-Xptxas -v", "-Xptxas=-O3,-v", "--ptxas-options=-v",
        "-Xptxas -dlcm=ca", "-Xcompiler -fPIC", "-Xcompiler -O3,-march=native", "-Xcompiler '-O3 -fopenmp'",
        "--compiler-options '-fPIC'", "-std=c++17", "--std=c++17", "-DX=1", "-U__CUDA_NO_HALF_OPERATORS__",
        "-U__CUDA_NO_HALF_CONVERSIONS__", "-rdc=true", "-fmad=true", "--fmad=false", "-ftz=true", "-prec-div=false",
        "--prec-sqrt=false", "--threads 4", "-t=4", "-Xcudafe --diag_suppress=20012", "--diag-suppress=177",
        "--default-stream per-thread", "-G", "-g", "--generate-line-info", "-Xfatbin -compress-all",
        "-Wno-deprecated-gpu-targets", "-I/usr/local/cuda/include",
    ],
    "extra_ldflags": [
        "", "-lcublas", "-lcublas -lcudnn", "-lcuda", "-lcudart", "-lcublasLt", "-lnvrtc", "-lcurand", "-lm",
        "-lgomp", "-L/usr/local/cuda/lib64", "-L/usr/local/cuda/lib64/stubs -lcuda", "-fopenmp", "-Wl,--no-as-needed",
        "-Wl,-rpath,/usr/local/cuda/lib64", "-Wl,-rpath=$ORIGIN", "-Wl,-z,defs", "-shared", "-l cublas",
    ],
}  # fmt: skip
HOSTILE = {
    "extra_cflags": [
        "-fplugin=./x.so", "-fplugin-arg-x-y=z", "-wrapper /bin/sh,-c", "-specs=x", "--specs=x", "-B.", "-B .",
        "-o x", "-ox", "@args", "'@args'", "-save-temps", "-x none", "-c", "-S", "-E", "-M -MF module.so", "-MF x",
        "-MDmodule.so", "-Wp,-MD,x", "-Wa,-a=x", "-Wl,-plugin,x", "-Xlinker -plugin", "-Xassembler x",
        "-Xpreprocessor x", "-dumpdir x", "-dumpbase x", "-fdump-tree-all=module.so", "-fprofile-use=/etc",
        "-fprofile-generate", "-fdump-ada-spec", "-fdebug-prefix-map=a=b", "-aux-info x", "-imultilib x",
        "--sysroot=/x", "-no-canonical-prefixes", "-T x", "-fuse-ld=x",
        "-fdiagnostics-add-output=sarif:file=module.so", "-fmodule-mapper=|sh", "-fmodules-ts", "\"-fplugin=./x.so\"",
        "-f'plugin=./x.so'", "-fpl\"ugin\"=./x", "-D -fplugin=x", "-D @args", "-include @x", "x.o", "/etc/passwd",
        "-", "--", "-DX=$(id)", "-DX=`id`", "'-DX=a;id'", "-idirafter x -o y", "-fsanitize=x -o y", "-ccbin sh",
        "-fopenmp=lib -o y", "-DX='", "-I", "-I -o", "-foffload=x", "-fopt-info-all=module.so",
        "-flto=128", "-flto=jobserver",
    ],
    "extra_cuda_cflags": [
        "-ccbin sh", "--compiler-bindir=sh", "-ccbin=sh", "--options-file x", "-optf x", "@x", "-o x",
        "--output-file x", "-odir x", "--keep", "-keep-dir x", "--dryrun", "--run", "-run", "--run-args x",
        "-Xcompiler -fplugin=./x.so", "-Xcompiler=-fplugin=./x.so", "--compiler-options=-fplugin=./x.so",
        "-Xcompiler -O3,-fplugin=./x.so", "-Xcompiler '-O3 -fplugin=./x.so'", "-Xcompiler '\"-O3\",\"-wrapper\"'",
        "-Xcompiler @x", "-Xcompiler -wrapper,sh", "-Xptxas -o,x", "-Xptxas --options-file,x", "-Xptxas @x",
        "-Xlinker -plugin,x", "-Xlinker @x", "-Xnvlink -o,x", "--nvlink-options x", "-Xarchive x", "-ldir x",
        "--libdevice-directory=x", "-idp x", "--input-drive-prefix=x", "-cudart=shared;id",
        "-gencode=arch=compute_80;id", "-arch=sm_80;id", "-DX=$(id)", "-time x", "--time=x", "-MF x",
        "--fdevice-time-trace=x", "-Xcompiler", "-Xcompiler -Wl,-plugin,x", "-Xcudafe --gen_c_file_name=x", "x.o",
        "-lx",
    ],
    "extra_ldflags": [
        "-Wl,-plugin,./x.so", "-Wl,--plugin=./x.so", "-Wl,-T,x", "-Wl,-Tx", "-Wl,--script=x", "-Wl,-o,x", "-Wl,@x",
        "-Wl,--dynamic-linker=x", "-Wl,--version-script=x", "-Wl,-Map=x", "-Wl,--out-implib,x",
        "-Wl,--dependency-file=x", "-Wl,-rpath,-plugin", "-Wl,-z,x", "-Wl,-rpath", "-Xlinker -plugin",
        "-Xlinker --plugin=x", "-T x", "-fuse-ld=x", "-B.", "-wrapper sh", "-specs=x", "@x", "-o x", "-L.", "-L .",
        "-Lbuild", "-L/proc/self/cwd", "-L/usr/../proc/self/cwd", "-L/tmp", "-l:x.so", "-l x", "-lx", "x.so",
        "/etc/passwd", "main.cpp", "-c", "-r", "-E", "-Wl,--library=x", "-Wl,-l:x", "-Wl,/etc/passwd",
        "-fplugin=./x.so", "-flto=jobserver -o x", "-Wl,--exclude-libs,x", "-Wl,-init,x", "-Wl,--wrap=x",
    ],
}  # fmt: skip


def refusal(kind: str, flags: str) -> str | None:
    return refused_flag(BuildRequest(name="x", **{kind: (flags,)}), [Path("/somewhere/torch")])


@pytest.mark.parametrize(("kind", "flags"), [(kind, flags) for kind, all_ in HONEST.items() for flags in all_])
def test_what_kernels_of_models_use_is_let_through(kind: str, flags: str) -> None:
    assert refusal(kind, flags) is None


@pytest.mark.parametrize(("kind", "flags"), [(kind, flags) for kind, all_ in HOSTILE.items() for flags in all_])
def test_whatever_else_is_refused_in_every_spelling(kind: str, flags: str) -> None:
    assert refusal(kind, flags) is not None


@pytest.mark.parametrize(("kind", "flags"), [(kind, flags) for kind, all_ in HOSTILE.items() for flags in all_])
def test_a_hostile_flag_behind_honest_ones_is_refused_as_well(kind: str, flags: str) -> None:
    assert refusal(kind, f"-O3 {flags}") is not None
    assert refused_flag(BuildRequest(name="x", **{kind: ("-O2", *flags.split(" "))}), []) is not None


def test_a_refusal_names_the_word() -> None:
    assert "'-fplugin=./x.so'" in (refusal("extra_cflags", "-O3 -fplugin=./x.so -g") or "")
    assert "'-Xcompiler -wrapper'" in (refusal("extra_cuda_cflags", "-Xcompiler -wrapper,sh") or "")


def test_libraries_may_be_looked_for_where_torch_lies_and_not_where_the_candidate_writes() -> None:
    assert refusal("extra_ldflags", "-L/somewhere/torch/lib -lc10") is None
    assert refusal("extra_ldflags", "-L/somewhere/torch/../candidate") is not None


def test_flags_have_a_length() -> None:
    assert refusal("extra_cflags", "-O3 " * MOST_BYTES) is not None
    assert refused_flag(BuildRequest(name="x", extra_include_paths=("a" * MOST_BYTES, "b")), []) is not None


def test_flags_are_as_long_as_their_bytes() -> None:
    """c++ hands on no word of 131,072 of them, whatever it makes of it."""
    assert (
        refused_flag(BuildRequest(name="x", extra_include_paths=("\U0001f600" * (MOST_BYTES // 4 + 1),)), [])
        is not None
    )


@pytest.mark.parametrize(
    "flags",
    [
        {"extra_cflags": ("-g",) * (MOST_WORDS + 1)},
        {"extra_cflags": ("-g " * (MOST_WORDS + 1),)},
        {"extra_ldflags": ("-s",) * (MOST_WORDS + 1)},
        {"extra_include_paths": (".",) * (MOST_WORDS + 1)},
        {"extra_include_paths": ("",) * (MOST_WORDS + 1)},
    ],
    ids=["flags", "in one text", "linker", "paths", "empty"],
)
def test_flags_are_no_more_words_than_what_confines_a_compiler_takes(flags: dict[str, tuple[str, ...]]) -> None:
    assert "words" in str(refused_flag(BuildRequest.model_validate({"name": "x", **flags}), []))


def test_an_include_path_holds_no_zero_byte() -> None:
    assert refused_flag(BuildRequest(name="x", extra_include_paths=("/a\0b",)), []) is not None
    assert refused_flag(BuildRequest(name="x", extra_include_paths=("/a/b c",)), []) is None
