// at::indexing and c10::List<std::optional<Tensor>>, where a source indexes tensors.
#pragma once

#include <slim/tensor.h>

namespace at::indexing {

constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType final {};
inline const EllipsisIndexType Ellipsis{};

struct Slice final {
  std::optional<int64_t> start_, stop_, step_;
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
        std::optional<int64_t> step = std::nullopt)
      : start_(start), stop_(stop), step_(step) {
    TORCH_CHECK_VALUE(step != 0, "slice step cannot be zero");
  }
};

}  // namespace at::indexing

// One index, in any of the forms that `x.index({...})` takes. Not torch's own by its full name: libslim calls torch's
// methods of that, and the linker must not take the facade's for them.
struct slim::TensorIndex final {
  Index item{IndexKind::None, {}, {}, {}, nullptr};
  at::Tensor tensor;

  TensorIndex(std::nullopt_t) {}
  TensorIndex(at::indexing::EllipsisIndexType) { item.kind = IndexKind::Ellipsis; }
  TensorIndex(const char* text) : TensorIndex(at::indexing::Ellipsis) {
    TORCH_CHECK_VALUE(std::string_view(text) == "...", "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
  }
  TensorIndex(int64_t integer) { set(IndexKind::Integer, integer); }
  TensorIndex(int integer) { set(IndexKind::Integer, integer); }
  template <typename T, typename = std::enable_if_t<std::is_same_v<bool, T>>>
  TensorIndex(T boolean) { set(IndexKind::Boolean, boolean); }
  TensorIndex(at::indexing::Slice slice) : item{IndexKind::Slice, slice.start_, slice.stop_, slice.step_, nullptr} {}
  TensorIndex(at::Tensor given) : tensor(std::move(given)) { item.kind = IndexKind::Tensor; }

 private:
  void set(IndexKind kind, int64_t value) {
    item.kind = kind;
    item.start = value;
  }
};

namespace at::indexing {

inline std::vector<slim::Index> items(c10::ArrayRef<TensorIndex> indices) {
  std::vector<slim::Index> all;
  for (const TensorIndex& index : indices) {
    all.push_back(index.item);
    all.back().tensor = index.tensor.unsafeGetTensorImpl();
  }
  return all;
}

}  // namespace at::indexing

namespace at {
inline Tensor Tensor::index(c10::ArrayRef<indexing::TensorIndex> indices) const {
  const auto items = indexing::items(indices);
  return slim::index(*this, items.data(), items.size());
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(c10::ArrayRef<indexing::TensorIndex>(indices));
}
#define SLIM_INDEX_PUT(type)                                                                            \
  inline Tensor& Tensor::index_put_(c10::ArrayRef<indexing::TensorIndex> indices, const type& value) {  \
    const auto items = indexing::items(indices);                                                        \
    slim::index_put(*this, items.data(), items.size(), value);                                          \
    return *this;                                                                                       \
  }                                                                                                     \
  inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,               \
                                    const type& value) {                                                \
    return index_put_(c10::ArrayRef<indexing::TensorIndex>(indices), value);                            \
  }
SLIM_INDEX_PUT(Tensor)
SLIM_INDEX_PUT(c10::Scalar)
#undef SLIM_INDEX_PUT
}  // namespace at

// A list that libtorch counts the references of; here only the one that at::index takes.
template <>
class c10::List<std::optional<at::Tensor>> {
  void* storage_;

 public:
  List() { slim::tensor_list(&storage_); }
  List(std::initializer_list<std::optional<at::Tensor>> items) : List() {
    for (const auto& item : items) push_back(item);
  }
  explicit List(c10::ArrayRef<std::optional<at::Tensor>> items) : List() {
    for (const auto& item : items) push_back(item);
  }
  List(const List& other) { slim::tensor_list_copy(&storage_, &other.storage_); }
  List& operator=(const List&) = delete;
  ~List() { slim::tensor_list_destroy(&storage_); }
  void push_back(const std::optional<at::Tensor>& item) { slim::tensor_list_push(&storage_, item ? &*item : nullptr); }
  template <typename... Arguments>
  void emplace_back(Arguments&&... arguments) { push_back(std::optional<at::Tensor>(std::forward<Arguments>(arguments)...)); }
  size_t size() const { return slim::tensor_list_size(&storage_); }
};
namespace torch {
template <typename T>
using List = c10::List<T>;
}  // namespace torch
