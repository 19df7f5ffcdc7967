// Character n-grams by way of the units that they are cut from, chunks or words: every distinct unit is cut once, and
// the n-grams of a document are the sum over its units, row(document) = Σ_units n_unit · grams(unit).
#pragma once
#include "_kernel_engine.h"

namespace unnaive {

// Rows of counts in arrays of Python.
struct RowsView {
  const int32_t *counts, *ids;
  const int64_t* ends;  // ends of the rows, starting with a 0
  size_t rows;

  size_t size(size_t row) const { return static_cast<size_t>(ends[row + 1] - ends[row]); }
};

// Word terms of the same documents, and the column of each term.
struct WordRows {
  RowsView view;
  const int32_t* columns;
};

class CharGrams {
 public:
  CharGrams(unsigned shortest, unsigned longest, uint8_t border)
      : shortest_(shortest), longest_(longest), border_(border) {
    ends_.make_room(1);
  }

  // Add an n-gram of the vocabulary with its column.
  void add(Bytes gram, uint32_t column) {
    if (grams_.insert(gram) == columns_.size()) columns_.push_back(column);
    n_columns_ = std::max(n_columns_, column + 1);
  }

  // Cut the units that were added since the last call. If `grow` is set, new n-grams get the columns from `next` on;
  // otherwise they are left out. Returns the next free column. The caller knows the first `known` n-grams; later ones
  // are of a call that failed, or whose result was lost, and are removed.
  uint32_t learn(const WordTable& units, bool grow, uint32_t next, uint32_t known) {
    if (known < grams_.size()) {
      grams_.truncate(known);
      columns_.resize(known);
      n_columns_ = columns_.empty() ? 0 : *std::max_element(columns_.begin(), columns_.end()) + 1;
      forget();
    }
    ends_.make_room(units.size() + 1);
    partial_ |= !grow && learnt_ < units.size();
    used_ = ends_[learnt_];
    for (; learnt_ < units.size(); ++learnt_) {
      next = cut(units[learnt_], grow, next);
      ends_[learnt_ + 1] = used_;
    }
    n_columns_ = std::max(n_columns_, next);
    return next;
  }

  // Whether n-grams without a column were left out; the units must then be forgotten before columns are added.
  bool partial() const { return partial_; }
  size_t cells() const { return used_; }
  uint32_t units() const { return learnt_; }
  uint32_t n_columns() const { return n_columns_; }  // the columns of all n-grams are lower
  const WordTable& grams() const { return grams_; }

  // Move the n-gram of column j to column place[j]; all columns are below n_columns.
  void move(const int32_t* place, uint32_t n_columns) {
    for (uint32_t& column : columns_) column = static_cast<uint32_t>(place[column]);
    for (size_t i = 0; i < used_; ++i) cells_[i] = static_cast<uint32_t>(place[cells_[i]]);
    n_columns_ = n_columns;
  }

  void forget() {
    Array<size_t> none(1);  // the last that may fail
    ends_.swap(none);
    cells_ = Array<uint32_t>();
    used_ = 0;
    learnt_ = 0;
    partial_ = false;
  }

  // Count the n-grams of a document.
  void count(const RowsView& units, size_t row, size_t n_columns, RowCounter& counter) const {
    size_t most = 0;
    for (int64_t k = units.ends[row]; k < units.ends[row + 1]; ++k) {
      const auto unit = static_cast<size_t>(units.ids[k]);
      __builtin_prefetch(cells_.data() + ends_[unit]);
      most += ends_[unit + 1] - ends_[unit];
    }
    counter.make_room(n_columns, std::min(most, n_columns));
    for (int64_t k = units.ends[row]; k < units.ends[row + 1]; ++k) {
      const auto unit = static_cast<size_t>(units.ids[k]);
      counter.add(cells_.data() + ends_[unit], ends_[unit + 1] - ends_[unit], static_cast<uint32_t>(units.counts[k]));
    }
  }

 private:
  // Append the columns of a unit's n-grams to cells_, the short ones first.
  uint32_t cut(Bytes unit, bool grow, uint32_t next) {
    padded_.make_room(unit.size + 2 + 16);  // keys are read 16 bytes at a time
    padded_[0] = border_;
    std::memcpy(padded_.data() + 1, unit.data, unit.size);
    padded_[unit.size + 1] = border_;
    starts_.make_room(unit.size + 3);
    size_t length = 0;
    for (size_t i = 0; i < unit.size + 2; ++i) {
      starts_[length] = i;
      length += (padded_[i] & 0xC0) != 0x80;
    }
    starts_[length] = unit.size + 2;
    Token batch[kBatch];
    unsigned waiting = 0;
    const auto take = [&] {
      cells_.make_room(used_ + waiting);
      columns_.reserve(columns_.size() + waiting <= columns_.capacity() ? 0 : 2 * columns_.size() + waiting);
      for (unsigned i = 0; i < waiting; ++i) {
        const uint32_t gram = grow ? grams_.insert(batch[i]) : grams_.find(batch[i]);
        if (gram == columns_.size()) columns_.push_back(next++);  // new
        if (gram != kNone) cells_[used_++] = columns_[gram];
      }
      waiting = 0;
    };
    for (size_t n = std::min<size_t>(shortest_, length); n <= std::min<size_t>(longest_, length); ++n)
      for (size_t at = 0; at + n <= length; ++at) {
        batch[waiting] = token_in(padded_.data() + starts_[at], static_cast<uint32_t>(starts_[at + n] - starts_[at]));
        grams_.ahead().fetch(batch[waiting].hash);
        if (++waiting == kBatch) take();
      }
    take();
    if (next > 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct terms");
    return next;
  }

  unsigned shortest_, longest_;
  uint8_t border_;
  WordTable grams_;
  std::vector<uint32_t> columns_;  // column of each n-gram
  Array<uint32_t> cells_;          // concatenated columns of the n-grams of all units
  Array<size_t> ends_;             // end of each unit in cells_, starting with a 0
  size_t used_ = 0;
  uint32_t learnt_ = 0, n_columns_ = 0;
  bool partial_ = false;
  Array<uint8_t> padded_;
  Array<size_t> starts_;
};

// Documents by their word terms, their character n-grams, or both.
struct MixedRows {
  const CharGrams* grams;  // null if there are only word terms
  RowsView units;
  WordRows words;
  size_t n_columns;

  size_t rows() const { return words.view.rows; }
  size_t cells() const { return static_cast<size_t>(units.ends[rows()] + words.view.ends[rows()]); }

  void count(size_t row, RowCounter& counter) const {
    const size_t n = words.view.size(row);
    counter.make_room(n_columns, n);
    for (int64_t k = words.view.ends[row]; k < words.view.ends[row + 1]; ++k) {
      const auto column = static_cast<uint32_t>(words.columns[words.view.ids[k]]);
      counter.add(&column, 1, static_cast<uint32_t>(words.view.counts[k]));
    }
    if (grams) grams->count(units, row, n_columns, counter);
  }

  // Call each(shard, row) for all rows on several threads; the first thread checks for Ctrl-C.
  template <class Each>
  void each_row(unsigned shards, const std::function<void()>& listen, Each&& each) const {
    Stop stop;
    run_sharded(shards, stop, [&](unsigned s) {
      size_t heard = 0;
      for (size_t row = bound(shards, s); row < bound(shards, s + 1) && !stop.now.load(std::memory_order_relaxed);
           ++row) {
        each(s, row);
        heard += 1 + units.size(row) + words.view.size(row);
        if (s == 0 && heard >= kCells) {
          listen();
          heard = 0;
        }
      }
    });
  }

  unsigned shards(unsigned threads) const {
    return static_cast<unsigned>(std::min<size_t>(std::max(threads, 1u), 1 + cells() / kWorth));
  }
  // The first row of a shard; shards have about equally many cells.
  size_t bound(unsigned shards, unsigned s) const {
    const int64_t *ends = grams ? units.ends : words.view.ends, *stop = ends + rows();
    if (s == 0) return 0;
    if (s == shards) return rows();
    return static_cast<size_t>(std::lower_bound(ends, stop, *stop * s / shards) - ends);
  }

  static constexpr size_t kWorth = size_t{1} << 14;  // cells for which another thread is started
  static constexpr size_t kCells = size_t{1} << 20;  // cells between two checks for Ctrl-C
};

// The rows over all columns; ids ascend in each row.
inline Counts join_rows(const MixedRows& documents, unsigned threads, const std::function<void()>& listen) {
  const unsigned n = documents.shards(threads);
  std::vector<Rows> parts(n);
  std::vector<RowCounter> counters(n);
  Counts joined;
  joined.ends = Array<int64_t>(documents.rows() + 1);
  documents.each_row(n, listen, [&](unsigned s, size_t row) {
    documents.count(row, counters[s]);
    Rows& rows = parts[s];
    const size_t size = counters[s].size();
    rows.make_room(size);
    counters[s].write_sorted(rows.ids.data() + rows.used, rows.counts.data() + rows.used);
    rows.used += size;
    joined.ends[row + 1] = static_cast<int64_t>(size);
  });
  for (size_t row = 0; row < documents.rows(); ++row) joined.ends[row + 1] += joined.ends[row];
  joined.rows = std::move(parts[0]);
  size_t used = joined.rows.used;
  joined.rows.resize(static_cast<size_t>(joined.ends[documents.rows()]));
  for (unsigned s = 1; s < n; ++s) {
    std::copy(parts[s].ids.data(), parts[s].ids.data() + parts[s].used, joined.rows.ids.data() + used);
    std::copy(parts[s].counts.data(), parts[s].counts.data() + parts[s].used, joined.rows.counts.data() + used);
    used += parts[s].used;
    parts[s] = Rows();
  }
  return joined;
}

}  // namespace unnaive
