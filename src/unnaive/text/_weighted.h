// Cells of a document that have been weighted, and what sublinear counts are; for _weighted_rows.h.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

namespace unnaive {

constexpr int64_t kAhead = 8;  // entries between a prefetch and its use

// a cell of a document, weighted: the row of weights that its term has, and its value
struct Weighted {
  int64_t row;
  double value;
};

// 1 + log n, looked up for small counts; what is no count is 0.
class LogCounts {
 public:
  LogCounts() {
    for (size_t n = 1; n < table_.size(); ++n) table_[n] = 1.0 + std::log(static_cast<double>(n));
  }
  double operator()(double n) const {
    if (!(n > 0)) return 0.0;
    const bool small = n < static_cast<double>(table_.size()) && n == static_cast<double>(static_cast<int>(n));
    return small ? table_[static_cast<size_t>(n)] : 1.0 + std::log(n);
  }

 private:
  std::array<double, 256> table_{};
};

}  // namespace unnaive
