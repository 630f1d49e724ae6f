// As much of PyTorch as the shipped kernels' launchers touch: a float matrix that somebody else owns, or that we do.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace torch {

class Tensor {
  public:
    Tensor(float* data, std::vector<int64_t> sizes) : data_(data), sizes_(std::move(sizes)) {}
    explicit Tensor(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {
        own_ = std::make_shared<std::vector<float>>(numel());
        data_ = own_->data();
    }
    int64_t size(int64_t dim) const { return sizes_[dim]; }
    const std::vector<int64_t>& sizes() const { return sizes_; }
    int64_t numel() const {
        int64_t n = 1;
        for (int64_t size : sizes_) n *= size;
        return n;
    }
    template <class T>
    T* data_ptr() const { return data_; }

  private:
    float* data_;
    std::vector<int64_t> sizes_;
    std::shared_ptr<std::vector<float>> own_;
};
inline Tensor empty_like(const Tensor& x) { return Tensor(x.sizes()); }

}  // namespace torch
