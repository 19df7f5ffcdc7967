// Growing arrays that are initialised with zeros.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "_kernel_pages.h"

namespace unnaive {

inline void* check(void* data) {
  if (!data) throw std::bad_alloc();
  return data;
}

inline Block take_block(size_t bytes) {
  return in_pages(bytes) ? take_pages(bytes) : Block{check(std::calloc(bytes ? bytes : 1, 1)), bytes};
}

inline void give_back(const Block& block) {
  if (in_pages(block.bytes)) return give_pages(block);
  std::free(block.data);
}

// Set bytes between two offsets after the end of the array to zero.
inline void clear(const Block& block, size_t from, size_t to) {
  if (!block.clean && from < to) std::memset(static_cast<uint8_t*>(block.data) + from, 0, to - from);
}

// Resize a block to `wanted` bytes; its first `used` bytes are kept and the rest is zero.
inline Block resized(Block block, size_t used, size_t wanted) {
  if (in_pages(block.bytes)) {
    clear(block, used, std::min(wanted, block.bytes));
    block.clean = block.clean && wanted >= used;
    return wanted > block.bytes ? grown_pages(block, wanted) : block;
  }
  const Block fresh = take_block(wanted);
  if (block.data) std::memcpy(fresh.data, block.data, std::min(used, wanted));
  clear(fresh, used, wanted);
  give_back(block);
  return fresh;
}

template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(size_t size) : Array(unset(size)) { clear(block_, 0, size * sizeof(T)); }
  Array(const Array& other) : Array(unset(other.size_)) {
    if (other.size_) std::memcpy(block_.data, other.block_.data, other.size_ * sizeof(T));
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (block_.data) give_back(block_);
  }

  // An array with arbitrary values, for callers that write before they read.
  static Array unset(size_t size) {
    Array array;
    array.block_ = take_block(size * sizeof(T));
    array.size_ = size;
    return array;
  }

  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* data() { return static_cast<T*>(block_.data); }
  const T* data() const { return static_cast<const T*>(block_.data); }
  size_t size() const { return size_; }

  void resize(size_t size) {
    block_ = resized(block_, size_ * sizeof(T), size * sizeof(T));
    size_ = size;
  }
  void swap(Array& other) {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
  }
  // Grow to at least `size`, with half as much again in reserve.
  void make_room(size_t size) {
    if (size > size_) resize(size + size / 2 + 64);
  }

 private:
  Block block_;
  size_t size_ = 0;
};

}  // namespace unnaive
