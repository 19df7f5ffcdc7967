// Whether loops that are compiled a second time for AVX2 are there, and whether this processor runs them.
//
// A module includes its loops in a namespace for any processor and again, where UNNAIVE_AVX2 is defined, in one that is
// compiled for AVX2; elsewhere the second name stands for the first. AVX2 alone has no fused multiply-add, so that
// results do not depend on the processor.
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
