// A word with its key and hash. The key of a word of at most 12 bytes, which nearly all words have, is the word itself.
#pragma once
#include <array>

#include "../base/_seeded_hash.h"
#include "_kernel_text.h"

namespace unnaive {

constexpr unsigned kBatch = 256;  // words between prefetching their slots and reading them
constexpr uint32_t kInline = 12;  // maximum number of bytes of a key

// Words contain no NUL, so padding with zeros is unambiguous. The key kLong of a long word is in no slot; its bytes are
// compared instead.
struct Token {
  uint64_t low;   // the first 8 bytes, zero-padded, or kLong
  uint32_t high;  // the next 4
  uint32_t length;
  uint64_t hash;
  const uint8_t* text;

  bool is_long() const { return low == kLong; }
  static constexpr uint64_t kLong = 2;
};

// Masks for the bytes of a key of each length: its low 8 and high 4 bytes.
struct KeyMasks {
  std::array<uint64_t, kInline + 1> low{};
  std::array<uint32_t, kInline + 1> high{};
  constexpr KeyMasks() {
    for (unsigned n = 1; n <= kInline; ++n) {
      low[n] = n < 8 ? low[n - 1] << 8 | 0xFF : ~0ull;
      high[n] = n > 8 ? high[n - 1] << 8 | 0xFF : 0;
    }
  }
};
constexpr KeyMasks key_masks;

inline void set_long_token(const uint8_t* text, uint32_t length, Token& token) {
  token.low = Token::kLong;
  token.high = 0;
  token.length = length;
  token.hash = hash_of_bytes(text, length);
  token.text = text;
}

// Make the token of a folded word; 12 bytes from its start are readable. It is written field by field, because copying
// a freshly written struct stalls the processor.
__attribute__((always_inline)) inline void set_token(const uint8_t* text, uint32_t length, Token& token) {
  if (__builtin_expect(length > kInline, 0)) return set_long_token(text, length, token);
  const uint64_t low = load8(text) & key_masks.low[length];
  const uint32_t high = load4(text + 8) & key_masks.high[length];
  token.low = low;
  token.high = high;
  token.length = length;
  token.hash = hash_of_key(low, high);
  token.text = text;
}

inline bool has_zero_byte(uint64_t bytes) { return (bytes - 0x0101010101010101ull) & ~bytes & 0x8080808080808080ull; }

// The token of arbitrary bytes, of which 12 are readable; bytes that no word can have are treated as a long word.
inline Token token_in(const uint8_t* text, uint32_t length) {
  Token token;
  if (length == 0 || text[0] <= Token::kLong) {
    set_long_token(text, length, token);
    return token;
  }
  set_token(text, length, token);
  if (token.is_long()) return token;
  const uint64_t low = token.low | ~key_masks.low[length], high = token.high | ~uint64_t{key_masks.high[length]};
  if (has_zero_byte(low) || has_zero_byte(high)) set_long_token(text, length, token);
  return token;
}

// The token of arbitrary bytes, such as a term of a vocabulary.
inline Token token_of(Bytes word) {
  const auto length = static_cast<uint32_t>(word.size);
  uint8_t padded[kInline] = {};
  if (length && length <= kInline) std::memcpy(padded, word.data, length);
  Token token = token_in(length > kInline ? word.data : padded, length);
  token.text = word.data;
  return token;
}

// The number of characters of a token: its bytes without continuation bytes.
inline uint32_t characters(const Token& token) {
  constexpr uint64_t tops = 0x8080808080808080ull;
  if (token.is_long())
    return static_cast<uint32_t>(
        std::count_if(token.text, token.text + token.length, [](uint8_t c) { return (c & 0xC0) != 0x80; }));
  const uint64_t low = token.low & ~(token.low << 1) & tops, high = token.high & ~(uint64_t{token.high} << 1) & tops;
  return token.length - static_cast<uint32_t>(__builtin_popcountll(low) + __builtin_popcountll(high));
}

}  // namespace unnaive
