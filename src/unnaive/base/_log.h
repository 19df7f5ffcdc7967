// The logarithm of one number, with the bits of _elementary.h, whatever the processor and the C library.
#pragma once
#include <cstdint>

namespace unnaive {
namespace scalar {
#include "_elementary.h"
}  // namespace scalar

inline double log_of(double x) {
  typedef double One __attribute__((vector_size(8)));
  return scalar::log_of(One{x})[0];
}

}  // namespace unnaive
