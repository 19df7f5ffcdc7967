// Arrays of zeros that grow: large ones straight from the system, on huge pages, since look-ups are what costs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace unnaive {

constexpr size_t kHugePage = size_t{2} << 20;

inline void* check(void* data) {
  if (!data) throw std::bad_alloc();
  return data;
}

#if defined(__linux__)
inline size_t page_bytes(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Fresh pages are zero already, and cost nothing before they are touched.
inline void* take_pages(size_t bytes) {
  const size_t more = bytes + kHugePage;
  void* start = mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto from = reinterpret_cast<uintptr_t>(start), at = (from + kHugePage - 1) & ~(kHugePage - 1);
  if (at > from) munmap(start, at - from);
  if (at + bytes < from + more) munmap(reinterpret_cast<void*>(at + bytes), from + more - at - bytes);
  madvise(reinterpret_cast<void*>(at), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(at);
}

inline bool in_pages(size_t bytes) { return bytes >= kHugePage; }
#else
inline size_t page_bytes(size_t bytes) { return bytes; }
inline void* take_pages(size_t) { throw std::bad_alloc(); }
inline bool in_pages(size_t) { return false; }
#endif

inline void* take_zeros(size_t bytes) {
  return in_pages(bytes) ? take_pages(page_bytes(bytes)) : check(std::calloc(bytes ? bytes : 1, 1));
}

inline void give_back(void* data, size_t bytes) {
#if defined(__linux__)
  if (in_pages(bytes)) {
    munmap(data, page_bytes(bytes));
    return;
  }
#endif
  std::free(data);
}

// The same bytes with room for more, zeros behind them, or for fewer; pages are moved without copying them.
inline void* resized(void* data, size_t bytes, size_t wanted) {
#if defined(__linux__)
  if (in_pages(bytes) && in_pages(wanted)) {
    const size_t before = page_bytes(bytes), after = page_bytes(wanted);
    if (mremap(data, before, after, 0) != MAP_FAILED) return data;
    // there is no room behind it: huge pages are moved whole to where they fit, and split where they do not
    void* place = take_pages(after);
    if (mremap(data, before, after, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return place;
    munmap(place, after);
    throw std::bad_alloc();
  }
#endif
  void* fresh = take_zeros(wanted);
  if (data) std::memcpy(fresh, data, std::min(bytes, wanted));
  give_back(data, bytes);
  return fresh;
}

template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(size_t size) : data_(static_cast<T*>(take_zeros(size * sizeof(T)))), size_(size) {}
  Array(const Array& other) : Array(other.size_) {
    if (other.size_) std::memcpy(static_cast<void*>(data_), other.data_, other.size_ * sizeof(T));
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (data_) give_back(data_, size_ * sizeof(T));
  }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }

  void resize(size_t size) {
    data_ = static_cast<T*>(resized(data_, size_ * sizeof(T), size * sizeof(T)));
    size_ = size;
  }
  // At least `size`, and half as much again where it has to grow.
  void make_room(size_t size) {
    if (size > size_) resize(size + size / 2 + 64);
  }

 private:
  void swap(Array& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace unnaive
