// torch/nn/functional.h: torch's own headers for those of its functions that a source names. They are thin, inline and
// written in terms of operators, which are declared for them as for the source.
#pragma once

#include <slim/torch.h>

#include <slim_functional.inc>
