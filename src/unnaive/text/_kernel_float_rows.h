// Weights in float32, one row of all classes for each term: approximate scores, and a bound on their error.
#pragma once
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "_kernel_linear.h"
#include "_kernel_table.h"

namespace unnaive {

typedef float Four __attribute__((vector_size(16)));

// Add the rows of n terms to `sums`; the kGroups vectors stay in registers.
template <unsigned kGroups>
void add_rows(const Four* rows, size_t groups, const uint32_t* terms, unsigned n, Four* sums) {
  Four local[kGroups];
  for (unsigned g = 0; g < kGroups; ++g) local[g] = sums[g];
  for (unsigned i = 0; i < n; ++i) {
    const Four* row = rows + terms[i] * groups;
    for (unsigned g = 0; g < kGroups; ++g) local[g] += row[g];
  }
  for (unsigned g = 0; g < kGroups; ++g) sums[g] = local[g];
}

inline void add_any_rows(const Four* rows, size_t groups, const uint32_t* terms, unsigned n, Four* sums) {
  for (unsigned i = 0; i < n; ++i) {
    const Four* row = rows + terms[i] * groups;
    for (size_t g = 0; g < groups; ++g) sums[g] += row[g];
  }
}

using AddRows = void (*)(const Four*, size_t, const uint32_t*, unsigned, Four*);

inline AddRows add_rows_for(size_t groups) {
  static const AddRows table[] = {add_rows<1>, add_rows<2>, add_rows<3>, add_rows<4>,
                                  add_rows<5>, add_rows<6>, add_rows<7>, add_rows<8>};
  return groups >= 1 && groups <= 8 ? table[groups - 1] : add_any_rows;
}

// The class with the highest score, and a lower bound of its lead over every other class. The bound is negative or NaN
// if float32 cannot decide.
struct Lead {
  size_t best = 0;
  double least = -std::numeric_limits<double>::infinity();
};

// float32 sums of at most kBatch rows, and float64 totals of all earlier batches.
struct FloatSums {
  std::vector<Four> batch;
  std::vector<double> totals;
  size_t terms = 0;  // number of term occurrences that were added

  void start(size_t groups, size_t classes) {
    batch.assign(groups, Four{0, 0, 0, 0});
    totals.assign(classes, 0.0);
    terms = 0;
  }
  // Add the batch to the totals and clear it.
  void add_up() {
    const auto* sums = reinterpret_cast<const float*>(batch.data());
    for (size_t c = 0; c < totals.size(); ++c) totals[c] += static_cast<double>(sums[c]);
    std::fill(batch.begin(), batch.end(), Four{0, 0, 0, 0});
  }
};

class FloatRows {
 public:
  FloatRows() = default;

  // Weights in the engine's order of terms, minus their mean over the classes, which changes no lead.
  FloatRows(const Linear& linear, const std::vector<uint32_t>& columns)
      : linear_(&linear),
        groups_((linear.classes + 3) / 4),
        add_(add_rows_for(groups_)),
        rows_(Array<Four>::unset(linear.terms * groups_ + 1)) {
    const std::vector<double> base = centred_background();
    const auto [least, most] = std::minmax_element(base.begin(), base.begin() + static_cast<ptrdiff_t>(linear.classes));
    Largest background, bias;
    for (size_t c = 0; c < linear.classes; ++c) {
      background.add(linear.class_background[c]);
      bias.add(linear.bias[c]);
    }
    std::vector<uint32_t> place(columns.size());
    for (size_t t = 0; t < columns.size(); ++t) place[columns[t]] = static_cast<uint32_t>(t);
    const auto row_of = [&](size_t column) {
      return reinterpret_cast<float*>(rows_.data() + (place.empty() ? column : place[column]) * groups_);
    };
    const double* const __restrict background_of = base.data();
    const size_t width = base.size();
    Largest centred, whole;
    for (size_t column = 0; column < linear.terms; ++column) {
      if (column + kLead < linear.terms) {
        const float* later = row_of(column + kLead);
        for (size_t c = 0; c < std::min<size_t>(width, 64); c += 16) __builtin_prefetch(later + c, 1);
      }
      double sum = 0, weights = 0;
      linear.each_weight(column, [&](size_t, double weight) {
        sum += weight;
        weights += std::fabs(weight);
      });
      const double mean = sum / static_cast<double>(linear.classes);
      float* const __restrict row = row_of(column);
      for (size_t c = 0; c < width; ++c) row[c] = static_cast<float>(background_of[c] - mean);
      // the other classes are between those with the smallest and the largest background
      centred.add(*least - mean);
      centred.add(*most - mean);
      linear.each_weight(column, [&](size_t c, double weight) {
        const double value = background_of[c] - mean + weight;
        centred.add(value);
        row[c] = static_cast<float>(value);
      });
      whole.add(2 * (weights + std::fabs(linear.parts[column].background) + background.value()));
    }
    largest_ = std::max(kLeast, centred.value());
    largest_weight_ = std::max(kLeast, whole.value());
    largest_bias_ = bias.value();
  }

  void start(FloatSums& sums) const { sums.start(groups_, linear_->classes); }

  void fetch(uint32_t term) const {
    // computed as an integer: for a word that is not a term the address is invalid, and prefetching it does no harm
    const auto row = reinterpret_cast<uintptr_t>(rows_.data()) + term * groups_ * sizeof(Four);
    for (size_t g = 0; g < groups_ && g < 16; g += 4)
      __builtin_prefetch(reinterpret_cast<const void*>(row + g * sizeof(Four)));
  }

  // Add the rows of a batch of terms.
  void add(const uint32_t* terms, unsigned n, FloatSums& sums) const {
    add_(rows_.data(), groups_, terms, n, sums.batch.data());
    sums.add_up();
    sums.terms += n;
  }

  // Add the rows of terms, each multiplied by its count, or once if the model is binary. The error of a product by n is
  // within that of n additions.
  void add_cells(const int32_t* terms, const int32_t* counts, size_t cells, FloatSums& sums) const {
    for (size_t i = 0; i < cells; ++i) {
      const auto n = static_cast<size_t>(linear_->binary ? 1 : counts[i]);
      const Four* row = rows_.data() + static_cast<size_t>(terms[i]) * groups_;
      for (size_t g = 0; g < groups_; ++g) sums.batch[g] += static_cast<float>(n) * row[g];
      sums.terms += n;
      if (i % kBatch == kBatch - 1) sums.add_up();
    }
    sums.add_up();
  }

  Lead lead(const FloatSums& sums) const {
    double best = -std::numeric_limits<double>::infinity(), second = best;
    size_t found = 0;
    for (size_t c = 0; c < linear_->classes; ++c) {
      const double score = sums.totals[c] + linear_->bias[c];
      if (score > best) {
        second = best;
        best = score;
        found = c;
      } else if (score > second) {
        second = score;
      }
    }
    return {found, best - second - doubt(static_cast<double>(sums.terms))};
  }

 private:
  // The background of the classes minus its mean, and zeros up to a whole group.
  std::vector<double> centred_background() const {
    std::vector<double> centred(4 * groups_);
    const double* background = linear_->class_background;
    const double mean =
        std::accumulate(background, background + linear_->classes, 0.0) / static_cast<double>(linear_->classes);
    for (size_t c = 0; c < linear_->classes; ++c) centred[c] = background[c] - mean;
    return centred;
  }

  // The largest of absolute values. Infinite values, and values that might overflow in float32, make every lead
  // uncertain.
  class Largest {
   public:
    void add(double value) {
      const double size = std::fabs(value);
      most_ = most_ < size ? size : most_;
      odd_ |= !(size < kMost);
    }
    double value() const { return odd_ ? std::numeric_limits<double>::infinity() : most_; }

   private:
    double most_ = 0;
    bool odd_ = false;
  };

  // A bound of the error of a lead compared with float64 scores: twice the bound for one score, which has two parts.
  // float32, for centred weights of at most w: n·w·2⁻²⁴ for rounding the weights, n·w·b·2⁻²⁴ for adding b of them one
  // after another (Higham 2002, section 4.2), and two more such roundings for a count and its product.
  // float64, for weights whose parts have absolute values that sum to at most v: n·(n + 8)·v·2⁻⁵³ for adding the parts
  // of weights and the totals, as much again in the exact scores, and the bias.
  double doubt(double n) const {
    const double batch = std::min<double>(n, kBatch) + 4;
    return 2 * n * (batch * std::ldexp(largest_, -24) + (n + 4) * std::ldexp(largest_weight_, -51)) +
           std::ldexp(largest_bias_, -50);
  }

  static constexpr size_t kLead = 32;         // terms between a prefetch and its use
  static constexpr double kMost = 1e24;       // 2³² · 256 times this value is still finite in float32
  static constexpr double kLeast = 0x1p-120;  // its rounding bound exceeds values that underflow

  const Linear* linear_ = nullptr;
  size_t groups_ = 0;
  AddRows add_ = nullptr;
  Array<Four> rows_;
  double largest_ = kLeast, largest_weight_ = kLeast, largest_bias_ = 0;
};

}  // namespace unnaive
