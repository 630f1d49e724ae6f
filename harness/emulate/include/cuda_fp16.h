// CUDA's own name for what the emulation provides as a whole.
#pragma once
#include "cuda_emulation.h"
