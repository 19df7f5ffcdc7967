// Choose the loops of _fasttext_loops.h for this processor; results are the same on every processor.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../../base/_avx2.h"

namespace unnaive {

typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
typedef double Doubles __attribute__((vector_size(32)));
typedef int64_t Whole __attribute__((vector_size(32)));
typedef uint64_t Bits __attribute__((vector_size(32)));

constexpr size_t kLabels = 16;  // labels whose outputs are summed in parallel
constexpr size_t kTexts = 6;    // texts that are scored together

#define UNNAIVE_EIGHT                                                                    \
  inline Eight load(const float* from) { return *reinterpret_cast<const Eight*>(from); } \
  inline void store(float* to, const Eight& value) { *reinterpret_cast<Eight*>(to) = value; }

namespace plain {
UNNAIVE_EIGHT
#include "_fasttext_loops.h"
}  // namespace plain

#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
UNNAIVE_EIGHT
#include "_fasttext_loops.h"
}  // namespace wide
#pragma GCC pop_options
#else
namespace wide = plain;
#endif

inline void add_rows(float* sum, const float* const* rows, size_t n, size_t width) {
  has_avx2() ? wide::add_rows(sum, rows, n, width) : plain::add_rows(sum, rows, n, width);
}

inline void multiply(const float* output, const float* hidden, size_t width, size_t blocks, size_t n, float* out,
                     size_t stride) {
  has_avx2() ? wide::multiply(output, hidden, width, blocks, n, out, stride)
             : plain::multiply(output, hidden, width, blocks, n, out, stride);
}

inline float largest(const float* values, size_t n) {
  return has_avx2() ? wide::largest(values, n) : plain::largest(values, n);
}

// exp of every value by the C library's function for double, rounded to 32 bits
inline void double_exponentials(float* values, size_t n) {
  const auto exact = [](float x) { return static_cast<float>(std::exp(static_cast<double>(x))); };
  constexpr int64_t doubt = 16;
  has_avx2() ? wide::exponentials(values, n, doubt, exact) : plain::exponentials(values, n, doubt, exact);
}

// exp of every value by the C library's function for float; glibc's error is at most 0.502 units in the last place
inline void single_exponentials(float* values, size_t n) {
  const auto exact = [](float x) { return std::exp(x); };
#ifdef __GLIBC__
  constexpr int64_t doubt = 1 << 21;
  has_avx2() ? wide::exponentials(values, n, doubt, exact) : plain::exponentials(values, n, doubt, exact);
#else
  for (size_t i = 0; i < n; ++i) values[i] = exact(values[i]);
#endif
}

}  // namespace unnaive
