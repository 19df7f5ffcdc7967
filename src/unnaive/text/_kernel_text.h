// Documents as UTF-8, from the representations of Python and Arrow, and the kind and lower-case form of characters.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "../base/_utf8.h"
#include "_kernel_unicode.h"

#if defined(__SSE2__) || defined(_M_X64)
#define UNNAIVE_SSE2 1
#include <emmintrin.h>
#endif

namespace unnaive {

constexpr uint32_t kNone = 0xFFFFFFFFu;
constexpr uint32_t kMaxCode = 0x10FFFF;

// The kinds of a character, as bits. A mark is also a letter, and a character written without spaces is also a letter
// or a number.
enum Kind : uint8_t {
  kSeparator = 0,
  kLetter = 1,
  kNumber = 2,
  kFolded = 4,  // has a lower-case form
  kMark = 8,
  kUnspaced = 16,
  kPictograph = 32,
  kTextPictograph = 64,  // an emoji only if U+FE0F follows
  kEmojiPart = 128       // an emoji may be near
};

extern uint8_t kinds[kMaxCode + 1];  // pages without letters are never touched

inline void fill_kinds() {
  for (const Pair& run : kLetters) std::memset(kinds + run.first, kLetter, run.second - run.first + 1);
  for (const Pair& run : kNumbers) std::memset(kinds + run.first, kNumber, run.second - run.first + 1);
  for (const Pair& fold : kFolds) kinds[fold.first] |= kFolded;
  const auto add_kind = [](const Pair& run, Kind kind) {
    std::for_each(kinds + run.first, kinds + run.second + 1, [kind](uint8_t& kinds_of) { kinds_of |= kind; });
  };
  for (const Pair& run : kMarks) add_kind(run, kMark);
  for (const Pair& run : kUnspacedLetters) add_kind(run, kUnspaced);
  for (const Pair& run : kPictographs) add_kind(run, kPictograph);
  for (const Pair& run : kTextPictographs) add_kind(run, kTextPictograph);
  for (const Pair& run : {Pair{0xFE0F, 0xFE0F}, Pair{0x20E3, 0x20E3}, Pair{0x1F1E6, 0x1F1FF}})
    add_kind(run, kEmojiPart);
}

inline uint32_t folded(uint32_t code) {
  if (!(kinds[code] & kFolded)) return code;
  const auto before = [](const Pair& fold, uint32_t wanted) { return fold.first < wanted; };
  return std::lower_bound(std::begin(kFolds), std::end(kFolds), code, before)->second;
}

// Writes the UTF-8 of a code below 0x110000 (surrogates too, as three bytes) and returns its length.
inline unsigned encode(uint32_t code, uint8_t* out) {
  if (code < 0x80) {
    out[0] = static_cast<uint8_t>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<uint8_t>(0xC0 | code >> 6);
    out[1] = static_cast<uint8_t>(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<uint8_t>(0xE0 | code >> 12);
    out[1] = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
    out[2] = static_cast<uint8_t>(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = static_cast<uint8_t>(0xF0 | code >> 18);
  out[1] = static_cast<uint8_t>(0x80 | (code >> 12 & 0x3F));
  out[2] = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
  out[3] = static_cast<uint8_t>(0x80 | (code & 0x3F));
  return 4;
}

struct Decoded {
  uint32_t code;    // kNone for bytes that are not UTF-8: overlong, surrogate, truncated, stray
  unsigned length;  // bytes to skip, at least 1
};

// Decode one character of at least two bytes; `left` bytes are readable.
inline Decoded decode(const uint8_t* p, size_t left) {
  const auto follows = [&](unsigned i) { return i < left && (p[i] & 0xC0) == 0x80; };
  const uint32_t lead = p[0];
  if (lead >= 0xC2 && lead <= 0xDF && follows(1)) return {(lead & 0x1F) << 6 | (p[1] & 0x3Fu), 2};
  if (lead >= 0xE0 && lead <= 0xEF && follows(1) && follows(2)) {
    const uint32_t code = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {code, 3};
  }
  if (lead >= 0xF0 && lead <= 0xF4 && follows(1) && follows(2) && follows(3)) {
    const uint32_t code = (lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    if (code >= 0x10000 && code <= kMaxCode) return {code, 4};
  }
  return {kNone, 1};
}

// The length of the longest prefix of ASCII bytes.
inline size_t ascii_prefix(const uint8_t* p, size_t size) {
  size_t i = 0;
#ifdef UNNAIVE_SSE2
  for (; i + 16 <= size; i += 16) {
    if (_mm_movemask_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i)))) break;
  }
#endif
  while (i < size && p[i] < 0x80) ++i;
  return i;
}

inline bool is_utf8(const uint8_t* p, size_t size) {
  for (size_t i = ascii_prefix(p, size); i < size; i += ascii_prefix(p + i, size - i)) {
    const size_t length = sequence_length(p + i, p + size);
    if (!length) return false;
    i += length;
  }
  return true;
}

// A document: UTF-8 bytes (width 0), or a Python string with one, two or four bytes for each character.
struct Document {
  const void* data;
  size_t length;
  uint8_t width;
  bool ascii;  // known to have no byte above 0x7F
};

struct Bytes {
  const uint8_t* data;
  size_t size;
};

// The documents of a call: Python strings, or an Arrow buffer with offsets.
struct Documents {
  std::vector<Document> strings;
  const uint8_t* blob = nullptr;
  const int64_t* offsets = nullptr;
  size_t count = 0;

  Document at(size_t row) const {
    if (!blob) return strings[row];
    return {blob + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row]), 0, false};
  }
};

template <class Unit>
size_t utf8_from(const Unit* p, size_t length, uint8_t* out) {
  uint8_t* start = out;
  for (size_t i = 0; i < length; ++i) out += encode(p[i], out);
  return static_cast<size_t>(out - start);
}

template <class Unit>
size_t utf8_size_of(const Unit* p, size_t length) {
  size_t size = 0;
  for (size_t i = 0; i < length; ++i)
    size += 1 + (p[i] >= 0x80) + (p[i] >= 0x800) + (static_cast<uint32_t>(p[i]) >= 0x10000);
  return size;
}

// The number of bytes of a document as UTF-8.
inline size_t utf8_size(const Document& document) {
  if (document.width == 1) return utf8_size_of(static_cast<const uint8_t*>(document.data), document.length);
  if (document.width == 2) return utf8_size_of(static_cast<const uint16_t*>(document.data), document.length);
  if (document.width == 4) return utf8_size_of(static_cast<const uint32_t*>(document.data), document.length);
  return document.length;
}

// The document as UTF-8: its own bytes, or a copy in `space`.
inline Bytes utf8_of(const Document& document, std::vector<uint8_t>& space) {
  if (document.width == 0) return {static_cast<const uint8_t*>(document.data), document.length};
  const size_t most = document.length * (document.width == 1 ? 2 : document.width == 2 ? 3 : 4);
  if (space.size() < most) space.resize(most + most / 4);
  size_t size = 0;
  if (document.width == 1) size = utf8_from(static_cast<const uint8_t*>(document.data), document.length, space.data());
  if (document.width == 2) size = utf8_from(static_cast<const uint16_t*>(document.data), document.length, space.data());
  if (document.width == 4) size = utf8_from(static_cast<const uint32_t*>(document.data), document.length, space.data());
  return {space.data(), size};
}

}  // namespace unnaive
