// Sums of documents by class: for every class and term, the sum of counts and the number of documents with the term.
// These are whole numbers, so the order of additions does not matter and threads can share the classes.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../base/_checks.h"
#include "../base/_threads.h"
#include "../text/_class_cells.h"

template <typename Index>
struct CountRows {
  const Index* starts;
  const int32_t* columns;
  const int32_t* values;
  int64_t rows, terms;
};

// The documents of class c are documents[starts[c]] … documents[starts[c + 1]].
template <typename Index>
struct ClassDocuments {
  const Index* starts;
  const int32_t* documents;
  int64_t classes;
};

using unnaive::cell_of;
using unnaive::df_of;
using unnaive::sum_of;

template <typename Index>
void add_row(const CountRows<Index>& X, int64_t row, uint64_t* cells) {
  for (int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) cells[X.columns[k]] += cell_of(X.values[k]);
}

// What is known of the values that were added: no sum can overflow half a cell if all are above 0 and their total is
// below 2³².
struct Added {
  uint32_t signs = 0;  // its top bit is set if a value was not above 0
  uint64_t total = 0;

  bool fits() const { return signs >> 31 == 0 && total < uint64_t{1} << 32; }
  void add(const int32_t* values, size_t size) {
    uint32_t odd = 0, any = 0, sum = 0;
    for (size_t i = 0; i < size; ++i) {
      const auto value = static_cast<uint32_t>(values[i]);
      odd |= value | (value - 1);
      any |= value;
      sum += value;
    }
    signs |= odd;
    total += any < (uint64_t{1} << 32) / (size + 1) ? sum : uint64_t{any} * size;  // at most that much
  }
  void operator+=(const Added& other) {
    signs |= other.signs;
    total += other.total;
  }
};

// Add a row after checking its columns: while the row is in the cache, this takes no time.
template <typename Index>
void add_checked_row(const CountRows<Index>& X, int64_t row, uint64_t* cells, Added& added) {
  const auto from = static_cast<size_t>(X.starts[row]), to = static_cast<size_t>(X.starts[row + 1]);
  check_inside(X.columns + from, to - from, X.terms, "a column of the sparse matrix is no term");
  added.add(X.values + from, to - from);
  add_row(X, row, cells);
}

// Whether a class lists a document twice, or not in ascending order.
template <typename Index>
bool lists_twice(const ClassDocuments<Index>& labels) {
  bool twice = false;
  for (int64_t c = 0; c < labels.classes; ++c)
    for (auto d = labels.starts[c] + 1; d < labels.starts[c + 1]; ++d)
      twice |= labels.documents[d] <= labels.documents[d - 1];
  return twice;
}

// The nonzero cells of one class; terms ascend.
struct ClassSums {
  std::vector<int32_t> terms;
  std::vector<uint64_t> cells;
};

// Sums the cells of one class after another; most cells stay zero.
class ClassAdder {
 public:
  explicit ClassAdder(int64_t terms)
      : all_(static_cast<size_t>(terms) / kGroup * kGroup + kGroup), terms_(all_.size()), cells_(all_.size()) {}

  uint64_t* cells() { return all_.data(); }

  // Return the sums and clear them; term t becomes place[t] if there are places. Every cell of a group with a nonzero
  // cell is written, and kept only if it is not zero itself.
  ClassSums take(const int32_t* place) {
    size_t kept = 0;
    for (size_t from = 0; from < all_.size(); from += kGroup) {
      uint64_t* group = all_.data() + from;
      uint64_t some = 0;
      for (size_t i = 0; i < kGroup; ++i) some |= group[i];
      if (!some) continue;
      for (size_t i = 0; i < kGroup; ++i) {
        const uint64_t cell = group[i];
        terms_[kept] = static_cast<int32_t>(from + i);
        cells_[kept] = cell;
        kept += cell != 0;
        group[i] = 0;
      }
    }
    if (place) put_in_order(kept, place);
    const auto n = static_cast<ptrdiff_t>(kept);
    return {{terms_.begin(), terms_.begin() + n}, {cells_.begin(), cells_.begin() + n}};
  }

 private:
  static constexpr size_t kGroup = 8;

  // Move the kept cells to the places of their terms, and list them again in ascending order by a bit for every place.
  void put_in_order(size_t kept, const int32_t* place) {
    used_.assign(all_.size() / 64 + 1, 0);
    for (size_t i = 0; i < kept; ++i) {
      const auto at = static_cast<size_t>(place[terms_[i]]);
      used_[at / 64] |= uint64_t{1} << at % 64;
      all_[at] = cells_[i];
    }
    size_t i = 0;
    for (size_t group = 0; group < used_.size(); ++group)
      for (uint64_t bits = used_[group]; bits; bits &= bits - 1, ++i) {
        const size_t at = 64 * group + static_cast<size_t>(__builtin_ctzll(bits));
        terms_[i] = static_cast<int32_t>(at);
        cells_[i] = all_[at];
        all_[at] = 0;
      }
  }

  std::vector<uint64_t> all_;
  std::vector<int32_t> terms_;
  std::vector<uint64_t> cells_;
  std::vector<uint64_t> used_;
};

// Call work(next) on up to n threads including this one; next() numbers the jobs from 0.
template <typename Work>
void share_jobs(unsigned n, const Work& work) {
  std::atomic<int64_t> next{0};
  unnaive::on_threads(n, [&](unsigned) { work([&] { return next++; }); });
}

// The sums of every class; term t becomes place[t] if there are places. The largest classes come first, so that no
// thread starts one when the others have finished.
template <typename Index, typename ClassIndex>
std::vector<ClassSums> sums_by_class(const CountRows<Index>& X, const ClassDocuments<ClassIndex>& labels,
                                     const int32_t* place, unsigned threads, Added& added) {
  const auto n = static_cast<size_t>(labels.classes);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto documents = [&](size_t c) { return labels.starts[c + 1] - labels.starts[c]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return documents(a) > documents(b); });
  std::vector<ClassSums> sums(n);
  std::vector<Added> of_class(n);
  share_jobs(static_cast<unsigned>(std::min<size_t>(threads, n)), [&](const auto& next) {
    ClassAdder adder(X.terms);
    for (auto job = static_cast<size_t>(next()); job < n; job = static_cast<size_t>(next())) {
      const size_t c = order[job];
      for (auto d = labels.starts[c]; d < labels.starts[c + 1]; ++d)
        add_checked_row(X, labels.documents[d], adder.cells(), of_class[c]);
      sums[c] = adder.take(place);
    }
  });
  for (const Added& values : of_class) added += values;
  return sums;
}

// The sums over a corpus whose documents have one class each.
inline std::vector<uint64_t> sum_classes(const std::vector<ClassSums>& sums, int64_t terms) {
  std::vector<uint64_t> cells(static_cast<size_t>(terms));
  for (const ClassSums& one : sums)
    for (size_t i = 0; i < one.terms.size(); ++i) cells[static_cast<size_t>(one.terms[i])] += one.cells[i];
  return cells;
}

// The sums over the corpus. If every document has exactly one class, they are the sums over the classes, which have
// fewer cells than the documents. Term t becomes place[t] if there are places.
template <typename Index, typename ClassIndex>
std::vector<uint64_t> sums_of_corpus(const CountRows<Index>& X, const ClassDocuments<ClassIndex>& labels,
                                     const std::vector<ClassSums>& sums, const int32_t* place, Added& added) {
  std::vector<bool> labelled(static_cast<size_t>(X.rows));
  for (ClassIndex d = 0; d < labels.starts[labels.classes]; ++d)
    labelled[static_cast<size_t>(labels.documents[d])] = true;
  const auto apart = std::count(labelled.begin(), labelled.end(), true);
  if (apart == X.rows && apart == labels.starts[labels.classes]) return sum_classes(sums, X.terms);
  std::vector<uint64_t> cells(static_cast<size_t>(X.terms));
  for (int64_t row = 0; row < X.rows; ++row) add_checked_row(X, row, cells.data(), added);
  if (!place) return cells;
  std::vector<uint64_t> moved(cells.size());
  for (size_t t = 0; t < cells.size(); ++t) moved[static_cast<size_t>(place[t])] = cells[t];
  return moved;
}
