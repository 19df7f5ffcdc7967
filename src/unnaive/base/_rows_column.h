// One column of some rows: the concatenated bytes of its cells, the end of each cell, and the kind of its value.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "../base/_system.h"
#include "_rows_bytes.h"

namespace unnaive {

enum Kind : uint8_t { kMissing = 0, kString = 1, kOther = 2 };  // kOther: JSON text as in the file

// Memory that is written once, sequentially, and passed on without a copy.
class Bytes {
 public:
  explicit Bytes(size_t room)
      : data_(static_cast<uint8_t*>(room >= kLarge ? allocate_large(room) : std::malloc(room ? room : 1))) {
    if (!data_) throw std::bad_alloc();
  }
  Bytes(Bytes&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { std::free(data_); }

  void append(const uint8_t* from, size_t size) {
    std::memcpy(data_ + size_, from, size);
    size_ += size;
  }
  void append(uint8_t one) { data_[size_++] = one; }
  Bytes shrunk() {
    if (void* smaller = std::realloc(data_, size_ ? size_ : 1)) data_ = static_cast<uint8_t*>(smaller);
    return std::move(*this);
  }
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kLarge = size_t{4} << 20;  // two huge pages

  uint8_t* data_;
  size_t size_ = 0;
};

// A cell is never longer than its representation in the file, so the initial size of a column suffices.
struct Column {
  Bytes bytes;
  std::vector<int64_t> ends{0};
  std::vector<uint8_t> kinds;

  explicit Column(size_t room) : bytes(room) {}

  void end_cell(Kind kind) {
    ends.push_back(static_cast<int64_t>(bytes.size()));
    kinds.push_back(kind);
  }
};

using Columns = std::vector<Column>;

inline Columns empty_columns(size_t count, size_t room) {
  Columns columns;
  columns.reserve(count);
  for (size_t i = 0; i < count; ++i) columns.emplace_back(room);
  return columns;
}

}  // namespace unnaive
