// Eight bytes at a time: find the next of a few characters, and check that bytes are UTF-8 without NUL.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../base/_little_endian.h"
#include "../base/_utf8.h"

namespace unnaive {

constexpr uint64_t kEach = 0x0101010101010101u, kHigh = 0x8080808080808080u;

// Set the high bit of each zero byte; bytes above the first zero byte may be set wrongly.
inline uint64_t zeros(uint64_t word) { return (word - kEach) & ~word & kHigh; }

template <uint8_t... kWanted>
inline uint64_t any_of(uint64_t word) {
  return (zeros(word ^ (kEach * kWanted)) | ...);
}

// The position of the first wanted character from `p` on, or `end`.
template <uint8_t... kWanted>
inline const uint8_t* find(const uint8_t* p, const uint8_t* end) {
  for (; end - p >= 8; p += 8)
    if (const uint64_t hit = any_of<kWanted...>(load8(p))) return p + (__builtin_ctzll(hit) >> 3);
  while (p != end && !((*p == kWanted) || ...)) ++p;
  return p;
}

// Whether the bytes are UTF-8 without NULs.
inline bool is_plain_text(const uint8_t* p, const uint8_t* end) {
  while (p != end) {
    if (end - p >= 8) {
      const uint64_t word = load8(p);
      if (!((word & kHigh) | zeros(word))) {
        p += 8;
        continue;
      }
    }
    const size_t length = *p >= 0x80 ? sequence_length(p, end) : *p != 0;
    if (!length) return false;
    p += length;
  }
  return true;
}

}  // namespace unnaive
