// Which bytes are UTF-8.
#pragma once
#include <cstddef>
#include <cstdint>

namespace unnaive {

// The length of the well-formed sequence of two bytes or more at `p`, 0 if there is none (Unicode, table 3-7).
inline size_t sequence_length(const uint8_t* p, const uint8_t* end) {
  const auto tail = [&](ptrdiff_t at, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return end - p > at && p[at] >= low && p[at] <= high;
  };
  const uint8_t first = p[0];
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef)
    return tail(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && tail(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return tail(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

}  // namespace unnaive
