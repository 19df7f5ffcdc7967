// Bytes → words in batches: first the edges of words, then their keys and hashes.
#pragma once
#include "_kernel_chunks.h"
#include "_kernel_cut.h"
#include "_kernel_dispatch.h"
#include "_kernel_spell.h"

namespace unnaive {

class Scanner {
 public:
  explicit Scanner(const Rule& rule)
      : rule_(rule),
        fold_{rule.lowercase, rule.digits, rule.min_length <= 1, rule.python != nullptr},
        speller_(rule),
        python_speller_(rule.python.get()),
        document_grams_(rule.python.get()),
        cutter_(rule),
        chunker_(rule) {}

  // Call flush(tokens, n, alone) for every batch of the document's tokens, which are valid during the call; the slot of
  // each token in `table` has been prefetched. Tokens with alone = true are in no n-gram of words.
  template <class Table, class Flush>
  void scan(const Document& document, const Table& table, Flush&& flush) {
    if (rule_.chunks) return chunker_.scan(document, table, flush);
    if (rule_.python && rule_.python->longest) return document_grams_.scan(document, table, flush);
    const auto cut = [&](Codes codes) { cutter_.cut(codes, table, flush); };
    const auto read_folded = [&](Bytes piece, bool ascii, const Fold& fold) {
      const size_t blocks = piece.size / 64 + 1;
      text_.make_room(64 * blocks + 16);  // keys are read 16 bytes at a time
      edges_.make_room(64 * (blocks + 1) + kOver);
      const size_t n = chosen_loops().list_edges(piece, fold, text_.data(), edges_.data()) / 2;
      if (ascii && rule_.min_length <= 2) {
        each_batch<true>(n, table, flush);
      } else {
        each_batch<false>(n, table, flush);
      }
    };
    if (rule_.python) {
      const Fold folded{false, fold_.digits, fold_.single, fold_.underscore};
      python_speller_.each_piece(document, [&](Bytes piece, bool ascii, bool is_folded) {
        read_folded(piece, ascii, is_folded ? folded : fold_);
      });
      return;
    }
    const auto read = [&](Bytes piece, bool ascii) { read_folded(piece, ascii, fold_); };
    speller_.each_piece(document, read, cut);
  }

 private:
  // kPlain: every word between edges has the minimum length.
  template <bool kPlain, class Table, class Flush>
  void each_batch(size_t words, const Table& table, Flush& flush) {
    for (size_t from = 0; from < words; from += kBatch) {
      auto n = static_cast<unsigned>(std::min<size_t>(kBatch, words - from));
      chosen_loops().set_tokens(edges_.data() + 2 * from, n, text_.data(), table.ahead(), batch_.data());
      if (!kPlain) n = drop_short(n);
      flush(static_cast<const Token*>(batch_.data()), n, false);
    }
  }

  // Remove tokens with too few characters; return the number of the others.
  unsigned drop_short(unsigned n) {
    unsigned kept = 0;
    for (unsigned i = 0; i < n; ++i) {
      batch_[kept] = batch_[i];
      kept += characters(batch_[i]) >= rule_.min_length;
    }
    return kept;
  }

  Rule rule_;
  Fold fold_;
  Speller speller_;
  PythonSpeller python_speller_;
  DocumentGrams document_grams_;
  Cutter cutter_;
  Chunker chunker_;
  Array<uint8_t> text_;
  Array<uint32_t> edges_;
  std::array<Token, kBatch> batch_;
};

}  // namespace unnaive
