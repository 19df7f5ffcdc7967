// Hashes of words whose seed is random for each process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "_little_endian.h"

namespace unnaive {

// random for each process: results do not depend on the hash, and nobody can construct inputs whose words collide
extern uint64_t hash_seed;

inline uint64_t mixed(uint64_t a, uint64_t b) {
#if defined(UNNAIVE_WEAK_HASH)  // in the sanitized build: words collide often and must still be distinguished
  return (a * b) & 0xFC00000000000000ull;
#elif defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  a = (a ^ a >> 32) * 0xD6E8FEB86659FD93ull + b;
  a = (a ^ a >> 32) * 0x9E3779B97F4A7C15ull;
  return a ^ a >> 32;
#endif
}

// The multiplier is constant, because its bits must be well distributed.
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;

inline uint64_t hash_of_key(uint64_t low, uint64_t high) { return mixed(low ^ hash_seed, high ^ kMultiplier); }

// The hash of a word that is too long to be its own key.
inline uint64_t hash_of_bytes(const uint8_t* text, size_t length) {
  uint64_t hash = length;
  size_t i = 0;
  for (; i + 8 <= length; i += 8) hash = hash_of_key(load8(text + i), hash);
  if (i == length) return hash;
  uint64_t rest = 0;
  std::memcpy(&rest, text + i, length - i);
  return hash_of_key(rest, hash);
}

inline uint64_t random_seed() {
  std::random_device random;
  return static_cast<uint64_t>(random()) << 32 | random();
}

}  // namespace unnaive
