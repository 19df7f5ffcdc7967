// (word, word) → term for a fixed vocabulary, in less than half the memory of a PairTable: a look-up reads one
// cache line, and more of a smaller table is in the cache.
#pragma once
#include "_kernel_table.h"

namespace unnaive {

// Word entries are below 2^w, so a pair is a key of 2w bits, which a bijection scrambles. The top bits of the result
// are the index of the cache line where the search begins. A slot stores only the other bits, and the distance in lines
// from there. Together they determine the key, so equality is exact.
class PairTerms {
 public:
  PairTerms() = default;

  // The pairs of words in `grams` that have a term. The table stays empty if it would be too large.
  PairTerms(const PairTable& grams, uint32_t n_words) {
    while (n_words >> word_bits_) ++word_bits_;  // n_words < 2^w: the last key is free for "no pair"
    unsigned bits = 0;
    while ((size_t{6} << bits) < grams.size()) ++bits;  // at most six slots of eight are used on average
    const unsigned most = bits + kMore;
    if (key_bits() > kRest + bits) bits = key_bits() - kRest;
    while (bits <= most && bits < key_bits() && !fill(grams, bits)) ++bits;
  }

  bool empty() const { return lines_.size() == 0; }

  // The scrambled key of a pair; if a word is kNone, a key that has no term.
  uint64_t key_of(uint32_t prefix, uint32_t word) const {
    const bool whole = (prefix != kNone) & (word != kNone);
    return scrambled(whole ? static_cast<uint64_t>(prefix) << word_bits_ | word : mask_);
  }

  void fetch(uint64_t key) const { __builtin_prefetch(lines_.data() + (key >> rest_bits_)); }

  // The term of a key; kNone if it has none.
  uint32_t term_of(uint64_t key) const {
    size_t i = key >> rest_bits_;
    uint32_t tag = tag_of(key);
    for (uint32_t distance = 0; distance <= farthest_; ++distance) {
      const Line& line = lines_[i];
      const unsigned equal = line.slots_with(tag);
      const uint32_t term = line.terms[__builtin_ctz(equal | 1u << (kSlots - 1))];
      if (__builtin_expect((equal != 0) | (line.tags[kSlots - 1] == 0), 1)) return equal ? term : kNone;
      i = (i + 1) & (lines_.size() - 1);
      tag += 1u << rest_bits_;
    }
    return kNone;
  }

 private:
  static constexpr unsigned kSlots = 8;  // slots of a line
  static constexpr unsigned kRest = 24;  // maximum number of bits of a key in a tag; the other 8 hold the distance
  static constexpr unsigned kMore = 2;   // the table may have up to 2^kMore times the lines that its pairs need

  struct Line {
    uint32_t tags[kSlots], terms[kSlots];  // the first slots are used; the tag of a free slot is 0

    // A bit for each slot with this tag.
    unsigned slots_with(uint32_t tag) const {
#if defined(UNNAIVE_SSE2)
      const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
      const auto equal = [&](const uint32_t* four) {
        const __m128i found = _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(four)), wanted);
        return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(found)));
      };
      return equal(tags) | equal(tags + 4) << 4;
#else
      unsigned equal = 0;
      for (unsigned i = 0; i < kSlots; ++i) equal |= static_cast<unsigned>(tags[i] == tag) << i;
      return equal;
#endif
    }
  };

  unsigned key_bits() const { return 2 * word_bits_; }
  uint32_t tag_of(uint64_t key) const { return static_cast<uint32_t>(key & ((uint64_t{1} << rest_bits_) - 1)) + 1; }

  // A bijection of the keys, because each step is invertible.
  uint64_t scrambled(uint64_t key) const {
#if !defined(UNNAIVE_WEAK_HASH)
    key = (key ^ hash_seed) * kMultiplier & mask_;
    key = (key ^ key >> word_bits_) * kMultiplier & mask_;
#endif
    return key;
  }

  // Insert all pairs into 2^bits lines. If a pair would be too far from its first line, return false with an empty
  // table.
  bool fill(const PairTable& grams, unsigned bits) {
    mask_ = (uint64_t{1} << key_bits()) - 1;
    rest_bits_ = key_bits() - bits;
    lines_ = Array<Line>(size_t{1} << bits);
    farthest_ = 0;
    bool fits = true;
    uint64_t keys[kBatch];
    uint32_t terms[kBatch];
    unsigned n = 0;
    const auto insert = [&] {
      for (unsigned k = 0; k < n && fits; ++k) fits = add(keys[k], terms[k]);
      n = 0;
    };
    grams.each_term([&](uint64_t pair, uint32_t term) {
      const auto prefix = static_cast<uint32_t>(pair >> 32), word = static_cast<uint32_t>(pair) - 1;
      if (prefix >> word_bits_) return;  // a longer n-gram of a given vocabulary, which no pair of words can be
      keys[n] = key_of(prefix, word);
      terms[n] = term;
      fetch(keys[n]);
      if (++n == kBatch) insert();
    });
    insert();
    if (!fits) lines_ = Array<Line>();
    return fits;
  }

  bool add(uint64_t key, uint32_t term) {
    const uint32_t most = (0xFFFFFFFEu >> rest_bits_) - 1;  // the largest distance that fits in a tag
    size_t i = key >> rest_bits_;
    for (uint32_t distance = 0; distance <= most; ++distance, i = (i + 1) & (lines_.size() - 1)) {
      Line& line = lines_[i];
      const unsigned free = line.slots_with(0);
      if (!free) continue;
      const auto at = static_cast<unsigned>(__builtin_ctz(free));
      line.tags[at] = tag_of(key) + (distance << rest_bits_);
      line.terms[at] = term;
      farthest_ = std::max(farthest_, distance);
      return true;
    }
    return false;
  }

  unsigned word_bits_ = 1, rest_bits_ = 0;
  uint32_t farthest_ = 0;  // the largest distance of a key from its first line
  uint64_t mask_ = 0;
  Array<Line> lines_;
};

}  // namespace unnaive
