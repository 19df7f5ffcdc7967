// Text as Python's str methods and regular expressions see it: \w, \s, str.lower and str.split of the running
// interpreter, with the replacements of characters that remove accents.
#pragma once
#include <Python.h>

#include <array>
#include <memory>
#include <mutex>

#include "_kernel_memory.h"
#include "_kernel_text.h"
#include "_kernel_token.h"

namespace unnaive {

// Kinds of characters for Python, as bits.
enum PythonKind : uint8_t {
  kPythonWord = 1,
  kPythonSpace = 2,
  kPythonLower = 4
};  // kPythonLower: str.lower changes it

constexpr uint32_t kTabled = 0x40000;  // kinds of characters below are in a table; those above are rare

inline uint8_t find_python_kind(uint32_t code) {
  return static_cast<uint8_t>((Py_UNICODE_ISALNUM(code) || code == '_' ? kPythonWord : 0) |
                              (Py_UNICODE_ISSPACE(code) ? kPythonSpace : 0) |
                              (Py_UNICODE_TOLOWER(code) != code ? kPythonLower : 0));
}

inline const uint8_t* python_kind_table() {
  static uint8_t table[kTabled];
  static std::once_flag filled;
  std::call_once(filled, [] {
    for (uint32_t code = 0; code < kTabled; ++code) table[code] = find_python_kind(code);
  });
  return table;
}

// How texts are read: as words, as chunks between spaces, or as all n-grams of a document's characters.
class PythonText {
 public:
  bool lowercase = true, ascii_only = false;  // ascii_only: characters beyond ASCII are left out unless replaced
  unsigned shortest = 0, longest = 0;         // lengths of n-grams of a document's characters; 0 for words and chunks

  unsigned kind(uint32_t code) const { return code < kTabled ? kinds_[code] : find_python_kind(code); }
  uint32_t lower(uint32_t code) const {
    return lowercase && (kind(code) & kPythonLower) ? static_cast<uint32_t>(Py_UNICODE_TOLOWER(code)) : code;
  }

  // The characters that replace `code`, which may be none; null data if it is not replaced.
  struct Replacement {
    const uint32_t* data;
    size_t size;
  };
  Replacement replacement(uint32_t code) const {
    static constexpr uint32_t kNothing = 0;
    if (code >= entry_of_.size() || !entry_of_[code]) return {ascii_only && code >= 0x80 ? &kNothing : nullptr, 0};
    const size_t entry = entry_of_[code] - 1;
    const size_t size = ends_[entry + 1] - ends_[entry];
    return {size ? codes_.data() + ends_[entry] : &kNothing, size};
  }

  // Replace `code` by n characters.
  void replace(uint32_t code, const uint32_t* by, size_t n) {
    if (code >= entry_of_.size()) entry_of_.resize(code + 1);
    codes_.insert(codes_.end(), by, by + n);
    ends_.push_back(codes_.size());
    entry_of_[code] = static_cast<uint32_t>(ends_.size() - 1);
  }

 private:
  const uint8_t* kinds_ = python_kind_table();
  std::vector<uint32_t> entry_of_;  // 1 + entry of each code, 0 for none
  std::vector<size_t> ends_{0};
  std::vector<uint32_t> codes_;
};

// Call use(code) for each character of UTF-8, or of a string with one, two or four bytes for each character.
template <class Unit, class Use>
void each_code_of(const Unit* p, size_t length, Use&& use) {
  for (size_t i = 0; i < length; ++i) use(static_cast<uint32_t>(p[i]));
}

template <class Use>
void each_code(const Document& document, Use&& use) {
  if (document.width == 1) return each_code_of(static_cast<const uint8_t*>(document.data), document.length, use);
  if (document.width == 2) return each_code_of(static_cast<const uint16_t*>(document.data), document.length, use);
  if (document.width == 4) return each_code_of(static_cast<const uint32_t*>(document.data), document.length, use);
  const auto* p = static_cast<const uint8_t*>(document.data);
  for (size_t i = 0; i < document.length;) {
    const Decoded at = p[i] < 0x80 ? Decoded{p[i], 1} : decode(p + i, document.length - i);
    use(at.code == kNone ? 0xFFFD : at.code);
    i += at.length;
  }
}

// Pieces of a document in which every character beyond ASCII is a lower-cased word character; the others have become
// spaces.
class PythonSpeller {
 public:
  explicit PythonSpeller(const PythonText* rule) : rule_(rule) {
    if (!rule) return;
    for (uint32_t code = 0; code < kShort; ++code) short_[code] = packed(code);
  }

  // Call read(bytes, ascii, folded) for each piece; ASCII letters of a piece that is `folded` keep their case.
  template <class Read>
  void each_piece(const Document& document, Read&& read) {
    if (document.width == 1) return each(static_cast<const uint8_t*>(document.data), document.length, read);
    if (document.width == 2) return each(static_cast<const uint16_t*>(document.data), document.length, read);
    if (document.width == 4) return each(static_cast<const uint32_t*>(document.data), document.length, read);
    Bytes text{static_cast<const uint8_t*>(document.data), document.length};
    while (text.size) {
      const Bytes piece{text.data, piece_size(text.data, text.size)};
      if (document.ascii || ascii_prefix(piece.data, piece.size) == piece.size) {
        read(piece, true, false);
      } else {
        spell_piece({piece.data, piece.size, 0, false}, read);
      }
      text = {text.data + piece.size, text.size - piece.size};
    }
  }

 private:
  static constexpr uint32_t kShort = 0x800;
  static constexpr size_t kPiece = size_t{1} << 15;

  static bool separates(uint32_t c) { return c < 0x80 && (c | 0x20) - 'a' >= 26 && c - '0' >= 10 && c != '_'; }

  // A position near kPiece where a document can be cut: after an ASCII character that is in no word.
  template <class Unit>
  static size_t piece_size(const Unit* p, size_t length) {
    if (length <= kPiece) return length;
    for (size_t i = kPiece; i > 0; --i)
      if (separates(p[i - 1])) return i;
    size_t i = kPiece;
    while (i < length && !separates(p[i])) ++i;
    return i;
  }

  template <class Unit, class Read>
  void each(const Unit* p, size_t length, Read& read) {
    while (length) {
      const size_t size = piece_size(p, length);
      spell_piece({p, size, sizeof(Unit), false}, read);
      p += size;
      length -= size;
    }
  }

  template <class Read>
  void spell_piece(const Document& piece, Read& read) {
    upper_ = false;
    spell(piece, false);
    if (upper_) spell(piece, true);  // a replacement such as that of ℡ has capitals, which are not lower-cased again
    read({space_.data(), used_}, false, upper_);
  }

  void spell(const Document& piece, bool lower_ascii) {
    used_ = 0;
    room_ = 4 * piece.length + 64;
    space_.make_room(room_);
    if (piece.width <= 1 && !lower_ascii) return spell_bytes(piece);
    each_code(piece, [&](uint32_t code) {
      if (code < kShort && !(lower_ascii && code < 0x80)) {
        const uint64_t entry = short_[code];
        std::memcpy(space_.data() + used_, &entry, 8);
        used_ += entry >> 56;
        if (__builtin_expect(entry >> 56 != 0, 1)) return;
      }
      put(code, lower_ascii);
    });
  }

  // UTF-8 or Latin-1 is mostly ASCII, of which whole stretches are copied.
  void spell_bytes(const Document& piece) {
    const auto* p = static_cast<const uint8_t*>(piece.data);
    for (size_t i = 0; i < piece.length;) {
      const size_t plain = ascii_prefix(p + i, piece.length - i);
      std::memcpy(space_.data() + used_, p + i, plain);
      used_ += plain;
      if ((i += plain) == piece.length) return;
      const Decoded at = piece.width ? Decoded{p[i], 1} : decode(p + i, piece.length - i);
      put(at.code == kNone ? 0xFFFD : at.code, false);
      i += at.length;
    }
  }

  void put(uint32_t code, bool lower_ascii) {
    if (code < 0x80) {
      space_[used_++] = static_cast<uint8_t>(lower_ascii && code - 'A' < 26 ? code | 0x20 : code);
      return;
    }
    const PythonText::Replacement found = rule_->replacement(code);
    if (!found.data) return put_one(rule_->lower(code));
    room_ += 4 * found.size;
    space_.make_room(room_);
    for (size_t i = 0; i < found.size; ++i) {
      put_one(found.data[i]);
      upper_ |= rule_->lowercase && found.data[i] - 'A' < 26;
    }
  }

  void put_one(uint32_t code) {
    if (code < 0x80 || rule_->kind(code) & kPythonWord) {
      used_ += encode(code, space_.data() + used_);
    } else {
      space_[used_++] = ' ';
    }
  }

  // Up to 7 bytes of a character's spelling, the first lowest, and their number in the top byte; 0 if put() spells it.
  uint64_t packed(uint32_t code) const {
    if (code < 0x80) return code | 1ull << 56;
    if (rule_->replacement(code).data) return 0;
    const uint32_t low = rule_->lower(code);
    uint8_t bytes[8] = {' '};
    unsigned length = 1;
    if (low < 0x80 || rule_->kind(low) & kPythonWord) length = encode(low, bytes);
    uint64_t entry = 0;
    for (unsigned i = 0; i < length; ++i) entry |= static_cast<uint64_t>(bytes[i]) << 8 * i;
    return entry | static_cast<uint64_t>(length) << 56;
  }

  const PythonText* rule_;
  std::array<uint64_t, kShort> short_;
  Array<uint8_t> space_;
  size_t used_ = 0, room_ = 0;
  bool upper_ = false;
};

// All n-grams of a document's characters, the short ones first. Two or more spaces in a row are one space.
class DocumentGrams {
 public:
  explicit DocumentGrams(const PythonText* rule) : rule_(rule) {}

  template <class Table, class Flush>
  void scan(const Document& document, const Table& table, Flush& flush) {
    read(document);
    const auto ahead = table.ahead();
    const size_t length = starts_used_;
    for (size_t n = rule_->shortest; n <= std::min<size_t>(rule_->longest, length); ++n) {
      unsigned waiting = 0;
      for (size_t at = 0; at + n <= length; ++at) {
        batch_[waiting] = token_in(text_.data() + starts_[at], static_cast<uint32_t>(starts_[at + n] - starts_[at]));
        ahead.fetch(batch_[waiting].hash);
        if (++waiting < kBatch) continue;
        flush(static_cast<const Token*>(batch_.data()), waiting, false);
        waiting = 0;
      }
      if (waiting) flush(static_cast<const Token*>(batch_.data()), waiting, false);
    }
  }

 private:
  void read(const Document& document) {
    used_ = starts_used_ = 0;
    room_ = 4 * document.length + 64;
    starts_room_ = document.length + 2;
    text_.make_room(room_);
    starts_.make_room(starts_room_);
    spaces_ = 0;
    each_code(document, [&](uint32_t code) {
      const PythonText::Replacement found = rule_->replacement(code);
      if (__builtin_expect(!found.data, 1)) return put(rule_->lower(code));
      text_.make_room(room_ += 4 * found.size);
      starts_.make_room(starts_room_ += found.size);
      std::for_each(found.data, found.data + found.size, [&](uint32_t one) { put(one); });
    });
    put_spaces();
    starts_[starts_used_] = used_;
  }

  void put(uint32_t code) {
    if (rule_->kind(code) & kPythonSpace) {
      ++spaces_;
      space_ = code;
      return;
    }
    put_spaces();
    put_one(code);
  }

  void put_spaces() {
    if (spaces_) put_one(spaces_ == 1 ? space_ : ' ');
    spaces_ = 0;
  }

  void put_one(uint32_t code) {
    starts_[starts_used_++] = used_;
    used_ += encode(code, text_.data() + used_);
  }

  const PythonText* rule_;
  Array<uint8_t> text_;
  Array<size_t> starts_;
  size_t used_ = 0, room_ = 0, starts_used_ = 0, starts_room_ = 0, spaces_ = 0;
  uint32_t space_ = ' ';
  std::array<Token, kBatch> batch_;
};

// Whether a document has U+03A3, whose lower-case form depends on its neighbours.
inline bool has_sigma(const Document& document) {
  if (document.ascii || document.width == 1) return false;
  bool found = false;
  if (document.width) {
    each_code(document, [&](uint32_t code) { found |= code == 0x3A3; });
    return found;
  }
  const auto* p = static_cast<const uint8_t*>(document.data);
  for (size_t i = 0; i + 1 < document.length; ++i) found |= p[i] == 0xCE && p[i + 1] == 0xA3;
  return found;
}

}  // namespace unnaive
