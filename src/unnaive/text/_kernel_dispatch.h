// Which loops this processor runs: those for any, or those for AVX-512, which give the same.
#pragma once
#include <atomic>
#include <cstring>

#include "_kernel_table.h"

namespace unnaive {

// What becomes of ASCII: whether letters are lowered, digits make words, and one character is a word.
struct Fold {
  bool lowercase, digits, single;
};

// Bits and flags by which ids are sorted.
struct SortSpace {
  uint64_t* bits;
  uint8_t *flags, *blocks;
  size_t n_blocks;
};

constexpr size_t kOver = 16;  // what loops may write behind the last id or edge

namespace plain {
#include "_kernel_plain.h"
// after what they are made of
#include "_kernel_loops.h"
}  // namespace plain

#if defined(UNNAIVE_SSE2) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
}  // namespace unnaive
#define UNNAIVE_WIDE 1
#include <immintrin.h>
#pragma GCC push_options
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of its own headers
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")
namespace unnaive {
namespace wide {
#include "_kernel_wide.h"
// after what they are made of
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
  decltype(&plain::sort_ids) sort_ids;
};

inline bool has_wide() {
#ifdef UNNAIVE_WIDE
  return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

inline constexpr Loops kPlainLoops{plain::list_edges, plain::set_tokens, plain::sort_ids};
#ifdef UNNAIVE_WIDE
inline constexpr Loops kWideLoops{wide::list_edges, wide::set_tokens, wide::sort_ids};
#endif

inline const Loops* loops_for(bool wide) {
#ifdef UNNAIVE_WIDE
  if (wide) return &kWideLoops;
#endif
  static_cast<void>(wide);
  return &kPlainLoops;
}

extern std::atomic<const Loops*> loops;  // chosen at import
inline const Loops& chosen_loops() { return *loops.load(std::memory_order_relaxed); }

}  // namespace unnaive
