// torch's allocator of host memory with red zones around every tensor, and where a tensor ends, for what has to know.
//
// Needs torch's own headers: compiled into libslim, or into a module that is built over them. Nothing is written into
// the zones: what a kernel does there is seen by trace.h, access by access. They also keep what a kernel does there
// from other tensors.
#pragma once
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#pragma GCC visibility push(hidden)

namespace cuda_emulation_tensors {

// As `Zone` in trace.h.
struct Zone {
  const char *begin, *end, *first, *limit;
};

struct Known {
  std::mutex mutex;
  std::map<const char*, Zone> zones;  // by `first`
  std::map<const char*, Zone> inputs;  // those that were laid out elsewhere
};
inline Known& known() {
  static Known* all = new Known;  // never destroyed: tensors may be freed while we exit
  return *all;
}

class GuardedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const std::size_t zone = zone_of_size(bytes);
    c10::DataPtr inner = original()->allocate(bytes + 2 * zone);
    const c10::Device device = inner.device();
    char* raw = static_cast<char*>(inner.release_context());
    {
      std::lock_guard<std::mutex> lock(known().mutex);
      known().zones[raw] = {raw + zone, raw + zone + bytes, raw, raw + bytes + 2 * zone};
    }
    return {raw + zone, raw + zone, &free_one, device};  // torch wants the two equal of memory without a DataPtr
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_one; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
  static c10::Allocator* original() {
    static c10::Allocator* const found = c10::GetDefaultCPUAllocator();
    return found;
  }

 private:
  // Multiples of torch's alignment; large tensors are overrun by whole rows.
  static std::size_t zone_of_size(std::size_t bytes) { return bytes < 4096 ? 1024 : 65536; }
  static void free_one(void* begin) {
    void* raw = begin;  // unless it was allocated while tensors had no zones
    {
      std::lock_guard<std::mutex> lock(known().mutex);
      auto& zones = known().zones;
      const auto after = zones.upper_bound(static_cast<const char*>(begin));
      if (after != zones.begin() && std::prev(after)->second.begin == begin) {
        raw = const_cast<char*>(std::prev(after)->first);
        zones.erase(std::prev(after));
      }
    }
    original()->raw_deleter()(raw);
  }
};

// The zone that holds an address, or what is between two of them.
inline Zone zone_in(const std::map<const char*, Zone>& zones, const char* address) {
  const auto after = zones.upper_bound(address);
  Zone gap{nullptr, nullptr, nullptr, reinterpret_cast<const char*>(UINTPTR_MAX)};
  if (after != zones.end()) gap.limit = after->second.first;
  if (after == zones.begin()) return gap;
  const Zone& before = std::prev(after)->second;
  if (address < before.limit) return before;
  gap.first = before.limit;
  return gap;
}

}  // namespace cuda_emulation_tensors

// From now on tensors on the host have red zones.
extern "C" __attribute__((weak, visibility("default"), used)) inline void cuda_emulation_guard_tensors(bool on) {
  static auto* const guarded = new cuda_emulation_tensors::GuardedAllocator;
  cuda_emulation_tensors::GuardedAllocator::original();
  c10::SetCPUAllocator(on ? guarded : cuda_emulation_tensors::GuardedAllocator::original(), 1);
}

// `count` tensors that lie in memory of another's, each as four addresses: its own ends, and those of its red zones.
extern "C" __attribute__((weak, visibility("default"), used)) inline void cuda_emulation_know_inputs(
    const cuda_emulation_tensors::Zone* zones, std::size_t count) {
  auto& known = cuda_emulation_tensors::known();
  std::lock_guard<std::mutex> lock(known.mutex);
  known.inputs.clear();
  for (std::size_t i = 0; i < count; ++i) known.inputs[zones[i].first] = zones[i];
}

extern "C" __attribute__((weak, visibility("default"), used)) inline void cuda_emulation_zone_of(
    const void* address, cuda_emulation_tensors::Zone* zone) {
  auto& known = cuda_emulation_tensors::known();
  std::lock_guard<std::mutex> lock(known.mutex);
  const char* at = static_cast<const char*>(address);
  *zone = cuda_emulation_tensors::zone_in(known.zones, at);
  if (zone->begin != nullptr) return;
  const auto input = cuda_emulation_tensors::zone_in(known.inputs, at);
  if (input.begin != nullptr || input.first > zone->first) zone->first = input.first;
  if (input.begin != nullptr || input.limit < zone->limit) zone->limit = input.limit;
  zone->begin = input.begin;
  zone->end = input.end;
}

#pragma GCC visibility pop
