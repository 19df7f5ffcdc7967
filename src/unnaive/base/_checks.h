// Checks of the bindings before a loop reads an array: a broken matrix raises ValueError and is never read out of
// bounds.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

inline void require(bool sound, const char* what) {
  if (!sound) throw nanobind::value_error(what);
}

// Require that row ends exist, are not negative, do not fall, and that the last is at most `entries`.
template <typename Index>
void check_starts(const Index* starts, size_t size, size_t entries, const char* what) {
  require(size > 0 && starts[0] >= 0, what);
  bool falls = false;
  for (size_t i = 1; i < size; ++i) falls |= starts[i] < starts[i - 1];
  require(!falls && static_cast<uint64_t>(starts[size - 1]) <= entries, what);
}

// Require 0 ≤ value < bound for every value.
template <typename Index>
void check_inside(const Index* values, size_t size, int64_t bound, const char* what) {
  using Bits = std::make_unsigned_t<Index>;
  constexpr int64_t most = std::numeric_limits<Index>::max();
  const auto last = static_cast<Bits>(bound - 1 < most ? bound - 1 : most);
  Bits signs = 0;  // its top bit is set if a value is negative or above the last
  for (size_t i = 0; i < size; ++i) signs |= static_cast<Bits>(values[i]) | (last - static_cast<Bits>(values[i]));
  require(static_cast<Index>(signs) >= 0, what);
}
