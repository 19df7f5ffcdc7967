// Documents → scores of linear models over tf-idf, each with its own columns, without a matrix: sublinear counts, idf
// and length are applied while a document is read.
#pragma once
#include "../base/_avx2.h"
#include "_kernel_chars.h"
#include "_kernel_tfidf_rows.h"

namespace unnaive {

namespace plain_sums {
#include "_weighted_rows.h"
}  // namespace plain_sums

#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide_sums {
#include "_weighted_rows.h"
}  // namespace wide_sums
#pragma GCC pop_options
#else
namespace wide_sums = plain_sums;
#endif

class TfIdfScorer {
 public:
  TfIdfScorer(std::vector<TfIdfPart> parts, const double* bias, size_t classes, size_t columns)
      : parts_(std::move(parts)), bias_(bias), classes_(classes), columns_(columns) {}

  size_t classes() const { return classes_; }
  size_t columns() const { return columns_; }

  // The scores of texts, and the number of known term occurrences of each; the terms of the engine are the columns.
  void scores(Engine& engine, const Documents& documents, const Threads& threads, const std::function<void()>& listen,
              double* out, int64_t* known) {
    const size_t bytes = total_size(documents);
    const PairTerms* pairs = engine.fast_pairs(bytes);
    const bool fast = (read_ += bytes) >= columns_;  // building rows takes as long as scoring some texts
    if (fast) std::call_once(filled_, [&] { fill_rows(); });
    const TfIdfRows* rows = fast && !rows_.empty() ? rows_[0].get() : nullptr;
    const auto fetch = [&](uint32_t term) {
      if (rows) rows->fetch(term);
    };
    each_text<Space>(engine, documents, threads, listen, [&](size_t row, Space& space) {
      engine.count_into(documents.at(row), *space.scratch, pairs, fetch);
      const size_t size = take_row(space.scratch->row, space.row);
      known[row] = std::accumulate(space.row.counts.data(), space.row.counts.data() + size, int64_t{0});
      score(space, size, fast, out + row * classes_);
    });
  }

  // The scores of documents that have been counted already.
  void scores(const MixedRows& documents, unsigned threads, const std::function<void()>& listen, double* out) const {
    const unsigned n = documents.shards(threads);
    std::vector<Space> spaces(n);
    documents.each_row(n, listen, [&](unsigned s, size_t row) {
      Space& space = spaces[s];
      space.row.used = 0;
      size_t size = 0;
      if (!copy_ascending(documents, row, space.row, size)) {
        documents.count(row, space.counter);
        size = take_row(space.counter, space.row);
      }
      score(space, size, false, out + row * classes_);
    });
  }

 private:
  struct Space {
    std::unique_ptr<Scratch> scratch;  // for texts
    RowCounter counter;                // for documents that have been counted already
    Rows row;
    std::vector<Weighted> cells;
    std::vector<double> sums;
  };

  void fill_rows() {
    std::vector<std::unique_ptr<TfIdfRows>> rows;  // if memory runs out, the next call begins again
    for (const TfIdfPart& part : parts_) {
      const bool possible = TfIdfRows::possible(part, classes_);
      rows.push_back(possible ? std::make_unique<TfIdfRows>(part, classes_, columns_) : nullptr);
    }
    rows_ = std::move(rows);
  }

  // Move the counted row to `out`, columns ascending; return its size.
  static size_t take_row(RowCounter& counter, Rows& out) {
    const size_t size = counter.size();
    out.make_room(size);
    counter.write_sorted(out.ids.data(), out.counts.data());
    return size;
  }

  // Copy a row if it has only words and their columns ascend; otherwise return false.
  static bool copy_ascending(const MixedRows& documents, size_t row, Rows& out, size_t& size) {
    if (documents.grams) return false;
    const RowsView& view = documents.words.view;
    const int64_t first = view.ends[row];
    size = view.size(row);
    out.make_room(size);
    int32_t before = -1;
    bool ascend = true;
    for (size_t k = 0; k < size; ++k) {
      const int32_t column = documents.words.columns[view.ids[first + static_cast<int64_t>(k)]];
      ascend &= column > before;
      out.ids[k] = before = column;
      out.counts[k] = view.counts[first + static_cast<int64_t>(k)];
    }
    return ascend;
  }

  // Add the scores of K classes, fewer than a vector has, in one pass; every sum adds its terms in the order of the
  // columns.
  template <size_t K, class Weight>
  void add_few(const Rows& row, size_t size, const TfIdfPart& part, const Weight* weights, double* out) const {
    double squares = 0.0, total = 0.0, sums[K] = {};
    for (size_t k = 0; k < size; ++k) {
      if (!part.place && k + kFurther < size) {
        const int32_t later = row.ids[k + kFurther];
        __builtin_prefetch(part.idf + later);
        __builtin_prefetch(weights + static_cast<size_t>(later) * K);
      }
      const int32_t at = part.place ? part.place[row.ids[k]] : row.ids[k];
      if (at < 0) continue;
      const double z = log_count_(row.counts[k]) * part.idf[at];
      squares += z * z;
      total += std::fabs(z);
      for (size_t c = 0; c < K; ++c) sums[c] += z * static_cast<double>(weights[static_cast<size_t>(at) * K + c]);
    }
    const double length = part.by_sum ? total : std::sqrt(squares);
    for (size_t c = 0; squares > 0 && c < K; ++c) out[c] += sums[c] / length;
  }

  template <class Weight>
  bool add_few(const Rows& row, size_t size, const TfIdfPart& part, const Weight* weights, double* out) const {
    if (classes_ == 2) add_few<2>(row, size, part, weights, out);
    if (classes_ == 3) add_few<3>(row, size, part, weights, out);
    return classes_ == 2 || classes_ == 3;
  }

  // `fast` tells whether rows_ has been filled.
  void score(Space& space, size_t size, bool fast, double* out) const {
    std::copy(bias_, bias_ + classes_, out);
    for (size_t p = 0; p < parts_.size(); ++p) {
      const TfIdfPart& part = parts_[p];
      if (fast && rows_[p]) {
        rows_[p]->add(space.row, size, log_count_, out);
        for (size_t c = 0; c < classes_; ++c) out[c] += part.bias[c];
        continue;
      }
      if (part.singles ? add_few(space.row, size, part, part.singles, out)
                       : add_few(space.row, size, part, part.doubles, out)) {
        for (size_t c = 0; c < classes_; ++c) out[c] += part.bias[c];
        continue;
      }
      space.cells.clear();
      double squares = 0.0, total = 0.0;
      for (size_t k = 0; k < size; ++k) {
        if (!part.place && k + kAhead < size) __builtin_prefetch(part.idf + space.row.ids[k + kAhead]);
        const int32_t row = part.place ? part.place[space.row.ids[k]] : space.row.ids[k];
        if (row < 0) continue;
        const double z = log_count_(space.row.counts[k]) * part.idf[row];
        squares += z * z;
        total += std::fabs(z);
        space.cells.push_back({row, z});
      }
      const double length = part.by_sum ? total : std::sqrt(squares);
      if (squares > 0) part.singles ? add(space, length, part.singles, out) : add(space, length, part.doubles, out);
      for (size_t c = 0; c < classes_; ++c) out[c] += part.bias[c];
    }
  }

  template <class Weight>
  void add(Space& space, double length, const Weight* weights, double* out) const {
    space.sums.resize(classes_);
    const auto size = static_cast<int64_t>(space.cells.size()), width = static_cast<int64_t>(classes_);
    if (has_avx2())
      return wide_sums::add_rows(space.cells.data(), size, length, weights, space.sums.data(), out, width);
    plain_sums::add_rows(space.cells.data(), size, length, weights, space.sums.data(), out, width);
  }

  static constexpr size_t kFurther = 16;  // entries between a prefetch and its use

  std::vector<TfIdfPart> parts_;
  const double* bias_;
  size_t classes_, columns_;
  LogCounts log_count_;
  std::atomic<size_t> read_{0};  // bytes of text read so far
  std::once_flag filled_;
  std::vector<std::unique_ptr<TfIdfRows>> rows_;  // for each part, or null
};

}  // namespace unnaive
