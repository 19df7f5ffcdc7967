// Documents → scores of linear models over tf-idf, each with its own columns, without a matrix in between: sublinear
// counts, idf and length are applied to a document as it is read.
#pragma once
#include "../base/_avx2.h"
#include "_kernel_chars.h"
#include "_weighted.h"

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

// out += Σ_t z_t · weights[place_t] / length + bias with z_t = (1 + log n_t) · idf[place_t]; length is √Σ_t z_t² or Σ_t
// |z_t|
struct TfIdfPart {
  const int32_t* place;  // the row of weights of every column, −1 for none; null: every column is its own
  const double* idf;
  const float* singles;  // weights (n_rows, classes), or:
  const double* doubles;
  const double* bias;
  bool by_sum;  // the length is Σ_t |z_t|
};

class TfIdfScorer {
 public:
  TfIdfScorer(std::vector<TfIdfPart> parts, const double* bias, size_t classes, size_t columns)
      : parts_(std::move(parts)), bias_(bias), classes_(classes), columns_(columns) {}

  size_t classes() const { return classes_; }
  size_t columns() const { return columns_; }

  void scores(const MixedRows& documents, unsigned threads, const std::function<void()>& listen, double* out) const {
    const unsigned n = documents.shards(threads);
    std::vector<Space> spaces(n);
    for (Space& space : spaces) space.sums.resize(classes_);
    documents.each_row(n, listen, [&](unsigned s, size_t row) {
      Space& space = spaces[s];
      space.row.used = 0;
      size_t size = 0;
      if (!copy_ascending(documents, row, space.row, size)) {
        documents.count(row, space.counter);
        size = space.counter.size();
        space.row.make_room(size);
        space.counter.write_sorted(space.row.ids.data(), space.row.counts.data());
      }
      score(space, size, out + row * classes_);
    });
  }

 private:
  struct Space {
    RowCounter counter;
    Rows row;
    std::vector<Weighted> cells;
    std::vector<double> sums;
  };

  // The row as it is, if it has words alone and their columns ascend; else false.
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

  // The same of K classes, too few to fill a vector, in one pass: every sum adds up in the order of the terms as well.
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

  void score(Space& space, size_t size, double* out) const {
    std::copy(bias_, bias_ + classes_, out);
    for (const TfIdfPart& part : parts_) {
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
    const auto size = static_cast<int64_t>(space.cells.size()), width = static_cast<int64_t>(classes_);
    if (has_avx2())
      return wide_sums::add_rows(space.cells.data(), size, length, weights, space.sums.data(), out, width);
    plain_sums::add_rows(space.cells.data(), size, length, weights, space.sums.data(), out, width);
  }

  static constexpr size_t kFurther = 16;  // entries between a prefetch and its use, where little is done with each

  std::vector<TfIdfPart> parts_;
  const double* bias_;
  size_t classes_, columns_;
  LogCounts log_count_;
};

}  // namespace unnaive
