// Integers from bytes in little-endian order, on every machine.
#pragma once
#include <cstdint>
#include <cstring>

namespace unnaive {

inline uint64_t load8(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

inline uint32_t load4(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap32(word);
#endif
  return word;
}

}  // namespace unnaive
