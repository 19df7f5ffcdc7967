// A 64-bit checksum of a block of bytes at the speed of memory; classifier/checksums.py is its specification.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../base/_avx2.h"
#include "../base/_little_endian.h"

namespace unnaive {

constexpr size_t kSumLanes = 1024;  // 64-bit words that are summed in parallel
constexpr size_t kSumRow = 8 * kSumLanes;
constexpr uint64_t kSumFactor = 0x9e3779b97f4a7c15u;  // odd, so that the multiplication is invertible

inline uint64_t rotate_left(uint64_t word, int by) { return word << by | word >> (64 - by); }

// Add one row of kSumRow bytes to the lanes.
inline __attribute__((always_inline)) void add_row_by(uint64_t* lanes, const uint8_t* row) {
  for (size_t i = 0; i < kSumLanes; ++i) lanes[i] = rotate_left((lanes[i] ^ load8(row + 8 * i)) * kSumFactor, 29);
}

inline void add_row_plain(uint64_t* lanes, const uint8_t* row) { add_row_by(lanes, row); }

using AddRow = void (*)(uint64_t*, const uint8_t*);

#ifdef UNNAIVE_AVX2
__attribute__((target("avx2"))) inline void add_row_avx2(uint64_t* lanes, const uint8_t* row) {
  add_row_by(lanes, row);
}

__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) inline void add_row_avx512(
    uint64_t* lanes, const uint8_t* row) {
  add_row_by(lanes, row);
}
#endif

// The fastest loop that this processor can run, or the portable one; all give the same result.
inline AddRow find_loop(bool wide) {
#ifdef UNNAIVE_AVX512
  if (wide && has_avx512()) return add_row_avx512;
#endif
#ifdef UNNAIVE_AVX2
  if (wide && has_avx2()) return add_row_avx2;
#endif
  static_cast<void>(wide);
  return add_row_plain;
}

// The checksum of `size` bytes. If `to` is given, the bytes are copied there in the same pass over memory. If `wide` is
// false, the portable loop is used.
inline uint64_t checksum_of(const uint8_t* data, size_t size, uint8_t* to, bool wide) {
  const AddRow add_row = find_loop(wide);
  uint64_t lanes[kSumLanes];
  for (size_t i = 0; i < kSumLanes; ++i) lanes[i] = (i + 1) * kSumFactor;
  const size_t whole = size - size % kSumRow;
  for (size_t at = 0; at < whole; at += kSumRow) {
    if (to) std::memcpy(to + at, data + at, kSumRow);  // copy first: it brings the row into the cache for the sum
    add_row(lanes, data + at);
  }
  if (whole < size) {
    uint8_t last[kSumRow] = {};
    std::memcpy(last, data + whole, size - whole);
    add_row(lanes, last);
    if (to) std::memcpy(to + whole, last, size - whole);
  }
  for (size_t half = kSumLanes / 2; half; half /= 2)
    for (size_t i = 0; i < half; ++i)
      lanes[i] = rotate_left((lanes[i] ^ rotate_left(lanes[i + half], 17)) * kSumFactor, 29);
  uint64_t sum = lanes[0] ^ size;
  sum = (sum ^ sum >> 32) * kSumFactor;
  sum = (sum ^ sum >> 29) * kSumFactor;
  return sum ^ sum >> 32;
}

}  // namespace unnaive
