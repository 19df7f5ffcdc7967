// The loops of _rows_hash.h, which includes this file for each vector width, kLanes 64-bit words; so there is no
// include guard.

typedef uint64_t Lanes __attribute__((vector_size(8 * kLanes)));

template <int kBy>
inline Lanes rotate(Lanes word) {
  return word >> kBy | word << (64 - kBy);
}

inline void mix(Lanes& a, Lanes& b, Lanes& c, Lanes& d, const Lanes& x, const Lanes& y) {
  a += b + x;
  d = rotate<32>(d ^ a);
  c += d;
  b = rotate<24>(b ^ c);
  a += b + y;
  d = rotate<16>(d ^ a);
  c += d;
  b = rotate<63>(b ^ c);
}

template <int kRound>
inline void mix_rounds(Lanes* v, const Lanes* m) {
  constexpr const uint8_t* s = kHashOrder[kRound];
  mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
  mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
  mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
  mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
  mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
  mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
  mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
  mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  if constexpr (kRound < 11) mix_rounds<kRound + 1>(v, m);
}

// Update h, the state of each lane, by its block m. `seen` is the number of bytes of the text up to the end of the
// block; `last` is all ones for the last block of a text.
inline void compress(Lanes* h, const Lanes* m, const Lanes& seen, const Lanes& last) {
  Lanes v[16];
  for (int i = 0; i < 8; ++i) v[i] = h[i], v[i + 8] = kHashStart[i] - Lanes{};
  v[12] ^= seen;
  v[14] ^= last;
  mix_rounds<0>(v, m);
  for (int i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

inline void hash_lanes(const Cells& cells, uint64_t* out) {
  struct Text {
    const uint8_t* at;
    size_t left, seen, row;
  } texts[kLanes];
  constexpr size_t kNone = ~size_t{0};
  size_t next = 0, active = 0;
  Lanes h[8] = {}, seen = {}, last = {};
  union {
    Lanes lanes[16];
    uint64_t words[16][kLanes];
  } block = {};

  const auto start = [&](int lane) {
    texts[lane].row = kNone;
    if (next == cells.count) return;
    const size_t from = static_cast<size_t>(cells.ends[next]), to = static_cast<size_t>(cells.ends[next + 1]);
    texts[lane] = {cells.bytes + from, to - from, 0, next++};
    for (int i = 0; i < 8; ++i) h[i][lane] = kHashStart[i] ^ (i ? 0 : kHashParameters);
    ++active;
  };
  const auto fill = [&](int lane) {
    Text& text = texts[lane];
    const uint8_t* from = text.at;
    uint8_t end[kHashBlock];
    const bool final = text.left <= kHashBlock;
    const size_t size = final ? text.left : kHashBlock;
    if (final) {
      std::memset(end, 0, kHashBlock);
      if (size) std::memcpy(end, from, size);
      from = end;
    }
    for (int i = 0; i < 16; ++i) block.words[i][lane] = load8(from + 8 * i);
    text.at += size;
    text.left -= size;
    text.seen += size;
    seen[lane] = text.seen;
    last[lane] = final ? ~uint64_t{0} : 0;
  };

  for (int lane = 0; lane < kLanes; ++lane) start(lane);
  while (active) {
    for (int lane = 0; lane < kLanes; ++lane)
      if (texts[lane].row != kNone) fill(lane);
    compress(h, block.lanes, seen, last);
    for (int lane = 0; lane < kLanes; ++lane)
      if (texts[lane].row != kNone && last[lane]) {
        out[texts[lane].row] = h[0][lane];
        --active;
        start(lane);
      }
  }
}
