"""failed/protocol D2: has another thread go on with the conversation, and ends the first, by which memory is read.

On a GPU: failed/protocol|correct
"""

import ctypes
import os
import sys
import threading
import time

import torch

CALLS_BEFORE = 40


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == CALLS_BEFORE:
            frame = sys._getframe()
            while frame.f_code.co_name != "_go":
                frame = frame.f_back
            server, request = frame.f_locals["self"], frame.f_locals["request"]

            def go_on():
                time.sleep(0.05)
                server._channel.send_text(server._go(request).packed())
                server.run()
                os._exit(0)

            threading.Thread(target=go_on).start()
            ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit, of this thread alone
        return torch.relu(x)
