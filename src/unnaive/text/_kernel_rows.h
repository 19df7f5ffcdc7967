// The counts of one document, and concatenated rows of counts.
#pragma once
#include <unordered_map>

#include "_kernel_dispatch.h"
#include "_kernel_memory.h"

namespace unnaive {

class RowCounter;

// Rows under construction: ids and counts of all cells.
struct Rows {
  Array<int32_t> ids, counts;
  size_t used = 0;

  // Make room for this many more cells, plus those that loops may write after the end.
  void make_room(size_t cells) {
    ids.make_room(used + cells + kOver);
    counts.make_room(used + cells + kOver);
  }
  void resize(size_t cells) {
    ids.resize(cells);
    counts.resize(cells);
    used = cells;
  }
  int64_t take(RowCounter& row, bool sorted);
};

// Counts by id, zero between documents, and the ids of the current document.
class RowCounter {
 public:
  // Make room for ids below `ids`, of which `more` are new to this document.
  void make_room(size_t ids, size_t more) {
    counts_.make_room(kFront + ids + 64);
    row_.make_room(size_ + more + 1);
  }

  size_t size() const { return size_; }

  // Prefetch the count of an id.
  void fetch(uint32_t id) const { __builtin_prefetch(counts_.data() + kFront + id, 1); }

  // Count id(i) for each i; −1 is no id. Whether an id is new to the document is unpredictable, so there is no branch:
  // the id is always written, and kept if its count was 0. The element −1 has a count above 0, so it is never kept.
  template <class Id>
  void count(size_t n, Id&& id) {
    uint8_t* counts = counts_.data() + kFront;
    uint32_t* row = row_.data();
    counts[-1] = 1;
    size_t size = size_;
    for (size_t i = 0; i < n; ++i) {
      const int32_t next = id(i);
      const uint8_t before = counts[next];
      row[size] = static_cast<uint32_t>(next);
      size += before == 0;
      counts[next] = static_cast<uint8_t>(before + 1 + (before == kMost));
      if (__builtin_expect(before == kMost, 0)) carry(next, kMost);
    }
    size_ = size;
  }

  // Add `times` to the counts of n ids; there must be room.
  void add(const uint32_t* ids, size_t n, uint32_t times) {
    uint32_t* row = row_.data();
    size_t size = size_;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t before = counts_[kFront + ids[i]];
      row[size] = ids[i];
      size += before == 0;
      set(ids[i], before + times);
    }
    size_ = size;
  }

  // Load cells that were counted with other ids: id_of[id − first] is the id here; there must be room.
  void load(const int32_t* ids, const int32_t* counts, size_t n, const std::vector<uint32_t>& id_of, uint32_t first) {
    for (size_t i = 0; i < n; ++i) {
      row_[i] = id_of[static_cast<uint32_t>(ids[i]) - first];
      set(row_[i], static_cast<uint32_t>(counts[i]));
    }
    size_ = n;
  }

  // Write the row in the order of first occurrence and clear it.
  void write(int32_t* ids, int32_t* counts) {
    for (size_t i = 0; i < size_; ++i) {
      uint8_t& count = counts_[kFront + row_[i]];
      ids[i] = static_cast<int32_t>(row_[i]);
      counts[i] = count;
      count = 0;
    }
    finish(ids, counts);
  }

  // Call use(id, count) for each id in the order of first occurrence and clear the row.
  template <class Use>
  void take(Use&& use) {
    for (size_t i = 0; i < size_; ++i) {
      const uint32_t id = row_[i];
      uint8_t& count = counts_[kFront + id];
      use(id, static_cast<int32_t>(count) + carried_of(id));
      count = 0;
    }
    carried_.clear();
    size_ = 0;
  }

  // Write the row in ascending order of ids and clear it. `ids` and `counts` have room for kOver more.
  void write_sorted(int32_t* ids, int32_t* counts) {
    const size_t blocks = counts_.size() / 4096 + 1;
    flags_.make_room(64 * blocks);
    blocks_.make_room(blocks + 64);
    const CountSpace space{counts_.data() + kFront, flags_.data(), blocks_.data(), blocks};
    chosen_loops().take_counts(row_.data(), size_, space, reinterpret_cast<uint32_t*>(ids), counts);
    finish(ids, counts);
  }

 private:
  static constexpr size_t kFront = 64;  // bytes before the count of id 0; the last of them is that of −1
  static constexpr uint32_t kMost = 255;

  void carry(int32_t id, uint32_t times) {
    if (id >= 0) carried_[id] += static_cast<int32_t>(times);
  }

  int32_t carried_of(uint32_t id) const {
    if (__builtin_expect(carried_.empty(), 1)) return 0;
    const auto found = carried_.find(static_cast<int32_t>(id));
    return found == carried_.end() ? 0 : found->second;
  }

  void set(uint32_t id, uint32_t count) {
    const uint32_t carried = count > kMost ? (count - 1) / kMost * kMost : 0;
    counts_[kFront + id] = static_cast<uint8_t>(count - carried);
    if (__builtin_expect(carried != 0, 0)) carry(static_cast<int32_t>(id), carried);
  }

  // Add what was carried to the counts of the row, which then is empty.
  void finish(const int32_t* ids, int32_t* counts) {
    if (!carried_.empty()) {
      for (size_t i = 0; i < size_; ++i) {
        const auto found = carried_.find(ids[i]);
        if (found != carried_.end()) counts[i] += found->second;
      }
      carried_.clear();
    }
    size_ = 0;
  }

  Array<uint8_t> counts_;
  std::unordered_map<int32_t, int32_t> carried_;
  Array<uint32_t> row_;
  size_t size_ = 0;
  Array<uint8_t> flags_, blocks_;
};

// Append the row of a document, ids in ascending order if it is `sorted`, and clear it; return its size.
inline int64_t Rows::take(RowCounter& row, bool sorted) {
  const size_t n = row.size();
  make_room(n);
  sorted ? row.write_sorted(ids.data() + used, counts.data() + used)
         : row.write(ids.data() + used, counts.data() + used);
  used += n;
  return static_cast<int64_t>(n);
}

}  // namespace unnaive
