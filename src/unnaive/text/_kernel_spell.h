// Pieces of a document as bytes in which every character beyond ASCII is a folded letter, mark or number; other
// characters have become spaces. A piece that is all ASCII is unchanged.
#pragma once
#include <array>

#include "_kernel_python_text.h"

namespace unnaive {

struct Rule {
  bool lowercase, turkish, digits;
  uint32_t min_length;
  bool cut_runs;  // cut scripts without spaces into characters
  bool emoji, symbols;
  bool chunks;                                         // read chunks between spaces instead of words
  std::shared_ptr<const PythonText> python = nullptr;  // words, spaces and lower case are Python's own
};

// The characters of a piece as code points.
struct Codes {
  const uint32_t* data;
  size_t size;

  // A position outside the text counts as a space.
  uint32_t operator[](size_t i) const { return i < size ? data[i] : ' '; }
};

constexpr const char* kInSymbols = ":;=-'()<>/\\|*";
constexpr size_t kPiece = size_t{1} << 15;  // characters of a document that are read at a time

inline bool ascii_word(uint32_t c) { return (c | 0x20) - 'a' < 26 || c - '0' < 10; }

// A position near kPiece where a document can be cut: after an ASCII character that separates words and is in no
// symbol.
template <class Unit>
size_t piece_end(const Unit* p, size_t length) {
  if (length <= kPiece) return length;
  const auto separates = [](uint32_t c) {
    return c < 0x80 && !ascii_word(c) && !(c && std::strchr(kInSymbols, int(c)));
  };
  for (size_t i = kPiece; i > 0; --i)
    if (separates(p[i - 1])) return i;
  size_t i = kPiece;
  while (i < length && !separates(p[i])) ++i;
  return i;
}

class Speller {
 public:
  explicit Speller(const Rule& rule) : rule_(rule) {
    word_kinds_ = rule.digits ? kLetter | kNumber : kLetter;
    watched_ = static_cast<uint8_t>((rule.cut_runs ? kUnspaced : 0) | (rule.emoji ? kPictograph | kEmojiPart : 0));
    for (uint32_t code = 0; code < 0x80; ++code) short_[code] = code | 1u << 24;
    for (uint32_t code = 0x80; code < 0x800; ++code) short_[code] = packed(code);
    if (rule_.turkish) short_['I'] = packed(0x131);  // ı
  }

  // Call read(bytes, ascii) for each piece of the document, or cut(codes) if not only spaces separate its terms.
  template <class Read, class Cut>
  void each_piece(const Document& document, Read&& read, Cut&& cut) {
    switch (document.width) {
      case 0:
        return each_plain_piece({static_cast<const uint8_t*>(document.data), document.length}, document.ascii, read,
                                cut);
      case 1:
        return each_converted_piece(static_cast<const uint8_t*>(document.data), document.length, read, cut);
      case 2:
        return each_converted_piece(static_cast<const uint16_t*>(document.data), document.length, read, cut);
      default:
        return each_converted_piece(static_cast<const uint32_t*>(document.data), document.length, read, cut);
    }
  }

 private:
  template <class Read, class Cut>
  void each_plain_piece(Bytes text, bool ascii, Read& read, Cut& cut) {
    while (text.size) {
      const Bytes piece{text.data, piece_end(text.data, text.size)};
      if (rule_.symbols) {
        cut(decode_utf8(piece));
      } else if ((ascii && !rule_.turkish) || plain_prefix(piece.data, piece.size) == piece.size) {
        read(piece, true);
      } else {
        const Bytes spelled = spell_utf8(piece);
        needs_cutting() ? cut(decode_utf8(piece)) : read(spelled, false);
      }
      text = {text.data + piece.size, text.size - piece.size};
    }
  }

  template <class Unit, class Read, class Cut>
  void each_converted_piece(const Unit* p, size_t length, Read& read, Cut& cut) {
    while (length) {
      const size_t size = piece_end(p, length);
      seen_ = 0;
      const Bytes spelled = rule_.symbols ? Bytes{} : spell(p, size);
      needs_cutting() ? cut(copy_codes(p, size)) : read(spelled, false);
      p += size;
      length -= size;
    }
  }

  // Whether not only spaces separate the terms of the current piece.
  bool needs_cutting() const { return rule_.symbols || (seen_ & watched_); }

  // The code points of a piece. Bytes that are not UTF-8 become U+FFFD, which separates words.
  Codes decode_utf8(Bytes text) {
    codes_.make_room(text.size);
    size_t n = 0;
    for (size_t i = 0; i < text.size;) {
      const uint8_t c = text.data[i];
      const Decoded at = c < 0x80 ? Decoded{c, 1} : decode(text.data + i, text.size - i);
      codes_[n++] = at.code == kNone ? 0xFFFD : at.code;
      i += at.length;
    }
    return {codes_.data(), n};
  }

  template <class Unit>
  Codes copy_codes(const Unit* p, size_t length) {
    codes_.make_room(length);
    std::copy(p, p + length, codes_.data());
    return {codes_.data(), length};
  }

  // Latin-1 is mostly ASCII, of which whole stretches are copied.
  Bytes spell(const uint8_t* p, size_t length) {
    uint8_t* out = room(3 * length);
    for (size_t i = 0; i < length;) {
      const size_t plain = plain_prefix(p + i, length - i);
      std::memcpy(out, p + i, plain);
      out += plain;
      if ((i += plain) < length) put_short(p[i++], out);
    }
    return {space_.data(), static_cast<size_t>(out - space_.data())};
  }

  template <class Unit>
  Bytes spell(const Unit* p, size_t length) {
    uint8_t* out = room(4 * length);
    uint8_t seen = 0;
    for (size_t i = 0; i < length; ++i) {
      if (p[i] < 0x800) {
        put_short(p[i], out);
      } else {
        put(p[i], out, seen);
      }
    }
    seen_ = seen;
    return {space_.data(), static_cast<size_t>(out - space_.data())};
  }

  Bytes spell_utf8(Bytes text) {
    uint8_t* out = room(2 * text.size);
    uint8_t seen = 0;
    for (size_t i = 0; i < text.size;) {
      const size_t plain = plain_prefix(text.data + i, text.size - i);
      std::memcpy(out, text.data + i, plain);
      out += plain;
      for (i += plain; i < text.size && !is_plain(text.data[i]);) {
        const uint8_t c = text.data[i];
        const Decoded at = c < 0x80 ? Decoded{c, 1} : decode(text.data + i, text.size - i);
        put(at.code, out, seen);
        i += at.length;
      }
    }
    seen_ = seen;
    return {space_.data(), static_cast<size_t>(out - space_.data())};
  }

  bool is_plain(uint8_t c) const { return c < 0x80 && !(rule_.turkish && c == 'I'); }

  // The length of the longest prefix that needs no change.
  size_t plain_prefix(const uint8_t* p, size_t size) const {
    size_t i = 0;
#ifdef UNNAIVE_SSE2
    const __m128i dotless = _mm_set1_epi8(rule_.turkish ? 'I' : -1);
    for (; i + 16 <= size; i += 16) {
      const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
      const int odd = _mm_movemask_epi8(_mm_or_si128(c, _mm_cmpeq_epi8(c, dotless)));
      if (odd) return i + static_cast<size_t>(__builtin_ctz(static_cast<unsigned>(odd)));
    }
#endif
    while (i < size && is_plain(p[i])) ++i;
    return i;
  }

  // Write three bytes, whatever the length, so that no branch depends on the character.
  void put_short(uint32_t code, uint8_t*& out) const {
    const uint32_t entry = short_[code];
    out[0] = static_cast<uint8_t>(entry);
    out[1] = static_cast<uint8_t>(entry >> 8);
    out[2] = static_cast<uint8_t>(entry >> 16);
    out += entry >> 24;
  }

  void put(uint32_t code, uint8_t*& out, uint8_t& seen) const {
    if (code < 0x800) return put_short(code, out);
    const unsigned kind = code == kNone ? 0u : kinds[code];
    seen = static_cast<uint8_t>(seen | kind);
    if (!(kind & word_kinds_)) {
      *out++ = ' ';
    } else {
      out += encode(kind & kFolded && rule_.lowercase ? folded(code) : code, out);
    }
  }

  // The spelling of a character below 0x800: its bytes, the first one lowest, and its length in the top byte.
  uint32_t packed(uint32_t code) const {
    if (!(kinds[code] & word_kinds_)) return ' ' | 1u << 24;
    uint8_t bytes[4] = {};
    const unsigned length = encode(rule_.lowercase ? folded(code) : code, bytes);
    return static_cast<uint32_t>(bytes[0] | bytes[1] << 8 | bytes[2] << 16) | length << 24;
  }

  uint8_t* room(size_t size) {
    space_.make_room(size + 8);
    return space_.data();
  }

  Rule rule_;
  std::array<uint32_t, 0x800> short_;
  Array<uint8_t> space_;
  Array<uint32_t> codes_;
  unsigned word_kinds_;
  uint8_t watched_, seen_ = 0;  // kinds that need cutting, and the kinds in the current piece
};

}  // namespace unnaive
