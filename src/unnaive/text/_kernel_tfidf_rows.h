// The idf and the weights of each term in adjacent memory, for few classes: a term then costs one cache line instead of
// two.
#pragma once
#include "_kernel_rows.h"
#include "_weighted.h"

namespace unnaive {

// out += Σ_t z_t · weights[place_t] / length + bias with z_t = (1 + log n_t) · idf[place_t]; length is √Σ_t z_t² or Σ_t
// |z_t|
struct TfIdfPart {
  const int32_t* place;  // the row of weights of each column, −1 for none; null if column t has row t
  const double* idf;
  const float* singles;  // weights (n_rows, classes), or:
  const double* doubles;
  const double* bias;
  bool by_sum;  // the length is Σ_t |z_t|

  double weight(size_t i) const { return singles ? static_cast<double>(singles[i]) : doubles[i]; }
};

class TfIdfRows {
 public:
  static constexpr size_t kMostClasses = 3;  // with more classes, weights fill a vector
  static bool possible(const TfIdfPart& part, size_t classes) {
    return !part.place && classes > 1 && classes <= kMostClasses;
  }

  TfIdfRows(const TfIdfPart& part, size_t classes, size_t columns)
      : by_sum_(part.by_sum), mirrored_(is_mirrored(part, classes, columns)), width_(mirrored_ ? 1 : classes) {
    rows_ = Array<double>::unset(columns * stride());
    for (size_t t = 0; t < columns; ++t) {
      double* row = rows_.data() + t * stride();
      row[0] = part.idf[t];
      for (size_t c = 0; c < width_; ++c) row[1 + c] = part.weight(t * classes + c);
    }
  }

  void fetch(size_t term) const { __builtin_prefetch(rows_.data() + term * stride()); }

  // Add the scores of a row of counts to `out`; every sum adds its terms in the order of the row.
  void add(const Rows& row, size_t size, const LogCounts& log_count, double* out) const {
    if (width_ == 1) {
      const double score = sums_of<1>(row, size, log_count).score[0];
      out[0] += score;
      out[1] -= score;
    } else if (width_ == 2) {
      add_all(sums_of<2>(row, size, log_count), out);
    } else {
      add_all(sums_of<3>(row, size, log_count), out);
    }
  }

 private:
  template <size_t K>
  struct Sums {
    double score[K];
  };

  // Whether the weights of the second of two classes are the negated weights of the first, as in a model that separates
  // two classes by one hyperplane. The sums are then negated as well.
  static bool is_mirrored(const TfIdfPart& part, size_t classes, size_t columns) {
    bool mirrored = classes == 2;
    for (size_t t = 0; mirrored && t < columns; ++t) mirrored = part.weight(2 * t) == -part.weight(2 * t + 1);
    return mirrored;
  }

  size_t stride() const { return width_ == 1 ? 2 : 4; }

  template <size_t K>
  Sums<K> sums_of(const Rows& row, size_t size, const LogCounts& log_count) const {
    constexpr size_t kStride = K == 1 ? 2 : 4;
    const double* rows = rows_.data();
    const int32_t *ids = row.ids.data(), *counts = row.counts.data();
    double squares = 0.0, total = 0.0, sums[K] = {};
    for (size_t k = 0; k < size; ++k) {
      const double* own = rows + static_cast<size_t>(ids[k]) * kStride;
      const double z = log_count(counts[k]) * own[0];
      squares += z * z;
      total += std::fabs(z);
      for (size_t c = 0; c < K; ++c) sums[c] += z * own[1 + c];
    }
    const double length = by_sum_ ? total : std::sqrt(squares);
    Sums<K> found{};
    for (size_t c = 0; squares > 0 && c < K; ++c) found.score[c] = sums[c] / length;
    return found;
  }

  template <size_t K>
  static void add_all(const Sums<K>& sums, double* out) {
    for (size_t c = 0; c < K; ++c) out[c] += sums.score[c];
  }

  bool by_sum_, mirrored_;
  size_t width_;        // number of weights that are stored for each term
  Array<double> rows_;  // idf and weights of each term
};

}  // namespace unnaive
