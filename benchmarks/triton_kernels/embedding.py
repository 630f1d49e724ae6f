"""correct: rows gathered by integers."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, D, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    token = tl.load(ids_ptr + i)
    d = tl.arange(0, BLOCK)
    row = tl.load(table_ptr + token * D + d, mask=d < D)
    tl.store(out_ptr + i * D + d, row, mask=d < D)


class Model(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Embedding(rows, dim)

    def forward(self, ids):
        return self.table(ids)


class ModelNew(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Embedding(rows, dim)

    def forward(self, ids):
        D = self.table.embedding_dim
        out = torch.empty((*ids.shape, D), device=ids.device, dtype=self.table.weight.dtype)
        embedding_kernel[(ids.numel(),)](ids, self.table.weight, out, D, BLOCK=triton.next_power_of_2(D))
        return out


def get_inputs():
    return [torch.randint(0, 100, (4, 25))]


def get_init_inputs():
    return [100, 60]
