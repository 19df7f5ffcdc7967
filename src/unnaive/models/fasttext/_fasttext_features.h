// A text as UTF-8 → the rows of fastText's input matrix; features.py is the specification.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace unnaive {

constexpr uint32_t kHashStart = 2166136261u;
constexpr uint32_t kHashFactor = 16777619u;
constexpr int32_t kUnknown = -1;
constexpr int32_t kLabel = -2;  // in the table of words: left out of texts

// FNV-1a; bytes are sign-extended, as the char of fastText's compiler was signed.
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

// Remainders by a divisor that is known only at run time, without a division.
struct Modulo {
  uint64_t divisor = 1, inverse32 = 0, inverse64 = 0;

  Modulo() = default;
  explicit Modulo(uint32_t d) : divisor(d), inverse32(UINT64_MAX / d + 1), inverse64(UINT64_MAX / d) {}

  uint32_t operator()(uint32_t value) const {  // Lemire, Kaser and Kurz (2019)
    return static_cast<uint32_t>(static_cast<unsigned __int128>(inverse32 * value) * divisor >> 64);
  }
  uint32_t operator()(uint64_t value) const {
    uint64_t rest = value - static_cast<uint64_t>(static_cast<unsigned __int128>(inverse64) * value >> 64) * divisor;
    while (rest >= divisor) rest -= divisor;  // the estimate of the quotient is at most two too low
    return static_cast<uint32_t>(rest);
  }
};

// Words and labels by their bytes: open addressing, at most half full.
class WordTable {
 public:
  void reserve(size_t size) {
    size_t slots = 16;
    while (slots < 2 * size) slots *= 2;
    slots_.assign(slots, Slot{0, kUnknown, nullptr, 0});
  }
  void add(const uint8_t* word, size_t size, int32_t row) {
    uint32_t hash = kHashStart;
    for (size_t i = 0; i < size; ++i) hash = hash_byte(hash, word[i]);
    Slot& slot = slots_[place(hash, word, size)];
    slot = {hash, row, word, size};
  }
  int32_t find(uint32_t hash, const uint8_t* word, size_t size) const { return slots_[place(hash, word, size)].row; }
  void prefetch(uint32_t hash) const { __builtin_prefetch(&slots_[spread(hash)]); }

 private:
  struct Slot {
    uint32_t hash;
    int32_t row;
    const uint8_t* word;
    size_t size;
  };
  size_t spread(uint32_t hash) const { return (hash * 0x9E3779B97F4A7C15u >> 20) & (slots_.size() - 1); }
  size_t place(uint32_t hash, const uint8_t* word, size_t size) const {
    size_t at = spread(hash);
    for (;; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (!slot.word) return at;
      if (slot.hash == hash && slot.size == size && std::memcmp(slot.word, word, size) == 0) return at;
    }
  }
  std::vector<Slot> slots_;
};

// Hashed n-grams that pruning kept, by bucket.
class KeptTable {
 public:
  void fill(const int32_t* pairs, size_t size) {
    size_t slots = 16;
    while (slots < 2 * size) slots *= 2;
    slots_.assign(slots, Slot{-1, -1});
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
  std::vector<Slot> slots_;
  unsigned shift_ = 60;
};

struct Rule {
  size_t n_words = 0;
  int minn = 0, maxn = 0, word_ngrams = 1;
  bool pruned = false;
  bool whole_words = false;  // the row of a known word has its character n-grams in it
  Modulo modulo;
  WordTable words;
  KeptTable kept;

  // The rows of a text; `scratch` is for its words with borders, `hashes` for their n-grams. `known` counts those that
  // are not of the token at the end.
  void features(const uint8_t* text, size_t size, std::vector<int32_t>& rows, std::vector<int32_t>& hashes,
                std::vector<uint8_t>& scratch, size_t& known) const {
    rows.clear();
    hashes.clear();
    size_t at = 0;
    bool ended = false;
    while (!ended) {
      while (at < size && kSeparators.is[text[at]]) ++at;
      if (at == size) break;
      const size_t start = at;
      uint32_t hash = kHashStart;
      for (; at < size && !kSeparators.is[text[at]]; ++at) hash = hash_byte(hash, text[at]);
      ended = at - start == 4 && std::memcmp(text + start, "</s>", 4) == 0;
      if (!ended) token(text + start, at - start, hash, rows, hashes, scratch);
    }
    known = rows.size();
    end_token(rows, hashes);
    if (word_ngrams > 1) add_word_ngrams(rows, hashes);
  }

  void character_ngrams(const uint8_t* word, size_t size, std::vector<int32_t>& rows,
                        std::vector<uint8_t>& scratch) const {
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
        if (n >= minn && !(n == 1 && (i == 0 || j == length))) add(modulo(hash), rows);
      }
    }
  }

 private:
  void token(const uint8_t* word, size_t size, uint32_t hash, std::vector<int32_t>& rows, std::vector<int32_t>& hashes,
             std::vector<uint8_t>& scratch) const {
    const int32_t row = words.find(hash, word, size);
    if (row == kLabel) return;
    if (row == kUnknown && size >= 9 && std::memcmp(word, "__label__", 9) == 0) return;
    if (row >= 0) rows.push_back(row);
    if (maxn > 0 && (row < 0 || !whole_words)) character_ngrams(word, size, rows, scratch);
    if (word_ngrams > 1) hashes.push_back(static_cast<int32_t>(hash));
  }
  void end_token(std::vector<int32_t>& rows, std::vector<int32_t>& hashes) const {
    static const uint8_t end[] = {'<', '/', 's', '>'};
    uint32_t hash = kHashStart;
    for (const uint8_t byte : end) hash = hash_byte(hash, byte);
    const int32_t row = words.find(hash, end, sizeof end);
    if (row == kLabel) return;
    if (row >= 0) rows.push_back(row);
    if (word_ngrams > 1) hashes.push_back(static_cast<int32_t>(hash));
  }
  void add(uint32_t bucket, std::vector<int32_t>& rows) const {
    if (!pruned) {
      rows.push_back(static_cast<int32_t>(n_words + bucket));
      return;
    }
    const int32_t row = kept.find(bucket);
    if (row >= 0) rows.push_back(static_cast<int32_t>(n_words) + row);
  }
  void add_word_ngrams(std::vector<int32_t>& rows, const std::vector<int32_t>& hashes) const {
    const size_t most = static_cast<size_t>(word_ngrams);
    for (size_t i = 0; i < hashes.size(); ++i) {
      auto value = static_cast<uint64_t>(static_cast<int64_t>(hashes[i]));
      for (size_t j = i + 1; j < hashes.size() && j < i + most; ++j) {
        value = value * 116049371u + static_cast<uint64_t>(static_cast<int64_t>(hashes[j]));
        add(modulo(value), rows);
      }
    }
  }
};

}  // namespace unnaive
