// Pages between two pages that must not be touched: running off either end is a fault at once, not a corrupted heap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

namespace cuda_emulation {

// What uninitialised memory holds: a NaN as float, double, half and bfloat16, and -1 as an integer.
constexpr int kGarbage = 0xff;

class GuardedMemory {
  public:
    // `bytes` of memory that end at the upper guard, give or take what `alignment` (a power of two) asks for.
    GuardedMemory(std::size_t bytes, std::size_t alignment) : bytes_(bytes) {
        const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t used = (bytes + alignment - 1) / alignment * alignment;
        const std::size_t pages = (used + page - 1) / page * page;
        mapped_ = pages + 2 * page;
        void* mapping = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED) throw std::bad_alloc();
        mapping_ = static_cast<char*>(mapping);
        if (pages != 0 && mprotect(mapping_ + page, pages, PROT_READ | PROT_WRITE) != 0) {
            munmap(mapping_, mapped_);
            throw std::bad_alloc();
        }
        begin_ = mapping_ + page + pages - used;
    }
    ~GuardedMemory() { munmap(mapping_, mapped_); }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    char* begin() const { return begin_; }
    char* end() const { return begin_ + bytes_; }
    std::size_t size() const { return bytes_; }
    void fill_with_garbage() { std::memset(begin_, kGarbage, bytes_); }

    // The mapping, guards included.
    const char* first() const { return mapping_; }
    const char* limit() const { return mapping_ + mapped_; }

    // Whether `address` is in this mapping, guards included. Asked for addresses that faulted: it is a guard then.
    bool holds(const void* address) const {
        const char* a = static_cast<const char*>(address);
        return a >= mapping_ && a < mapping_ + mapped_;
    }

  private:
    std::size_t bytes_;
    std::size_t mapped_ = 0;
    char* mapping_ = nullptr;
    char* begin_ = nullptr;
};

}  // namespace cuda_emulation

#pragma GCC visibility pop
