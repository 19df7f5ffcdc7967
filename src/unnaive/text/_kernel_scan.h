// Bytes → tokens in batches: masks of word bytes, 64 at a time; only runs with a byte ≥ 0x80 are decoded.
#pragma once
#include <array>

#include "_kernel_text.h"

namespace unnaive {

constexpr unsigned kBatch = 64;

struct Rule {
  bool lowercase, turkish, digits;
  uint32_t min_length;
};

// A token, folded. Up to 8 bytes it is its own key, zero-padded; a longer one has its hash as key and its text apart.
struct Token {
  uint64_t key;
  uint64_t hash;
  const uint8_t* text;
  uint32_t length;
};

extern uint64_t hash_seed;  // drawn at import: the hash decides no result, only who may slow us down

inline uint64_t mixed(uint64_t a, uint64_t b) {
#if defined(UNNAIVE_WEAK_HASH)  // of the sanitized build: words collide all the time, and must still be told apart
  return (a * b) & 0xFC00000000000000ull;
#elif defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  a *= b;
  a ^= a >> 32;
  a *= 0xD6E8FEB86659FD93ull;
  return a ^ a >> 32;
#endif
}

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;

inline uint64_t hash_of_key(uint64_t key) { return mixed(key ^ hash_seed, kMultiplier); }

inline uint64_t load8(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// The token of folded bytes.
inline Token token_of(Bytes word) {
  const uint8_t* text = word.data;
  const auto length = static_cast<uint32_t>(word.size);
  if (length <= 8) {
    uint64_t key = 0;
    std::memcpy(&key, text, length);
    return {key, hash_of_key(key), text, length};
  }
  uint64_t hash = hash_seed ^ length;
  uint32_t i = 0;
  for (; i + 8 <= length; i += 8) hash = mixed(hash ^ load8(text + i), kMultiplier);
  if (i < length) {
    uint64_t rest = 0;
    std::memcpy(&rest, text + i, length - i);
    hash = mixed(hash ^ rest, kMultiplier);
  }
  return {hash, hash, text, length};
}

struct Masks {
  uint64_t word;     // bytes of words
  uint64_t special;  // those that need decoding
};

// First `n` bytes set, in memory order.
struct BytePrefixes {
  std::array<uint64_t, 9> of{};
  BytePrefixes() {
    for (unsigned n = 0; n <= 8; ++n) std::memset(&of[n], 0xFF, n);
  }
};

// Where the slots of a table of words are; a token's slot is fetched as soon as its hash is known.
struct Ahead {
  const uint8_t* slots = nullptr;
  unsigned shift = 63, slot_bits = 0;

  void fetch(uint64_t hash) const { __builtin_prefetch(slots + (hash >> shift << slot_bits)); }
};

class Scanner {
 public:
  explicit Scanner(const Rule& rule) : rule_(rule), fold_(rule.lowercase ? 0x2020202020202020ull : 0) {
    for (uint32_t code = 0x80; code < 0x800; ++code) two_byte_[code] = packed(code);
    space_.resize(4096);
  }

  void look_ahead(const Ahead& ahead) { ahead_ = ahead; }

  // Calls flush(tokens, n) for every batch of the text's tokens; they are valid during the call.
  template <class Flush>
  void scan(Bytes text, Flush&& flush) {
    end_ = text.data + text.size;
    bool open = false, special = false;
    unsigned from = 0;
    size_t start = 0;
    for (size_t base = 0; base < text.size; base += 64) {
      const Masks masks = masks_at(text.data + base, text.size - base);
      uint64_t edges = masks.word ^ (masks.word << 1 | static_cast<uint64_t>(open));
      for (; edges; edges &= edges - 1) {
        const unsigned bit = static_cast<unsigned>(__builtin_ctzll(edges));
        if (!open) {
          start = base + bit;
          from = bit;
          special = false;
        } else {
          special |= (masks.special & below(bit)) >> from != 0;
          add(text.data + start, base + bit - start, special, flush);
        }
        open = !open;
      }
      if (open) special |= masks.special >> from != 0;
      from = 0;
    }
    if (open) add(text.data + start, text.size - start, special, flush);
  }

  template <class Flush>
  void finish(Flush&& flush) {
    if (batched_) flush(static_cast<const Token*>(batch_.data()), batched_);
    batched_ = 0;
    used_ = 0;
  }

 private:
  static uint64_t below(unsigned bit) { return (1ull << bit) - 1; }

  Masks masks_at(const uint8_t* p, size_t left) const {
    if (left >= 64) return masks_of(p);
    uint8_t padded[64] = {};
    std::memcpy(padded, p, left);
    return masks_of(padded);
  }

  Masks masks_of(const uint8_t* p) const {
    Masks masks{0, 0};
#ifdef UNNAIVE_SSE2
    const __m128i a = _mm_set1_epi8('a'), zero = _mm_set1_epi8('0'), bit = _mm_set1_epi8(0x20);
    const __m128i letters = _mm_set1_epi8(25), digits = _mm_set1_epi8(rule_.digits ? 9 : 0);
    const __m128i numbers = _mm_set1_epi8(rule_.digits ? -1 : 0), dotless = _mm_set1_epi8(rule_.turkish ? 'I' : 0);
    for (unsigned part = 0; part < 4; ++part) {
      const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
      const __m128i l = _mm_sub_epi8(_mm_or_si128(c, bit), a), d = _mm_sub_epi8(c, zero);
      const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(l, letters), l);
      const __m128i is_digit = _mm_and_si128(_mm_cmpeq_epi8(_mm_min_epu8(d, digits), d), numbers);
      const __m128i is_special = _mm_or_si128(c, _mm_cmpeq_epi8(c, dotless));
      const auto high = static_cast<uint64_t>(_mm_movemask_epi8(c));
      const auto plain = static_cast<uint64_t>(_mm_movemask_epi8(_mm_or_si128(is_letter, is_digit)));
      masks.word |= (high | plain) << 16 * part;
      masks.special |= static_cast<uint64_t>(_mm_movemask_epi8(is_special)) << 16 * part;
    }
    masks.special &= masks.word;  // NUL equals the absent dotless letter
#else
    for (unsigned i = 0; i < 64; ++i) {
      const uint8_t c = p[i], l = static_cast<uint8_t>((c | 0x20) - 'a'), d = static_cast<uint8_t>(c - '0');
      const bool special = c >= 0x80 || (rule_.turkish && c == 'I');
      masks.word |= static_cast<uint64_t>(c >= 0x80 || l < 26 || (rule_.digits && d < 10)) << i;
      masks.special |= static_cast<uint64_t>(special) << i;
    }
#endif
    return masks;
  }

  template <class Flush>
  void add(const uint8_t* p, size_t length, bool special, Flush& flush) {
    if (special) return add_decoded(p, length, flush);
    if (length > 8) return add_long(p, length, flush);
    uint64_t key = 0;
    if (end_ - p >= 8) {
      key = load8(p) & prefixes_.of[length];
    } else {
      std::memcpy(&key, p, length);
    }
    key |= fold_ & prefixes_.of[length];
    // short words come and go: writing one and not counting it is cheaper than a branch that nobody can predict
    push({key, hash_of_key(key), nullptr, static_cast<uint32_t>(length)}, length >= rule_.min_length, flush);
  }

  template <class Flush>
  void add_long(const uint8_t* p, size_t length, Flush& flush) {
    if (length < rule_.min_length) return;
    uint8_t* text = reserved(length, flush);
    uint64_t hash = hash_seed ^ static_cast<uint32_t>(length);
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
      const uint64_t word = load8(p + i) | fold_;
      std::memcpy(text + i, &word, 8);
      hash = mixed(hash ^ word, kMultiplier);
    }
    if (i < length) {
      uint64_t word = 0;
      std::memcpy(&word, p + i, length - i);
      word |= fold_ & prefixes_.of[length - i];
      std::memcpy(text + i, &word, 8);
      hash = mixed(hash ^ word, kMultiplier);
    }
    used_ += length + 8;
    push({hash, hash, text, static_cast<uint32_t>(length)}, true, flush);
  }

  // A run with characters beyond ASCII: some of them separate words, all may fold.
  template <class Flush>
  void add_decoded(const uint8_t* p, size_t size, Flush& flush) {
    const uint8_t* stop = p + size;
    while (p < stop) {
      uint8_t* text = reserved(2 * static_cast<size_t>(stop - p), flush);
      uint8_t* out = text;
      size_t characters = 0;
      for (; p < stop; ++characters) {
        const unsigned step = append(p, static_cast<size_t>(stop - p), out);
        p += step & 7;
        if (step & 8) break;
      }
      const size_t length = static_cast<size_t>(out - text);
      if (characters < rule_.min_length || length == 0) continue;
      used_ += length + 8;
      push(token_of({text, length}), true, flush);
    }
  }

  // Appends the folded character at p; gives the bytes to step over, plus 8 if it separates words.
  unsigned append(const uint8_t* p, size_t left, uint8_t*& out) const {
    if (*p < 0x80) {
      if (rule_.turkish && *p == 'I') {
        *out++ = 0xC4;  // ı
        *out++ = 0xB1;
      } else {
        *out++ = static_cast<uint8_t>(*p | (*p >= 'A' ? fold_ & 0x20 : 0));
      }
      return 1;
    }
    if (*p < 0xE0 && *p >= 0xC2 && left >= 2 && (p[1] & 0xC0) == 0x80) {
      const uint32_t entry = two_byte_[(p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu)];
      if (entry == 0) return 2 | 8;
      out[0] = static_cast<uint8_t>(entry);
      out[1] = static_cast<uint8_t>(entry >> 8);
      out[2] = static_cast<uint8_t>(entry >> 16);
      out += entry >> 24;
      return 2;
    }
    const Decoded at = decode(p, left);
    if (at.code == kNone || !is_word(at.code)) return at.length | 8;
    out += encode(rule_.lowercase ? folded(at.code) : at.code, out);
    return at.length;
  }

  bool is_word(uint32_t code) const { return kinds[code] & (rule_.digits ? kLetter | kNumber : kLetter); }

  // The folded bytes of a two-byte character, their number in the top byte; 0 if it separates words.
  uint32_t packed(uint32_t code) const {
    if (!is_word(code)) return 0;
    uint8_t bytes[4] = {};
    const unsigned length = encode(rule_.lowercase ? folded(code) : code, bytes);
    return static_cast<uint32_t>(bytes[0] | bytes[1] << 8 | bytes[2] << 16) | length << 24;
  }

  // Room for a folded token of up to `length` bytes; what is batched is flushed before it could move.
  template <class Flush>
  uint8_t* reserved(size_t length, Flush& flush) {
    if (used_ + length + 16 > space_.size()) {
      finish(flush);
      if (length + 16 > space_.size()) space_.resize(length + length / 2 + 16);
    }
    return space_.data() + used_;
  }

  template <class Flush>
  void push(const Token& token, bool counted, Flush& flush) {
    ahead_.fetch(token.hash);
    batch_[batched_] = token;
    batched_ += counted;
    if (batched_ == kBatch) finish(flush);
  }

  Rule rule_;
  Ahead ahead_;
  uint64_t fold_;
  const uint8_t* end_ = nullptr;
  std::array<uint32_t, 0x800> two_byte_{};
  std::array<Token, kBatch> batch_;
  unsigned batched_ = 0;
  std::vector<uint8_t> space_;
  size_t used_ = 0;
  BytePrefixes prefixes_;
};

}  // namespace unnaive
