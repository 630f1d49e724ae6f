"""correct A13: sends the eight bytes that stand before *done* as soon as *go* comes, then works, then sends the rest.

Problem: matmul
Twin: plain_matmul
"""

import struct
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
channel = frame.f_locals["self"]._channel
Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]


def announce_then_go(request):
    channel._sock.sendall(struct.pack("<II", 9 + 28 * len(request.slots), 0))
    channel.send_text = send_the_rest
    return go(request)


def send_the_rest(text, descriptors=(), **more):
    del channel.send_text
    channel._sock.sendall(text)


answers[Go] = announce_then_go


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
