// The counts of one document, and rows of counts one after another.
#pragma once
#include "_kernel_dispatch.h"
#include "_kernel_memory.h"

namespace unnaive {

// Rows as they are filled: ids and counts of all cells.
struct Rows {
  Array<int32_t> ids, counts;
  size_t used = 0;

  // For so many cells more, and what loops may write behind them.
  void make_room(size_t cells) {
    ids.make_room(used + cells + kOver);
    counts.make_room(used + cells + kOver);
  }
  void resize(size_t cells) {
    ids.resize(cells);
    counts.resize(cells);
    used = cells;
  }
};

// Counts by id, zero between documents, and the ids of this document.
class RowCounter {
 public:
  // Ids up to `ids` may come, `more` of them new to this document.
  void make_room(size_t ids, size_t more) {
    counts_.make_room(ids + 1);
    row_.make_room(size_ + more + 1);
  }

  size_t size() const { return size_; }

  // Where there are many ids, their counts are far away.
  void fetch(const uint32_t* ids, size_t n) const {
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(&counts_[ids[i] + 1], 1);
  }

  // Counts id(i) for each i; −1 is no id. Whether an id came before is anybody's guess: it is written in any case, and
  // kept if it is the first. What is no id has a count too, which is never the first.
  template <class Id>
  void count(size_t n, Id&& id) {
    uint32_t *counts = counts_.data() + 1, *row = row_.data();
    counts[-1] = 1;
    size_t size = size_;
    for (size_t i = 0; i < n; ++i) {
      const int32_t one = id(i);
      const uint32_t before = counts[one];
      row[size] = static_cast<uint32_t>(one);
      size += before == 0;
      counts[one] = before + 1;
    }
    size_ = size;
  }

  // Counts each of n ids so many times; there is room.
  void add(const uint32_t* ids, size_t n, uint32_t times) {
    uint32_t *counts = counts_.data() + 1, *row = row_.data();
    size_t size = size_;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t before = counts[ids[i]];
      row[size] = ids[i];
      size += before == 0;
      counts[ids[i]] = before + times;
    }
    size_ = size;
  }

  // Takes cells that were counted under other ids, those from `first` on; there is room.
  void load(const int32_t* ids, const int32_t* counts, size_t n, const std::vector<uint32_t>& id_of, uint32_t first) {
    for (size_t i = 0; i < n; ++i) {
      row_[i] = id_of[static_cast<uint32_t>(ids[i]) - first];
      counts_[row_[i] + 1] = static_cast<uint32_t>(counts[i]);
    }
    size_ = n;
  }

  // The row in the order in which its ids came; it is empty afterwards.
  void write(int32_t* ids, int32_t* counts) {
    for (size_t i = 0; i < size_; ++i) ids[i] = static_cast<int32_t>(row_[i]);
    take_counts(ids, counts);
  }

  // The row in ascending order of its ids; it is empty afterwards. There is room for kOver more ids.
  void write_sorted(int32_t* ids, int32_t* counts) {
    const size_t blocks = counts_.size() / 4096 + 1;
    bits_.make_room(64 * blocks);
    flags_.make_room(64 * blocks);
    blocks_.make_room(blocks + 64);
    const SortSpace space{bits_.data(), flags_.data(), blocks_.data(), blocks};
    chosen_loops().sort_ids(row_.data(), size_, space, reinterpret_cast<uint32_t*>(ids));
    take_counts(ids, counts);
  }

 private:
  void take_counts(const int32_t* ids, int32_t* counts) {
    for (size_t i = 0; i < size_; ++i) {
      uint32_t& count = counts_[static_cast<size_t>(ids[i]) + 1];
      counts[i] = static_cast<int32_t>(count);
      count = 0;
    }
    size_ = 0;
  }

  Array<uint32_t> counts_;  // from that of −1 on
  Array<uint32_t> row_;
  size_t size_ = 0;
  Array<uint64_t> bits_;
  Array<uint8_t> flags_, blocks_;
};

}  // namespace unnaive
