// Positions of the set bits of a mask, without a branch for each, and masks of the set bytes of flags.
#pragma once
#include <cstdint>
#include <cstring>

#include "_kernel_text.h"

namespace unnaive {

// Writes base + i for every bit i of the mask and gives where the next goes. kGroup positions are written at a time,
// wanted or not: there is room for so many more.
template <unsigned kGroup>
inline uint32_t* flatten(uint64_t mask, uint32_t base, uint32_t* out) {
  uint32_t* const end = out + __builtin_popcountll(mask);
  do {
    for (unsigned i = 0; i < kGroup; ++i) {
      // a mask that has run out gives some position: ctz of 0 would be undefined
      out[i] = base + static_cast<uint32_t>(__builtin_ctzll(mask | 1ull << 63));
      mask &= mask - 1;
    }
    out += kGroup;
  } while (out < end);
  return end;
}

// The mask of 64 flags, each 0 or 0xFF, which are cleared.
inline uint64_t take_flags(uint8_t* flags) {
  uint64_t mask = 0;
#ifdef UNNAIVE_SSE2
  auto* at = reinterpret_cast<__m128i*>(flags);
  for (unsigned part = 0; part < 4; ++part)
    mask |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_loadu_si128(at + part))) << 16 * part;
#else
  for (unsigned i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(flags[i] & 1) << i;
#endif
  if (mask) std::memset(flags, 0, 64);
  return mask;
}

}  // namespace unnaive
