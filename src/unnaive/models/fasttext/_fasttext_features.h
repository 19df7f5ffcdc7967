// A text as UTF-8 → the rows of fastText's input matrix; features.py is the specification.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "../../text/_kernel_memory.h"
#include "../../text/_kernel_text.h"

namespace unnaive {

constexpr uint32_t kHashStart = 2166136261u;
constexpr uint32_t kHashFactor = 16777619u;
constexpr int32_t kUnknown = -1;
constexpr int32_t kLabel = -2;  // in the word table: a label, which is left out of texts

// FNV-1a with sign-extended bytes, because char is signed in fastText's builds.
inline uint32_t hash_byte(uint32_t hash, uint8_t byte) {
  return (hash ^ static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)))) * kHashFactor;
}

inline bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

struct Separators {
  bool is[256] = {};
  Separators() {
    for (const uint8_t byte : {' ', '\n', '\r', '\t', '\v', '\f', '\0'}) is[byte] = true;
  }
};
inline const Separators kSeparators;

// Remainders for a divisor known at run time, without a division.
struct Modulo {
  uint64_t divisor = 1, inverse32 = 0, inverse64 = 0;

  Modulo() = default;
  explicit Modulo(uint32_t d) : divisor(d), inverse32(UINT64_MAX / d + 1), inverse64(UINT64_MAX / d) {}

  uint32_t operator()(uint32_t value) const {  // Lemire, Kaser and Kurz (2019)
    return static_cast<uint32_t>(static_cast<unsigned __int128>(inverse32 * value) * divisor >> 64);
  }
  uint32_t operator()(uint64_t value) const {
    uint64_t rest = value - static_cast<uint64_t>(static_cast<unsigned __int128>(inverse64) * value >> 64) * divisor;
    while (rest >= divisor) rest -= divisor;  // the estimated quotient is at most two too low
    return static_cast<uint32_t>(rest);
  }
};

// The key of a word in the word table: its bytes if there are at most 12, otherwise a marker, and the bytes are
// compared elsewhere.
struct Key {
  uint64_t low;
  uint32_t high;
};
constexpr uint32_t kLong = 0xFFFFFFFFu;  // value of `high` for words of more than 12 bytes
constexpr size_t kShortest = 12;

struct Token {
  const uint8_t* start;
  uint32_t size, hash, slot;  // `hash` is fastText's hash, if it is needed
  Key key;
};

inline uint32_t hash_bytes(const uint8_t* bytes, size_t size) {
  uint32_t hash = kHashStart;
  for (size_t i = 0; i < size; ++i) hash = hash_byte(hash, bytes[i]);
  return hash;
}

// The key of a word; 16 bytes are readable at `bytes`.
inline Key key_of(const uint8_t* bytes, size_t size) {
  if (size > kShortest) return {hash_bytes(bytes, size) | static_cast<uint64_t>(size) << 32, kLong};
  uint64_t low;
  uint32_t high;
  std::memcpy(&low, bytes, 8);
  std::memcpy(&high, bytes + 8, 4);
  if (size < 8) return {size ? low & (~uint64_t{0} >> (64 - 8 * size)) : 0, 0};
  return {low, size == 8 ? 0 : high & (~uint32_t{0} >> (96 - 8 * size))};
}

// Words and labels by their bytes, in an open-addressing table that is at most half full. Short words are compared
// inside the slot, padded with zero bytes, which no token contains.
class WordTable {
 public:
  void fill(const uint8_t* blob, const int64_t* starts, size_t size, size_t n_words) {
    blob_ = blob;
    starts_ = starts;
    size_t slots = 16;
    shift_ = 60;
    while (slots < 2 * size) slots *= 2, --shift_;
    slots_ = Array<Slot>::unset(slots);
    std::fill(slots_.data(), slots_.data() + slots, Slot{0, 0, kUnknown});
    n_words_ = static_cast<int32_t>(n_words);
    for (size_t i = 0; i < size; ++i) {
      const auto length = static_cast<size_t>(starts[i + 1] - starts[i]);
      uint8_t copy[16] = {};
      const uint8_t* word = blob + starts[i];
      if (length <= kShortest && length) std::memcpy(copy, word, length);
      const Key key = key_of(length <= kShortest ? copy : word, length);
      Slot& slot = slots_[find_slot(key, word, first_slot(key))];
      slot = {key.low, key.high, static_cast<int32_t>(i)};
    }
  }
  uint32_t first_slot(const Key& key) const {
    uint64_t mixed = (key.low ^ (key.high * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    mixed ^= mixed >> 32;
    return static_cast<uint32_t>(mixed * 0x9E3779B97F4A7C15u >> shift_);
  }
  void prefetch(uint32_t slot) const { __builtin_prefetch(&slots_[slot]); }
  // The row of a word, kUnknown or kLabel.
  int32_t find(const Key& key, const uint8_t* word, uint32_t slot) const {
    const int32_t entry = slots_[find_slot(key, word, slot)].entry;
    return entry >= n_words_ ? kLabel : entry;
  }

 private:
  struct Slot {
    uint64_t low;
    uint32_t high;
    int32_t entry;
  };
  size_t find_slot(const Key& key, const uint8_t* word, size_t at) const {
    for (;; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.entry == kUnknown) return at;
      if (slot.low == key.low && slot.high == key.high && (key.high != kLong || same(slot, word, key))) return at;
    }
  }
  bool same(const Slot& slot, const uint8_t* word, const Key& key) const {
    const int64_t start = starts_[slot.entry];
    const auto size = static_cast<size_t>(starts_[slot.entry + 1] - start);
    return size > kShortest && size == key.low >> 32 && std::memcmp(blob_ + start, word, size) == 0;
  }
  const uint8_t* blob_ = nullptr;
  const int64_t* starts_ = nullptr;
  Array<Slot> slots_;  // on huge pages if it is large
  int32_t n_words_ = 0;
  unsigned shift_ = 60;
};

// The hashed n-grams that pruning kept, by bucket.
class KeptTable {
 public:
  void fill(const int32_t* pairs, size_t size) {
    size_t slots = 16;
    while (slots < 2 * size) slots *= 2;
    slots_ = Array<Slot>::unset(slots);
    std::fill(slots_.data(), slots_.data() + slots, Slot{-1, -1});
    shift_ = 64;
    for (size_t n = slots; n > 1; n /= 2) --shift_;
    for (size_t i = 0; i < size; ++i) slots_[place(pairs[2 * i])] = {pairs[2 * i], pairs[2 * i + 1]};
  }
  int32_t find(uint32_t bucket) const { return slots_[place(static_cast<int32_t>(bucket))].row; }

 private:
  struct Slot {
    int32_t bucket, row;
  };
  size_t place(int32_t bucket) const {
    size_t at = static_cast<uint32_t>(bucket) * 0x9E3779B97F4A7C15u >> shift_;
    while (slots_[at].bucket != bucket && slots_[at].row >= 0) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  Array<Slot> slots_;  // on huge pages if it is large
  unsigned shift_ = 60;
};

constexpr size_t kTokens = 64;  // tokens that are cut before the first is looked up, so that prefetches complete

// The buffers for reading a text, reused for the next.
struct Reading {
  std::vector<int32_t> rows, hashes;
  size_t asked = 0;  // rows up to this one are prefetched when they are found
  std::vector<uint8_t> word;
  Token tokens[kTokens];
};

struct Rule {
  size_t n_words = 0;
  int minn = 0, maxn = 0, word_ngrams = 1;
  const float *word_rows = nullptr, *rows = nullptr;  // rows of words, and all rows, with `width` numbers each
  size_t width = 0, soon = 0;  // soon: number of rows of a text that are prefetched when they are found
  bool pruned = false;
  bool whole_words = false;  // the row of a known word includes its character n-grams
  Modulo modulo;
  WordTable words;
  KeptTable kept;

  // Append the rows of a text to `space.rows`; return their number without that of the end-of-line token.
  size_t features(const uint8_t* text, size_t size, Reading& space) const {
    const size_t start = space.rows.size();
    space.asked = start + soon;
    space.hashes.clear();
    size_t at = 0;
    bool ended = false;
    while (!ended) {
      size_t n = 0;
      while (n < kTokens && !ended && next_token(text, size, at, space.tokens[n])) {
        const Token& token = space.tokens[n];
        ended = token.size == 4 && std::memcmp(token.start, "</s>", 4) == 0;
        if (!ended) words.prefetch(token.slot), ++n;
      }
      for (size_t i = 0; i < n; ++i) add_token(space.tokens[i], space);
      if (n < kTokens) break;
    }
    const size_t known = space.rows.size() - start;
    end_token(space);
    if (word_ngrams > 1) add_word_ngrams(space);
    return known;
  }

  const float* row_of(int32_t row) const {
    const auto place = static_cast<size_t>(row);
    return (place < n_words ? word_rows : rows) + place * width;
  }
  // Prefetch a row that will be needed soon.
  void ask_for(int32_t row) const {
    const float* place = row_of(row);
    for (size_t j = 0; j < width; j += 16) __builtin_prefetch(place + j);
    if (width % 16 != 1) __builtin_prefetch(place + width - 1);
  }

  void character_ngrams(const uint8_t* word, size_t size, Reading& space) const {
    std::vector<uint8_t>& scratch = space.word;
    scratch.resize(size + 2);
    scratch[0] = '<';
    std::memcpy(scratch.data() + 1, word, size);
    scratch[size + 1] = '>';
    const uint8_t* text = scratch.data();
    const size_t length = size + 2;
    for (size_t i = 0; i < length; ++i) {
      if (continues(text[i])) continue;
      uint32_t hash = kHashStart;
      size_t j = i;
      for (int n = 1; j < length && n <= maxn; ++n) {
        hash = hash_byte(hash, text[j++]);
        while (j < length && continues(text[j])) hash = hash_byte(hash, text[j++]);
        if (n >= minn && !(n == 1 && (i == 0 || j == length))) add(modulo(hash), space);
      }
    }
  }

 private:
  bool next_token(const uint8_t* text, size_t size, size_t& at, Token& token) const {
    while (at < size && kSeparators.is[text[at]]) ++at;
    if (at == size) return false;
    const size_t start = at;
    at = token_end(text, size, at);
    token.start = text + start;
    token.size = static_cast<uint32_t>(at - start);
    if (size - start >= 16 || token.size > kShortest) {
      token.key = key_of(token.start, token.size);
    } else {
      uint8_t copy[16] = {};
      std::memcpy(copy, token.start, token.size);
      token.key = key_of(copy, token.size);
    }
    if (word_ngrams > 1)
      token.hash = token.key.high == kLong ? static_cast<uint32_t>(token.key.low) : hash_bytes(token.start, token.size);
    token.slot = words.first_slot(token.key);
    return true;
  }
  // The position of the first separator from `at` on.
  static size_t token_end(const uint8_t* text, size_t size, size_t at) {
#ifdef UNNAIVE_SSE2
    const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), four = _mm_set1_epi8(4);
    for (; at + 16 <= size; at += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
      const __m128i above = _mm_sub_epi8(bytes, tab);  // \t, \n, \v, \f and \r become 0 to 4
      const __m128i found =
          _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, space), _mm_cmpeq_epi8(bytes, _mm_setzero_si128())),
                       _mm_cmpeq_epi8(_mm_min_epu8(above, four), above));
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found));
      if (mask) return at + static_cast<size_t>(__builtin_ctz(mask));
    }
#endif
    while (at < size && !kSeparators.is[text[at]]) ++at;
    return at;
  }
  void add_token(const Token& token, Reading& space) const {
    const int32_t row = words.find(token.key, token.start, token.slot);
    if (row == kLabel) return;
    if (row == kUnknown && token.size >= 9 && std::memcmp(token.start, "__label__", 9) == 0) return;
    if (row >= 0) push(row, space);
    if (maxn > 0 && (row < 0 || !whole_words)) character_ngrams(token.start, token.size, space);
    if (word_ngrams > 1) space.hashes.push_back(static_cast<int32_t>(token.hash));
  }
  void end_token(Reading& space) const {
    static const uint8_t end[16] = {'<', '/', 's', '>'};
    const Key key = key_of(end, 4);
    const int32_t row = words.find(key, end, words.first_slot(key));
    if (row == kLabel) return;
    if (row >= 0) push(row, space);
    if (word_ngrams > 1) space.hashes.push_back(static_cast<int32_t>(hash_bytes(end, 4)));
  }
  void push(int32_t row, Reading& space) const {
    if (space.rows.size() < space.asked) ask_for(row);
    space.rows.push_back(row);
  }
  void add(uint32_t bucket, Reading& space) const {
    const int32_t row = pruned ? kept.find(bucket) : static_cast<int32_t>(bucket);
    if (row >= 0) push(static_cast<int32_t>(n_words) + row, space);
  }
  void add_word_ngrams(Reading& space) const {
    const std::vector<int32_t>& hashes = space.hashes;
    const size_t most = static_cast<size_t>(word_ngrams);
    for (size_t i = 0; i < hashes.size(); ++i) {
      auto value = static_cast<uint64_t>(static_cast<int64_t>(hashes[i]));
      for (size_t j = i + 1; j < hashes.size() && j < i + most; ++j) {
        value = value * 116049371u + static_cast<uint64_t>(static_cast<int64_t>(hashes[j]));
        add(modulo(value), space);
      }
    }
  }
};

}  // namespace unnaive
