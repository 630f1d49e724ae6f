"""failed|correct A12 (cpu): children with much memory have timers that kill them while it is the other's turn,
which keeps the kernel busy with freeing it.

Twin: plain_relu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void spawn(int64_t ms) {
    if (fork()) return;
    size_t size = 64 << 20;
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, size);
    sigevent how{};
    how.sigev_notify = SIGEV_SIGNAL;
    how.sigev_signo = SIGKILL;
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &how, &timer);
    itimerspec once{{0, 0}, {ms / 1000, ms % 1000 * 1000000}};
    timer_settime(timer, 0, &once, nullptr);
    for (;;) pause();
}
"""

extension = load_inline(name="mortal", cpp_sources=SOURCE, functions=["spawn"])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls in (30, 60, 90, 120):
            for i in range(8):
                extension.spawn(200 + 100 * i)
        return torch.relu(x)
