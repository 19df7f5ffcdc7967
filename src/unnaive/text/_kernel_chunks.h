// Characters → chunks: the text between spaces, folded, including punctuation; character n-grams are cut from them.
// chunk_pattern of scripts.py is the same as a regular expression.
#pragma once
#include <array>

#include "_kernel_memory.h"
#include "_kernel_spell.h"
#include "_kernel_token.h"

namespace unnaive {

// Whether a code is a space or control character, a surrogate, or the replacement for bytes that are not UTF-8.
inline bool is_space(uint32_t code) {
  const auto within = [code](uint32_t first, uint32_t last) { return code - first <= last - first; };
  if (code < 0x1680) return code <= 0x20 || within(0x7F, 0xA0);
  if (code < 0x2060)
    return code == 0x1680 || within(0x2000, 0x200B) || within(0x2028, 0x2029) || code == 0x202F || code == 0x205F;
  return code == 0x3000 || within(0xD800, 0xDFFF) || code == 0xFEFF || code == 0xFFFD;
}

class Chunker {
 public:
  explicit Chunker(const Rule& rule) : rule_(rule) {
    for (uint32_t code = 0; code < 0x80; ++code) ascii_[code] = parts(code) ? 0 : static_cast<uint8_t>(lower(code));
    if (rule.lowercase && rule.turkish) ascii_['I'] = kLonger;
    if (rule.python) ascii_[0] = ascii_[1] = kLonger;  // these bytes would mean something else in the table
  }

  // Call flush(tokens, n, false) for every batch of the document's chunks, which are valid during the call.
  template <class Table, class Flush>
  void scan(const Document& document, const Table& table, Flush& flush) {
    switch (document.width) {
      case 0:
        read_utf8({static_cast<const uint8_t*>(document.data), document.length}, table, flush);
        break;
      case 1:
        read(static_cast<const uint8_t*>(document.data), document.length, table, flush);
        break;
      case 2:
        read(static_cast<const uint16_t*>(document.data), document.length, table, flush);
        break;
      default:
        read(static_cast<const uint32_t*>(document.data), document.length, table, flush);
    }
    end_chunk(table, flush);
    send(table, flush);
  }

 private:
  static constexpr uint8_t kLonger = 1;              // marks an ASCII character whose lower-case form is not ASCII
  static constexpr size_t kBlock = size_t{1} << 12;  // characters between two checks of the buffer's size

  bool parts(uint32_t code) const {
    if (rule_.python) return rule_.python->kind(code) & kPythonSpace;
    return is_space(code) || (!rule_.digits && kinds[code] & kNumber);
  }

  uint32_t lower(uint32_t code) const {
    if (!rule_.lowercase) return code;
    if (code < 0x80) return code - 'A' < 26 ? code | 0x20 : code;
    return folded(code);
  }

  template <class Table, class Flush>
  void put(uint32_t code, const Table& table, Flush& flush) {
    if (code < 0x80) {
      const uint8_t byte = ascii_[code];
      if (__builtin_expect(byte > kLonger, 1)) {
        text_[used_++] = byte;
      } else if (byte == kLonger) {
        used_ += encode(rule_.python ? code : 0x131, text_.data() + used_);  // 0x131: ı
      } else {
        end_chunk(table, flush);
      }
    } else if (rule_.python) {
      put_python(code, table, flush);
    } else if (parts(code)) {
      end_chunk(table, flush);
    } else {
      used_ += encode(lower(code), text_.data() + used_);
    }
  }

  template <class Table, class Flush>
  void put_python(uint32_t code, const Table& table, Flush& flush) {
    const auto put_one = [&](uint32_t one) {
      if (parts(one)) return end_chunk(table, flush);
      used_ += encode(one, text_.data() + used_);
    };
    const PythonText::Replacement found = rule_.python->replacement(code);
    if (!found.data) return put_one(rule_.python->lower(code));
    text_.make_room(room_ += 4 * found.size);
    std::for_each(found.data, found.data + found.size, put_one);
  }

  void make_room() { text_.make_room(room_ = used_ + 4 * kBlock + 16); }  // keys are read 16 bytes at a time

  template <class Unit, class Table, class Flush>
  void read(const Unit* p, size_t length, const Table& table, Flush& flush) {
    for (size_t from = 0; from < length; from += kBlock) {
      make_room();
      const size_t to = std::min(length, from + kBlock);
      for (size_t i = from; i < to; ++i) put(p[i], table, flush);
    }
  }

  // Bytes that are not UTF-8 separate chunks, like U+FFFD.
  template <class Table, class Flush>
  void read_utf8(Bytes text, const Table& table, Flush& flush) {
    for (size_t i = 0; i < text.size;) {
      make_room();
      const size_t to = std::min(text.size, i + kBlock);
      while (i < to) {
        const uint8_t c = text.data[i];
        const Decoded at = c < 0x80 ? Decoded{c, 1} : decode(text.data + i, text.size - i);
        put(at.code == kNone ? 0xFFFD : at.code, table, flush);
        i += at.length;
      }
    }
  }

  template <class Table, class Flush>
  void end_chunk(const Table& table, Flush& flush) {
    if (used_ == starts_[count_]) return;
    starts_[++count_] = used_;
    if (count_ == kBatch) send(table, flush);
  }

  template <class Table, class Flush>
  void send(const Table& table, Flush& flush) {
    const auto ahead = table.ahead();
    for (unsigned i = 0; i < count_; ++i) {
      batch_[i] = token_in(text_.data() + starts_[i], static_cast<uint32_t>(starts_[i + 1] - starts_[i]));
      ahead.fetch(batch_[i].hash);
    }
    const unsigned n = count_;
    count_ = 0;
    used_ = 0;
    if (n) flush(static_cast<const Token*>(batch_.data()), n, false);
  }

  Rule rule_;
  std::array<uint8_t, 0x80> ascii_;  // 0 for characters that separate chunks
  Array<uint8_t> text_;
  std::array<size_t, kBatch + 1> starts_{};
  std::array<Token, kBatch> batch_;
  unsigned count_ = 0;
  size_t used_ = 0, room_ = 0;
};

}  // namespace unnaive
