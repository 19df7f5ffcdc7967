// The inner loops, compiled once for each instruction set: included in two namespaces of _kernel_dispatch.h, so no
// guard.

// Folds a piece into `text` and writes where its words start and end, in turn, to `edges`; gives how many there are.
// Where one character is too short for a word, words of one byte are left out.
inline size_t list_edges(Bytes piece, const Fold& fold, uint8_t* text, uint32_t* edges) {
  const auto fold_at = [&](size_t at) {
    return at < piece.size ? fold_block(piece.data + at, piece.size - at, fold, text + at) : 0;
  };
  const uint64_t all = fold.single ? ~0ull : 0;
  uint32_t* out = edges;
  uint64_t before = 0, words = fold_at(0);  // masks of the block before and of this one
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

// The tokens of n words, given where each starts and ends in the text; their slots are fetched. Tokens are written
// field by field: a processor waits for a struct that is put together and copied at once.
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

// Writes n distinct ids in ascending order. There is a bit for every id, a flag for every 64 of them and one for every
// 64 flags, all zero before and after.
inline void sort_ids(const uint32_t* ids, size_t n, const SortSpace& space, uint32_t* out) {
  // a byte may lie anywhere, so that the compiler would read members again after each
  uint64_t* const bits = space.bits;
  uint8_t *const flags = space.flags, *const blocks = space.blocks;
  for (const uint32_t *id = ids, *end = id + n; id < end; ++id) {
    bits[*id >> 6] |= 1ull << (*id & 63);
    flags[*id >> 6] = 0xFF;
    blocks[*id >> 12] = 0xFF;
  }
  for (size_t base = 0; base < space.n_blocks; base += 64)
    for (uint64_t some = take_flags(blocks + base); some; some &= some - 1) {
      const size_t block = 64 * (base + static_cast<size_t>(__builtin_ctzll(some)));
      for (uint64_t words = take_flags(flags + block); words; words &= words - 1) {
        const size_t word = block + static_cast<size_t>(__builtin_ctzll(words));
        out = flatten(bits[word], static_cast<uint32_t>(64 * word), out);
        bits[word] = 0;
      }
    }
}
