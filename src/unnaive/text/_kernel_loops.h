// The inner loops, compiled once for each instruction set: included in two namespaces of _kernel_dispatch.h, so there
// is no include guard.

// Fold a piece into `text`, and write the start and end of each word in turn to `edges`; return the number of edges.
// Words of one byte are left out if one character cannot be a word.
inline size_t list_edges(Bytes piece, const Fold& fold, uint8_t* text, uint32_t* edges) {
  const auto fold_at = [&](size_t at) {
    return at < piece.size ? fold_block(piece.data + at, piece.size - at, fold, text + at) : 0;
  };
  const uint64_t all = fold.single ? ~0ull : 0;
  uint32_t* out = edges;
  uint64_t before = 0, words = fold_at(0);  // masks of the previous and of the current block
  for (size_t at = 0; at < piece.size + 64; at += 64) {
    const uint64_t after = fold_at(at + 64);
    const uint64_t last = words << 1 | before >> 63, last_but_one = words << 2 | before >> 62;
    const uint64_t starts = words & ~last & ((words >> 1 | after << 63) | all);
    const uint64_t ends = ~words & last & (last_but_one | all);
    out = flatten(starts | ends, static_cast<uint32_t>(at), out);
    before = words;
    words = after;
  }
  return static_cast<size_t>(out - edges);
}

// Make the tokens of n words, given their starts and ends in the text, and prefetch their slots. Tokens are written
// field by field, because copying a freshly written struct stalls the processor.
inline void set_tokens(const uint32_t* edges, unsigned n, const uint8_t* text, Ahead ahead, Token* tokens) {
  for (unsigned i = 0; i < n; ++i) {
    const uint8_t* word = text + edges[2 * i];
    const uint32_t length = edges[2 * i + 1] - edges[2 * i];
    Token& token = tokens[i];
    if (__builtin_expect(length > kInline, 0)) {
      set_long_token(word, length, token);
    } else {
      token.hash = set_key(word, length, token);
      token.length = length;
      token.text = word;
    }
    ahead.fetch(token.hash);
  }
}

// Write the n distinct ids with a count in ascending order, and their counts, which are cleared. There is a flag for
// every 64 ids and one for every 64 flags; all are zero before and after.
inline void take_counts(const uint32_t* ids, size_t n, const CountSpace& space, uint32_t* out, int32_t* values) {
  // local copies: the compiler would reload the members after every write of a byte, which may alias anything
  uint8_t *const counts = space.counts, *const flags = space.flags, *const blocks = space.blocks;
  for (const uint32_t *id = ids, *end = id + n; id < end; ++id) {
    flags[*id >> 6] = 0xFF;
    blocks[*id >> 12] = 0xFF;
  }
  for (size_t base = 0; base < space.n_blocks; base += 64)
    for (uint64_t some = take_flags(blocks + base); some; some &= some - 1) {
      const size_t block = 64 * (base + static_cast<size_t>(__builtin_ctzll(some)));
      for (uint64_t groups = take_flags(flags + block); groups; groups &= groups - 1) {
        const size_t first = 64 * (block + static_cast<size_t>(__builtin_ctzll(groups)));
        const uint64_t counted = take_group(counts + first, values);
        out = flatten(counted, static_cast<uint32_t>(first), out);
        values += __builtin_popcountll(counted);
      }
    }
}
