// The choice of loops for this processor: portable ones, or those for AVX-512; both give the same results.
#pragma once
#include <atomic>
#include <cstring>

#include "_kernel_table.h"

namespace unnaive {

// How ASCII is folded: whether letters are lower-cased, digits belong to words, one character can be a word, and _ is
// in words.
struct Fold {
  bool lowercase, digits, single, underscore;
};

// Counts by id, and flags that mark groups of ids with a count.
struct CountSpace {
  uint8_t *counts, *flags, *blocks;
  size_t n_blocks;
};

constexpr size_t kOver = 16;  // elements that loops may write after the last id or edge

namespace plain {
#include "_kernel_plain.h"
// the loops use the functions above
#include "_kernel_loops.h"
}  // namespace plain

#if defined(UNNAIVE_SSE2) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
}  // namespace unnaive
#define UNNAIVE_WIDE 1
#include <immintrin.h>
#pragma GCC push_options
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // warnings in GCC's own headers
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")
namespace unnaive {
namespace wide {
#include "_kernel_wide.h"
// the loops use the functions above
#include "_kernel_loops.h"
}  // namespace wide
}  // namespace unnaive
#pragma GCC diagnostic pop
#pragma GCC pop_options
namespace unnaive {
#endif

struct Loops {
  decltype(&plain::list_edges) list_edges;
  decltype(&plain::set_tokens) set_tokens;
  decltype(&plain::take_counts) take_counts;
};

inline bool has_wide() {
#ifdef UNNAIVE_WIDE
  return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

inline constexpr Loops kPlainLoops{plain::list_edges, plain::set_tokens, plain::take_counts};
#ifdef UNNAIVE_WIDE
inline constexpr Loops kWideLoops{wide::list_edges, wide::set_tokens, wide::take_counts};
#endif

inline const Loops* loops_for(bool wide) {
#ifdef UNNAIVE_WIDE
  if (wide) return &kWideLoops;
#endif
  static_cast<void>(wide);
  return &kPlainLoops;
}

extern std::atomic<const Loops*> loops;  // chosen when the module is imported
inline const Loops& chosen_loops() { return *loops.load(std::memory_order_relaxed); }

}  // namespace unnaive
