"""failed|correct A12 (cpu): a process that replaces itself many times a second is never found when all are stopped, and
keeps a core busy while it is the other's turn.

Twin: plain_relu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>

static constexpr int STACKS = 64, SIZE = 1 << 16;
static char stacks[STACKS][SIZE];
static std::atomic<int> next_stack{0};
static volatile long spun = 0;

static int hop(void*) {
    for (int i = 0; i < 20000; ++i) spun = spun + 1;
    int mine = next_stack++ % STACKS;
    clone(hop, stacks[mine] + SIZE - 64, CLONE_VM, nullptr);
    syscall(SYS_exit, 0);
    return 0;
}

void start() { for (int i = 0; i < 2; ++i) clone(hop, stacks[next_stack++ % STACKS] + SIZE - 64, CLONE_VM, nullptr); }
int64_t count() { return spun; }
"""

extension = load_inline(name="hops", cpp_sources=SOURCE, functions=["start", "count"])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        extension.start()

    def forward(self, x):
        return torch.relu(x)
