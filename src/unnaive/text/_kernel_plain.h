// The building blocks of _kernel_loops.h for any processor; included there in a namespace, so there is no include
// guard.

// Positions are written in groups of this size, needed or not: buffers have space for one more group.
constexpr unsigned kGroup = 4;

// Write base + i for every bit i of the mask, without a branch for each bit; return the next output position.
inline uint32_t* flatten(uint64_t mask, uint32_t base, uint32_t* out) {
  uint32_t* const end = out + __builtin_popcountll(mask);
  do {
    for (unsigned i = 0; i < kGroup; ++i) {
      // an empty mask gives an arbitrary position, because ctz of 0 is undefined
      out[i] = base + static_cast<uint32_t>(__builtin_ctzll(mask | 1ull << 63));
      mask &= mask - 1;
    }
    out += kGroup;
  } while (out < end);
  return end;
}

// The mask of 64 flags, each 0 or 0xFF; the flags are cleared.
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

// Write the nonzero ones of 64 counts and clear them; return their mask.
inline uint64_t take_group(uint8_t* counts, int32_t* out) {
  uint64_t mask = 0;
#ifdef UNNAIVE_SSE2
  auto* at = reinterpret_cast<__m128i*>(counts);
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i zeros = _mm_cmpeq_epi8(_mm_loadu_si128(at + part), _mm_setzero_si128());
    mask |= static_cast<uint64_t>(_mm_movemask_epi8(zeros) ^ 0xFFFF) << 16 * part;
  }
#else
  for (unsigned i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(counts[i] != 0) << i;
#endif
  for (uint64_t rest = mask; rest; rest &= rest - 1) *out++ = counts[__builtin_ctzll(rest)];
  std::memset(counts, 0, 64);
  return mask;
}

// Fold 64 bytes and return the mask of those in words; after the speller, all bytes beyond ASCII are in words.
inline uint64_t fold_whole_block(const uint8_t* p, const Fold& fold, uint8_t* out) {
  uint64_t words = 0;
#ifdef UNNAIVE_SSE2
  const __m128i a = _mm_set1_epi8('a'), zero = _mm_set1_epi8('0'), bit = _mm_set1_epi8(0x20);
  const __m128i letters = _mm_set1_epi8(25), digits = _mm_set1_epi8(9);
  const __m128i lower = _mm_set1_epi8(fold.lowercase ? 0x20 : 0), numbers = _mm_set1_epi8(fold.digits ? -1 : 0);
  const __m128i underscore = _mm_set1_epi8(fold.underscore ? '_' : 'a');
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
    const __m128i l = _mm_sub_epi8(_mm_or_si128(c, bit), a), d = _mm_sub_epi8(c, zero);
    const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(l, letters), l);
    const __m128i is_digit = _mm_and_si128(_mm_cmpeq_epi8(_mm_min_epu8(d, digits), d), numbers);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * part), _mm_or_si128(c, _mm_and_si128(is_letter, lower)));
    const __m128i is_other = _mm_or_si128(is_digit, _mm_cmpeq_epi8(c, underscore));
    const __m128i is_word = _mm_or_si128(_mm_or_si128(is_letter, is_other), c);
    words |= static_cast<uint64_t>(_mm_movemask_epi8(is_word)) << 16 * part;
  }
#else
  for (unsigned i = 0; i < 64; ++i) {
    const uint8_t c = p[i], l = static_cast<uint8_t>((c | 0x20) - 'a'), d = static_cast<uint8_t>(c - '0');
    out[i] = static_cast<uint8_t>(l < 26 && fold.lowercase ? c | 0x20 : c);
    const bool is_other = (fold.digits && d < 10) || (fold.underscore && c == '_');
    words |= static_cast<uint64_t>(c >= 0x80 || l < 26 || is_other) << i;
  }
#endif
  return words;
}

// The same for up to 64 bytes.
inline uint64_t fold_block(const uint8_t* p, size_t size, const Fold& fold, uint8_t* out) {
  if (size >= 64) return fold_whole_block(p, fold, out);
  uint8_t padded[64] = {};
  std::memcpy(padded, p, size);
  return fold_whole_block(padded, fold, out);
}

// Write the key of a word of up to kInline bytes and return its hash.
inline uint64_t set_key(const uint8_t* text, uint32_t length, Token& token) {
  token.low = load8(text) & key_masks.low[length];
  token.high = load4(text + 8) & key_masks.high[length];
  return hash_of_key(token.low, token.high);
}
