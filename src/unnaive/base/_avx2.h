// Whether a second copy of the loops is compiled for AVX2, and whether this processor can run it.
//
// A module includes its loops twice, each time in its own namespace: once for any processor, and once for AVX2 if
// UNNAIVE_AVX2 is defined. Otherwise the second namespace is an alias of the first. AVX2 without FMA has no fused
// multiply-add, so results do not depend on the processor. A third copy, for the 512-bit registers of AVX-512, is
// compiled if UNNAIVE_AVX512 is defined; it must add in the same order as the others.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define UNNAIVE_AVX2 1
#if __GNUC__ >= 12  // __builtin_shufflevector
#define UNNAIVE_AVX512 1
#endif
#endif

inline bool has_avx2() {
#ifdef UNNAIVE_AVX2
  static const bool found = __builtin_cpu_supports("avx2");
  return found;
#else
  return false;
#endif
}

inline bool has_avx512() {
#ifdef UNNAIVE_AVX512
  static const bool found = has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl");
  return found;
#else
  return false;
#endif
}
