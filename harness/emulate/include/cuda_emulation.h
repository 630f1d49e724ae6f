// CUDA's vocabulary for a C++ compiler (C++17 and newer, GCC 12 and newer, Linux on x86-64 and aarch64).
//
// A kernel compiled with this header runs on the CPU and computes what a GPU would compute; its speed means nothing.
// The source has to pass through harness/emulate/rewrite.py first, which turns what is not C++ (`<<<...>>>`,
// `__shared__` declarations) into calls of this header. Blocks are spread over the CPU's threads. The threads of a
// block take turns on one CPU thread: a plain loop while none of them waits for another, fibers as soon as one does.
//
// All of it has hidden visibility: each extension module has an emulation of its own, with its own state and its own
// signal handler, and the loader must not merge parts of two.
//
// Everything that CUDA does not name itself lives in the namespace cuda_emulation. Read on in this order:
//   vector_types  float4, dim3 and their makers
//   memory        pages between guard pages: fiber stacks, shared memory, cudaMalloc
//   fiber         a stack that a CPU thread can switch to
//   multiprocessor  runs one block: threads, barriers, warps, shared memory, faults
//   errors        cudaError_t, and the last one
//   host_memory   what of a launch's arguments no kernel may touch
//   launch        what `<<<...>>>` becomes: checks the configuration, spreads the blocks
//   collectives   __syncthreads, shuffles, votes
//   atomics, math, half, runtime, torch_side   CUDA's functions, one noun a file
#pragma once
#define CUDA_EMULATION 1
#define CUDA_EMULATION_ARCH 900  // what the rewrite answers for __CUDA_ARCH__, and runtime.h for the device: an H100

#include "cuda_emulation/vector_types.h"
#include "cuda_emulation/memory.h"
#include "cuda_emulation/fiber.h"
#include "cuda_emulation/multiprocessor.h"
#include "cuda_emulation/errors.h"
#include "cuda_emulation/host_memory.h"
#include "cuda_emulation/launch.h"
#include "cuda_emulation/collectives.h"
#include "cuda_emulation/atomics.h"
#include "cuda_emulation/math.h"
#include "cuda_emulation/half.h"
#include "cuda_emulation/runtime.h"
#include "cuda_emulation/torch_side.h"
