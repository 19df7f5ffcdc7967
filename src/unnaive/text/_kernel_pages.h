// Large blocks of memory on huge pages, directly from the system: huge pages speed up look-ups, which dominate the
// time. Released blocks are kept for reuse, because getting new pages takes as long as filling them, and several times
// as long in a virtual machine whose host has reclaimed them.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace unnaive {

constexpr size_t kHugePage = size_t{2} << 20;

// The memory of an array; `clean` if all bytes after the end of the array are zero.
struct Block {
  void* data = nullptr;
  size_t bytes = 0;
  bool clean = true;
};

#if defined(__linux__)
inline bool in_pages(size_t bytes) { return bytes >= kHugePage; }

inline size_t page_bytes(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Map new pages, which are zero and cost nothing until they are touched.
inline Block map_pages(size_t bytes) {
  const size_t more = bytes + kHugePage;
  void* start = mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto from = reinterpret_cast<uintptr_t>(start), at = (from + kHugePage - 1) & ~(kHugePage - 1);
  if (at > from) munmap(start, at - from);
  if (at + bytes < from + more) munmap(reinterpret_cast<void*>(at + bytes), from + more - at - bytes);
  madvise(reinterpret_cast<void*>(at), bytes, MADV_HUGEPAGE);
  return {reinterpret_cast<void*>(at), bytes};
}

// Released blocks, the oldest first. No thread waits for the lock: if it is taken, the system is asked instead, so that
// a process forked while the lock was held does not hang.
class KeptPages {
 public:
  static constexpr size_t kMost = size_t{96} << 20;  // bytes

  // Keep at most this many bytes from now on: they count as memory of the process until the system needs them.
  void limit(size_t bytes) {
    most_.store(bytes);
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    while (lock && total_ > bytes) unmap_oldest();
  }

  // Take the smallest kept block that is large enough, but at most twice as large; an empty block if there is none.
  Block take(size_t bytes) {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return {};
    size_t found = size_;
    for (size_t i = 0; i < size_; ++i)
      if (blocks_[i].bytes >= bytes && blocks_[i].bytes <= 2 * bytes &&
          (found == size_ || blocks_[i].bytes < blocks_[found].bytes))
        found = i;
    return found < size_ ? removed(found) : Block{};
  }

  // Keep a block; the oldest blocks are unmapped if there are too many.
  void keep(Block block) {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    const size_t most = most_.load();
    if (!lock || block.bytes > most) {
      munmap(block.data, block.bytes);
      return;
    }
    while (size_ == blocks_.size() || total_ + block.bytes > most) unmap_oldest();
    madvise(block.data, block.bytes, MADV_FREE);  // the system may reclaim the pages when memory runs short
    block.clean = false;
    blocks_[size_++] = block;
    total_ += block.bytes;
  }

 private:
  Block removed(size_t place) {
    const Block block = blocks_[place];
    for (size_t i = place + 1; i < size_; ++i) blocks_[i - 1] = blocks_[i];
    --size_;
    total_ -= block.bytes;
    return block;
  }

  void unmap_oldest() {
    const Block oldest = removed(0);
    munmap(oldest.data, oldest.bytes);
  }

  std::mutex mutex_;
  std::atomic<size_t> most_{kMost};
  std::array<Block, 16> blocks_;
  size_t size_ = 0, total_ = 0;
};

inline KeptPages kept_pages;

inline Block take_pages(size_t bytes) {
  const Block kept = kept_pages.take(page_bytes(bytes));
  return kept.data ? kept : map_pages(page_bytes(bytes));
}

inline void give_pages(const Block& block) { kept_pages.keep(block); }
inline void limit_kept_pages(size_t bytes) { kept_pages.limit(bytes); }
constexpr size_t kMostKept = KeptPages::kMost;

// Extend a block by new pages; its pages are remapped, not copied.
inline Block grown_pages(Block block, size_t bytes) {
  const size_t wanted = page_bytes(bytes);
  if (mremap(block.data, block.bytes, wanted, 0) != MAP_FAILED) return {block.data, wanted, block.clean};
  // no address space after the block: remap it to an aligned address, because huge pages are split at any other
  const Block place = map_pages(wanted);
  if (mremap(block.data, block.bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place.data) != MAP_FAILED)
    return {place.data, wanted, block.clean};
  munmap(place.data, wanted);
  throw std::bad_alloc();
}
#else
inline bool in_pages(size_t) { return false; }
inline Block take_pages(size_t) { throw std::bad_alloc(); }
inline void give_pages(const Block&) {}
inline void limit_kept_pages(size_t) {}
constexpr size_t kMostKept = 0;
inline Block grown_pages(Block, size_t) { throw std::bad_alloc(); }
#endif

}  // namespace unnaive
