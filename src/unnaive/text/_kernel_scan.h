// Bytes → words in batches: masks of word bytes, 64 at a time, then where words start and end, then keys and hashes.
#pragma once
#include "_kernel_bits.h"
#include "_kernel_cut.h"
#include "_kernel_spell.h"
#include "_kernel_token.h"

namespace unnaive {

constexpr unsigned kEdges = 8;  // that are listed at a time

class Scanner {
 public:
  explicit Scanner(const Rule& rule) : rule_(rule), speller_(rule), cutter_(rule) {}

  // flush(tokens, n, alone) for every batch of the document's tokens, which are valid during the call; each token's
  // slot in `table` has been fetched. Those that come alone stand in no n-gram of words.
  template <class Table, class Flush>
  void scan(const Document& document, const Table& table, Flush&& flush) {
    const auto cut = [&](Codes codes) { cutter_.cut(codes, table, flush); };
    const auto read = [&](Bytes piece, bool ascii) {
      mask_words(piece);
      const size_t n = list_edges((piece.size + 63) / 64) / 2;
      if (ascii && rule_.min_length <= 2) {
        each_batch<true>(n, table, flush);
      } else {
        each_batch<false>(n, table, flush);
      }
    };
    speller_.each_piece(document, read, cut);
  }

 private:
  // Folds a piece into text_, and marks the bytes of words in masks_.
  void mask_words(Bytes piece) {
    const size_t blocks = (piece.size + 63) / 64;
    text_.make_room(64 * blocks + 16);  // keys are read 16 bytes at a time
    masks_.make_room(blocks + 1);
    uint8_t* out = text_.data();
    for (size_t b = 0; b < piece.size / 64; ++b) masks_[b] = fold_block(piece.data + 64 * b, out + 64 * b);
    if (piece.size % 64) {
      uint8_t padded[64] = {};
      std::memcpy(padded, piece.data + piece.size / 64 * 64, piece.size % 64);
      masks_[blocks - 1] = fold_block(padded, out + 64 * (blocks - 1));
    }
    masks_[blocks] = 0;
  }

  // Folds 64 bytes and gives the mask of those in words; all beyond ASCII are, after the speller.
  uint64_t fold_block(const uint8_t* p, uint8_t* out) const {
    uint64_t words = 0;
#ifdef UNNAIVE_SSE2
    const __m128i a = _mm_set1_epi8('a'), zero = _mm_set1_epi8('0'), bit = _mm_set1_epi8(0x20);
    const __m128i letters = _mm_set1_epi8(25), digits = _mm_set1_epi8(9);
    const __m128i fold = _mm_set1_epi8(rule_.lowercase ? 0x20 : 0), numbers = _mm_set1_epi8(rule_.digits ? -1 : 0);
    for (unsigned part = 0; part < 4; ++part) {
      const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
      const __m128i l = _mm_sub_epi8(_mm_or_si128(c, bit), a), d = _mm_sub_epi8(c, zero);
      const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(l, letters), l);
      const __m128i is_digit = _mm_and_si128(_mm_cmpeq_epi8(_mm_min_epu8(d, digits), d), numbers);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * part), _mm_or_si128(c, _mm_and_si128(is_letter, fold)));
      const __m128i is_word = _mm_or_si128(_mm_or_si128(is_letter, is_digit), c);
      words |= static_cast<uint64_t>(_mm_movemask_epi8(is_word)) << 16 * part;
    }
#else
    for (unsigned i = 0; i < 64; ++i) {
      const uint8_t c = p[i], l = static_cast<uint8_t>((c | 0x20) - 'a'), d = static_cast<uint8_t>(c - '0');
      out[i] = static_cast<uint8_t>(l < 26 && rule_.lowercase ? c | 0x20 : c);
      words |= static_cast<uint64_t>(c >= 0x80 || l < 26 || (rule_.digits && d < 10)) << i;
    }
#endif
    return words;
  }

  // Writes where words start and end, in turn, to edges_; gives how many there are. Where one character is too short
  // for a word, words of one byte are left out.
  size_t list_edges(size_t blocks) {
    edges_.make_room(64 * blocks + 2 * kEdges);
    uint32_t* out = edges_.data();
    const bool single = rule_.min_length <= 1;
    const uint64_t all = single ? ~0ull : 0;
    uint64_t before = 0, words = blocks ? masks_[0] : 0;  // masks of the block before and of this one
    for (size_t b = 0; b <= blocks; ++b) {
      const uint64_t after = b < blocks ? masks_[b + 1] : 0;
      const uint64_t last = words << 1 | before >> 63, last_but_one = words << 2 | before >> 62;
      const uint64_t starts = words & ~last & ((words >> 1 | after << 63) | all);
      const uint64_t ends = ~words & last & (last_but_one | all);
      out = flatten<kEdges>(starts | ends, static_cast<uint32_t>(64 * b), out);
      before = words;
      words = after;
    }
    return static_cast<size_t>(out - edges_.data());
  }

  // kPlain: every word between edges is long enough.
  template <bool kPlain, class Table, class Flush>
  void each_batch(size_t words, const Table& table, Flush& flush) {
    const uint32_t* edge = edges_.data();
    const uint32_t* const stop = edge + 2 * words;
    while (edge < stop) {
      const uint32_t* const end = edge + std::min<size_t>(2 * kBatch, static_cast<size_t>(stop - edge));
      const auto ahead = table.ahead();
      unsigned kept = 0;
      for (; edge < end; edge += 2) {
        Token& token = batch_[kept];
        set_token(text_.data() + edge[0], edge[1] - edge[0], token);
        ahead.fetch(token.hash);
        kept += kPlain || characters(token) >= rule_.min_length;
      }
      flush(static_cast<const Token*>(batch_.data()), kept, false);
    }
  }

  Rule rule_;
  Speller speller_;
  Cutter cutter_;
  Array<uint8_t> text_;
  Array<uint64_t> masks_;
  Array<uint32_t> edges_;
  std::array<Token, kBatch> batch_;
};

}  // namespace unnaive
