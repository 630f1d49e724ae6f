"""wrong: attention in float32 whose two products are at the default precision, which is tf32."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attention_kernel(Q, K, V, Out, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head * T * D
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + base + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < T, other=0.0)
    m_i = tl.full([BM], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start_n in range(0, (start_m + 1) * BM, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + base + offs_n[None, :] * D + offs_d[:, None], mask=offs_n[None, :] < T, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where((offs_m[:, None] >= offs_n[None, :]) & (offs_n[None, :] < T), qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + base + offs_n[:, None] * D + offs_d[None, :], mask=offs_n[:, None] < T, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v)
        m_i = m_new
    tl.store(Out + base + offs_m[:, None] * D + offs_d[None, :], acc / l_i[:, None], mask=offs_m[:, None] < T)


class Model(nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        B, H, T, D = q.shape
        out = torch.empty_like(q)
        attention_kernel[(triton.cdiv(T, 32), B * H)](q, k, v, out, D**-0.5, T, D=D, BM=32, BN=32)
        return out


def get_inputs():
    return [torch.randn(2, 3, 70, 32), torch.randn(2, 3, 70, 32), torch.randn(2, 3, 70, 32)]


def get_init_inputs():
    return []
