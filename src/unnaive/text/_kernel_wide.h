// The building blocks of _kernel_loops.h for processors with AVX-512: 64 bytes in one register, and the positions of
// set bits by one instruction. Included there in a namespace, so there is no include guard.

constexpr unsigned kGroup = 16;

inline uint32_t* flatten(uint64_t mask, uint32_t base, uint32_t* out) {
  alignas(64) static constexpr uint8_t kPlaces[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                      32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                                      48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i first = _mm512_set1_epi32(static_cast<int>(base));
  __m512i places = _mm512_maskz_compress_epi8(mask, _mm512_load_si512(kPlaces));
  uint32_t* const end = out + __builtin_popcountll(mask);
  do {
    const __m512i some = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
    _mm512_storeu_si512(out, _mm512_add_epi32(first, some));
    places = _mm512_alignr_epi64(places, places, 2);
    out += kGroup;
  } while (out < end);
  return end;
}

inline uint64_t take_flags(uint8_t* flags) {
  const uint64_t mask = _mm512_movepi8_mask(_mm512_loadu_si512(flags));
  if (mask) _mm512_storeu_si512(flags, _mm512_setzero_si512());
  return mask;
}

inline uint64_t take_group(uint8_t* counts, int32_t* out) {
  const __m512i all = _mm512_loadu_si512(counts);
  const uint64_t mask = _mm512_test_epi8_mask(all, all);
  __m512i some = _mm512_maskz_compress_epi8(mask, all);
  for (const int32_t* const end = out + __builtin_popcountll(mask); out < end; out += kGroup) {
    _mm512_storeu_si512(out, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(some)));
    some = _mm512_alignr_epi64(some, some, 2);
  }
  _mm512_storeu_si512(counts, _mm512_setzero_si512());
  return mask;
}

inline uint64_t fold_block(const uint8_t* p, size_t size, const Fold& fold, uint8_t* out) {
  const __m512i bit = _mm512_set1_epi8(0x20);
  const __m512i c = _mm512_maskz_loadu_epi8(size >= 64 ? ~0ull : (1ull << size) - 1, p);
  const __m512i l = _mm512_sub_epi8(_mm512_or_si512(c, bit), _mm512_set1_epi8('a'));
  const uint64_t letters = _mm512_cmple_epu8_mask(l, _mm512_set1_epi8(25));
  const uint64_t digits = _mm512_cmple_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8('0')), _mm512_set1_epi8(9));
  const uint64_t upper = fold.lowercase ? letters : 0;
  const uint64_t underscores = fold.underscore ? _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('_')) : 0;
  _mm512_storeu_si512(out, _mm512_or_si512(c, _mm512_maskz_mov_epi8(upper, bit)));
  return letters | (fold.digits ? digits : 0) | underscores | _mm512_movepi8_mask(c);
}

inline uint64_t set_key(const uint8_t* text, uint32_t length, Token& token) {
  const __m128i key = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << length) - 1), text);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&token), key);  // overwrites the length field, which is set later
  return hash_of_key(static_cast<uint64_t>(_mm_cvtsi128_si64(key)), static_cast<uint64_t>(_mm_extract_epi64(key, 1)));
}
