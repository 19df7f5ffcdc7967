// The text of markup: tags, comments, scripts and styles become a space, and entities become the characters they stand
// for. The steps are those of the regular expression in markup.py.
#pragma once
#include <string>
#include <unordered_map>

#include "_kernel_memory.h"
#include "_kernel_text.h"

namespace unnaive {

// UTF-8 by entity name, including the semicolon that most names need; from Python's html.entities.
using Entities = std::unordered_map<std::string, std::string>;

class Markup {
 public:
  explicit Markup(const Entities& entities) : entities_(entities) {}

  // Append the text of the markup to `out`, which has `used` bytes; return the new number of bytes.
  size_t clean(Bytes text, Array<uint8_t>& out, size_t used) const {
    out.make_room(used + 2 * text.size + 8);  // no entity is shorter than half the UTF-8 of its characters
    uint8_t* to = out.data() + used;
    const uint8_t *at = text.data, *const stop = text.data + text.size;
    while (at < stop) {
      const uint8_t* mark = next_mark(at, stop);
      std::memcpy(to, at, static_cast<size_t>(mark - at));
      to += mark - at;
      if (mark == stop) break;
      at = *mark == '<' ? skip_tag(mark, stop, to) : read_entity(mark, stop, to);
    }
    return static_cast<size_t>(to - out.data());
  }

 private:
  static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }
  static bool is_letter(uint8_t c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
  static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
  static bool is_hex(uint8_t c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }
  static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  // The position of the first < or &, or the end.
  static const uint8_t* next_mark(const uint8_t* p, const uint8_t* stop) {
#ifdef UNNAIVE_SSE2
    const __m128i tag = _mm_set1_epi8('<'), entity = _mm_set1_epi8('&');
    for (; stop - p >= 16; p += 16) {
      const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      const int found = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(c, tag), _mm_cmpeq_epi8(c, entity)));
      if (found) return p + __builtin_ctz(static_cast<unsigned>(found));
    }
#endif
    while (p < stop && *p != '<' && *p != '&') ++p;
    return p;
  }

  // Whether the text at p begins with `name`, ignoring case.
  static bool begins(const uint8_t* p, const uint8_t* stop, const char* name) {
    for (; *name; ++p, ++name)
      if (p == stop || lower(*p) != static_cast<uint8_t>(*name)) return false;
    return true;
  }

  // Write a space for the tag at p and return its end; a < that starts no tag is copied.
  static const uint8_t* skip_tag(const uint8_t* p, const uint8_t* stop, uint8_t*& out) {
    const uint8_t* end = tag_end(p, stop);
    *out++ = end ? ' ' : *p;
    return end ? end : p + 1;
  }

  // The end of the tag, comment, script or style at p; null if there is none.
  static const uint8_t* tag_end(const uint8_t* p, const uint8_t* stop) {
    if (begins(p, stop, "<!--")) return comment_end(p + 4, stop);
    for (const char* element : {"script", "style"})
      if (begins(p + 1, stop, element)) {
        const uint8_t* after = p + 1 + std::strlen(element);
        const bool whole = after == stop || !(is_letter(*after) || is_digit(*after) || *after == '_');
        if (whole) return element_end(after, stop, element);
      }
    if (stop - p < 2 || !(is_letter(p[1]) || p[1] == '!' || p[1] == '/' || p[1] == '?')) return nullptr;
    const uint8_t* end = std::find_if(p + 2, stop, [](uint8_t c) { return c == '<' || c == '>'; });
    return end < stop && *end == '>' ? end + 1 : nullptr;
  }

  // Comments, scripts and styles that are not closed extend to the end of the text.
  static const uint8_t* comment_end(const uint8_t* p, const uint8_t* stop) {
    const char close[] = "-->";
    const uint8_t* end = std::search(p, stop, close, close + 3);
    return end == stop ? stop : end + 3;
  }

  static const uint8_t* element_end(const uint8_t* p, const uint8_t* stop, const char* element) {
    for (; p < stop; ++p) {
      p = std::find(p, stop, uint8_t{'<'});
      if (stop - p < 2 || p[1] != '/' || !begins(p + 2, stop, element)) continue;
      const uint8_t* end = std::find_if_not(p + 2 + std::strlen(element), stop, is_space);
      if (end < stop && *end == '>') return end + 1;
    }
    return stop;
  }

  // Write the characters of the entity at p and return its end; an & that starts no entity is copied.
  const uint8_t* read_entity(const uint8_t* p, const uint8_t* stop, uint8_t*& out) const {
    const bool numeric = stop - p >= 2 && p[1] == '#';
    const bool hex = numeric && stop - p >= 4 && lower(p[2]) == 'x' && is_hex(p[3]);
    const auto belongs = [&](uint8_t c) { return hex ? is_hex(c) : is_digit(c) || (!numeric && is_letter(c)); };
    const uint8_t* from = p + 1 + numeric + hex;
    const uint8_t* end = std::find_if_not(from, from + std::min<ptrdiff_t>(stop - from, numeric ? 8 : 41), belongs);
    if (end == from || (!numeric && !is_letter(*from))) {
      *out++ = '&';
      return p + 1;
    }
    if (numeric) {
      write_code(std::stoul(std::string(from, end), nullptr, hex ? 16 : 10), out);
      return end < stop && *end == ';' ? end + 1 : end;
    }
    if (end < stop && *end == ';') ++end;
    write_name(std::string(from, end), out);
    return end;
  }

  static void write_code(unsigned long code, uint8_t*& out) {
    static const uint16_t windows[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                         0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                         0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                         0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
    if (code >= 0x80 && code < 0xA0) {
      code = windows[code - 0x80];
    } else if (code == 0 || code > kMaxCode || (code >= 0xD800 && code <= 0xDFFF)) {
      code = 0xFFFD;
    } else if (code != '\r' && is_no_character(code)) {
      return;
    }
    out += encode(static_cast<uint32_t>(code), out);
  }

  static bool is_no_character(unsigned long code) {
    return code < 9 || code == 0xB || (code >= 0xE && code < 0x20) || code == 0x7F ||
           (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE;
  }

  // Write the longest known name at the start, and the rest unchanged; like html.unescape, only the first 32 characters
  // are considered.
  void write_name(const std::string& name, uint8_t*& out) const {
    const bool closed = name.back() == ';';
    const size_t letters = name.size() - closed;
    const size_t most = letters > 32 ? 32 : name.size();
    for (size_t length = most; length >= 2; --length) {
      const auto found = entities_.find(name.substr(0, length));
      if (found == entities_.end()) continue;
      append(found->second, out);
      append(name.substr(length), out);
      return;
    }
    *out++ = '&';
    append(name, out);
  }

  static void append(const std::string& text, uint8_t*& out) {
    std::memcpy(out, text.data(), text.size());
    out += text.size();
  }

  const Entities& entities_;
};

}  // namespace unnaive
