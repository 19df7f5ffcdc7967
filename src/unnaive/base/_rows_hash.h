// BLAKE2b with 8 bytes and no key (RFC 7693), which identifies texts. Several texts are hashed in parallel, one in each
// lane of a vector; when a text ends, its lane takes the next.
#pragma once
#include "_avx2.h"
#include "_rows_bytes.h"

namespace unnaive {

struct Cells {
  const uint8_t* bytes;
  const int64_t* ends;  // cell i is bytes[ends[i]] … bytes[ends[i + 1] − 1]
  size_t count;
};

constexpr size_t kHashBlock = 128;
constexpr uint64_t kHashStart[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                                    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
constexpr uint64_t kHashParameters = 0x01010008;  // parameter block: one leaf, no key, 8 bytes of output
constexpr uint8_t kHashOrder[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

namespace plain {
constexpr int kLanes = 2;
#include "_rows_hash_lanes.h"
}  // namespace plain

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
}  // namespace unnaive
#define UNNAIVE_WIDE_HASH 1
#pragma GCC push_options
#pragma GCC target("avx2")
namespace unnaive {
namespace wide {
constexpr int kLanes = 4;
#include "_rows_hash_lanes.h"
}  // namespace wide
}  // namespace unnaive
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl")
namespace unnaive {
namespace widest {
constexpr int kLanes = 8;
#include "_rows_hash_lanes.h"
}  // namespace widest
}  // namespace unnaive
#pragma GCC pop_options
namespace unnaive {
#endif

// The number of lanes of the widest loop that this processor can run.
inline int widest_lanes() {
#ifdef UNNAIVE_WIDE_HASH
  if (has_avx512()) return widest::kLanes;
  if (has_avx2()) return wide::kLanes;
#endif
  return plain::kLanes;
}

// The hash of each cell, by the loop with `lanes` lanes, or the widest if `lanes` is 0; all give the same result.
inline void hash_cells(const Cells& cells, uint64_t* out, int lanes) {
  const int most = widest_lanes();
  lanes = lanes && lanes < most ? lanes : most;
#ifdef UNNAIVE_WIDE_HASH
  if (lanes == widest::kLanes) return widest::hash_lanes(cells, out);
  if (lanes == wide::kLanes) return wide::hash_lanes(cells, out);
#endif
  plain::hash_lanes(cells, out);
}

}  // namespace unnaive
