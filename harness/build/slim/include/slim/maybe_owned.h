// c10::MaybeOwned<Tensor>: torch's own template, over borrows that hold a count.
#pragma once

#include <slim/tensor.h>

template <>
struct c10::MaybeOwnedTraits<at::Tensor> {
  using owned_type = at::Tensor;
  using borrow_type = at::Tensor;
  static borrow_type createBorrow(const owned_type& from) { return from; }
  static void assignBorrow(borrow_type& to, const borrow_type& from) { to = from; }
  static void destroyBorrow(borrow_type& borrowed) { borrowed.reset(); }  // no destructor runs after this
  static const owned_type& referenceFromBorrow(const borrow_type& borrowed) { return borrowed; }
  static const owned_type* pointerFromBorrow(const borrow_type& borrowed) { return &borrowed; }
  static bool debugBorrowIsValid(const borrow_type&) { return true; }
};

namespace at {
inline c10::MaybeOwned<Tensor> Tensor::expect_contiguous(c10::MemoryFormat format) const& {
  return is_contiguous(format) ? c10::MaybeOwned<Tensor>::borrowed(*this)
                               : c10::MaybeOwned<Tensor>::owned(contiguous(format));
}
inline c10::MaybeOwned<Tensor> borrow_from_optional_tensor(const std::optional<Tensor>& tensor) {
  return tensor.has_value() ? c10::MaybeOwned<Tensor>::borrowed(*tensor)
                            : c10::MaybeOwned<Tensor>::owned(std::in_place);
}
}  // namespace at
