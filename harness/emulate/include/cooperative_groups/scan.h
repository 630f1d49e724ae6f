// CUDA's own name for a part of cooperative_groups.h.
#pragma once
#include "../cooperative_groups.h"
