// Weighted cells of a document, and sublinear counts; for _weighted_rows.h.
#pragma once
#include <array>
#include <cstdint>

#include "../base/_log.h"

namespace unnaive {

constexpr int64_t kAhead = 8;  // entries between a prefetch and its use

// A weighted cell of a document: the row of weights of its term, and its value.
struct Weighted {
  int64_t row;
  double value;
};

// 1 + log n, from a table for small counts; n below 1, where it joins with the same slope; 0 for values not above 0.
class LogCounts {
 public:
  LogCounts() {
    for (size_t n = 1; n < table_.size(); ++n) table_[n] = 1.0 + log_of(static_cast<double>(n));
  }
  double operator()(int32_t n) const {
    const auto at = static_cast<uint32_t>(n);
    return at < table_.size() ? table_[at] : 1.0 + log_of(static_cast<double>(at));
  }
  double operator()(double n) const {
    if (!(n >= 1)) return n > 0 ? n : 0.0;
    const bool small = n < static_cast<double>(table_.size()) && n == static_cast<double>(static_cast<int>(n));
    return small ? table_[static_cast<size_t>(n)] : 1.0 + log_of(n);
  }

 private:
  std::array<double, 256> table_{};
};

}  // namespace unnaive
