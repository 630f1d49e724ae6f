"""One thread an output element, the weights of its channel in shared memory."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void conv_kernel(const float* x, const float* w, const float* bias, float* y, int channels, int size) {
    __shared__ float taps[16 * 9];
    int out = blockIdx.y, image = blockIdx.z;
    for (int t = threadIdx.x; t < channels * 9; t += blockDim.x) {
        int in = t / 9;
        taps[t] = w[(out * channels + in) * 9 + t % 9];
    }
    __syncthreads();  // all taps are there
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= size * size) return;
    int row = pixel / size, col = pixel % size;
    float sum = bias[out];
    for (int in = 0; in < channels; ++in)
        for (int r = 0; r < 3; ++r)
            for (int s = 0; s < 3; ++s) {
                int h = row + r - 1, v = col + s - 1;
                if (h >= 0 && h < size && v >= 0 && v < size) {
                    float value = x[((image * channels + in) * size + h) * size + v];
                    sum += value * taps[in * 9 + r * 3 + s];
                }
            }
    y[((size_t)(image * channels + out) * size + row) * size + col] = sum;
}

torch::Tensor conv(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    int images = x.size(0), channels = x.size(1), size = x.size(2);
    dim3 blocks((size * size + 127) / 128, channels, images);
    conv_kernel<<<blocks, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(),
                                 y.data_ptr<float>(), channels, size);
    return y;
}
"""

extension = load_inline(
    name="conv2d_plain",
    cpp_sources="torch::Tensor conv(torch::Tensor x, torch::Tensor w, torch::Tensor bias);",
    cuda_sources=SOURCE,
    functions=["conv"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return extension.conv(x, self.conv.weight, self.conv.bias)
