// The counts of one document, and rows of counts one after another.
#pragma once
#include "_kernel_bits.h"
#include "_kernel_memory.h"

namespace unnaive {

// Rows as they are filled: ids and counts of all cells.
struct Rows {
  Array<int32_t> ids, counts;
  size_t used = 0;

  void make_room(size_t cells) {
    ids.make_room(used + cells);
    counts.make_room(used + cells);
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
    counts_.make_room(ids);
    row_.make_room(size_ + more + 1);
  }

  size_t size() const { return size_; }
  const uint32_t* ids() const { return row_.data(); }
  uint32_t count_of(uint32_t id) const { return counts_[id]; }

  // Where there are many ids, their counts are far away.
  void fetch(const uint32_t* ids, size_t n) const {
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(&counts_[ids[i]], 1);
  }

  // Whether an id came before is anybody's guess: it is written in any case, and kept if it is the first.
  void count(const uint32_t* ids, size_t n) {
    uint32_t *counts = counts_.data(), *row = row_.data();
    size_t size = size_;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t id = ids[i], before = counts[id];
      row[size] = id;
      size += before == 0;
      counts[id] = before + 1;
    }
    size_ = size;
  }

  // Takes a row that was counted under other ids.
  void load(const int32_t* ids, const int32_t* counts, size_t n, const uint32_t* id_of) {
    for (size_t i = 0; i < n; ++i) {
      row_[i] = id_of[ids[i]];
      counts_[row_[i]] = static_cast<uint32_t>(counts[i]);
    }
    size_ = n;
  }

  // The row in the order in which its ids came; it is empty afterwards.
  void write(int32_t* ids, int32_t* counts) { write_from(row_.data(), ids, counts); }

  // The row in ascending order of its ids; it is empty afterwards.
  void write_sorted(int32_t* ids, int32_t* counts) {
    sort();
    write_from(sorted_.data(), ids, counts);
  }

 private:
  static constexpr unsigned kGroup = 4;

  void write_from(const uint32_t* row, int32_t* ids, int32_t* counts) {
    for (size_t i = 0; i < size_; ++i) {
      ids[i] = static_cast<int32_t>(row[i]);
      counts[i] = static_cast<int32_t>(counts_[row[i]]);
      counts_[row[i]] = 0;
    }
    size_ = 0;
  }

  // A bit for every id, a flag for every 64 of them and one for every 64 flags; then they are read in order.
  void sort() {
    const size_t blocks = counts_.size() / 4096 + 1;
    sorted_.make_room(size_ + kGroup);
    bits_.make_room(64 * blocks);
    flags_.make_room(64 * blocks);
    blocks_.make_room(blocks + 64);
    // a byte may lie anywhere, so that the compiler would read members again after each
    uint64_t* const some_bits = bits_.data();
    uint8_t *const some_flags = flags_.data(), *const some_blocks = blocks_.data();
    for (const uint32_t *id = row_.data(), *end = id + size_; id < end; ++id) {
      some_bits[*id >> 6] |= 1ull << (*id & 63);
      some_flags[*id >> 6] = 0xFF;
      some_blocks[*id >> 12] = 0xFF;
    }
    uint32_t* out = sorted_.data();
    for (size_t base = 0; base < blocks; base += 64)
      for (uint64_t some = take_flags(&blocks_[base]); some; some &= some - 1)
        out = flatten_block(base + static_cast<size_t>(__builtin_ctzll(some)), out);
  }

  uint32_t* flatten_block(size_t block, uint32_t* out) {
    for (uint64_t words = take_flags(&flags_[64 * block]); words; words &= words - 1) {
      const size_t word = 64 * block + static_cast<size_t>(__builtin_ctzll(words));
      out = flatten<kGroup>(bits_[word], static_cast<uint32_t>(64 * word), out);
      bits_[word] = 0;
    }
    return out;
  }

  Array<uint32_t> counts_, row_, sorted_;
  size_t size_ = 0;
  Array<uint64_t> bits_;
  Array<uint8_t> flags_, blocks_;
};

}  // namespace unnaive
