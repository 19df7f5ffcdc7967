// A cell of a table of sums by class: for a class and a term, the sum of counts and the number of documents.
#pragma once
#include <cstdint>

namespace unnaive {

// A cell holds the sum of counts in its upper half and the number of documents in its lower half: one addition updates
// both.
inline uint64_t cell_of(int32_t value) { return static_cast<uint64_t>(value) << 32 | 1; }
inline int64_t sum_of(uint64_t cell) { return static_cast<int64_t>(cell >> 32); }
inline int64_t df_of(uint64_t cell) { return static_cast<int64_t>(cell & 0xFFFFFFFFu); }

}  // namespace unnaive
