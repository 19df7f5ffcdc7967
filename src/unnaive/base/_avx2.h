// Whether a second copy of the loops is compiled for AVX2, and whether this processor can run it.
//
// A module includes its loops twice, each time in its own namespace: once for any processor, and once for AVX2 if
// UNNAIVE_AVX2 is defined. Otherwise the second namespace is an alias of the first. AVX2 without FMA has no fused
// multiply-add, so results do not depend on the processor.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define UNNAIVE_AVX2 1
#endif

inline bool has_avx2() {
#ifdef UNNAIVE_AVX2
  static const bool found = __builtin_cpu_supports("avx2");
  return found;
#else
  return false;
#endif
}
