// The parts of an RFC 822 message that are read; the steps are those of mail.py, line by line.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "_kernel_text.h"

namespace unnaive {

enum class Message : uint8_t { none, whole, body, subject_body, from_subject_body };

// A line without its line end, and the start of the next one.
struct Line {
  const uint8_t *start, *end, *next;

  Line(const uint8_t* at, const uint8_t* stop) : start(at) {
    const auto* newline = static_cast<const uint8_t*>(std::memchr(at, '\n', static_cast<size_t>(stop - at)));
    end = newline ? newline : stop;
    next = newline ? newline + 1 : stop;
    if (end > start && end[-1] == '\r') --end;
  }
  size_t size() const { return static_cast<size_t>(end - start); }
  bool empty() const { return start == end; }
  bool indented() const { return !empty() && (*start == ' ' || *start == '\t'); }
  bool starts_with(const char* text) const {
    const size_t length = std::strlen(text);
    return size() >= length && std::memcmp(start, text, length) == 0;
  }
  // Whether all bytes from `from` on can occur in UU encoding.
  bool uu_from(size_t from) const {
    return std::all_of(start + from, end, [](uint8_t c) { return c >= ' ' && c <= '`'; });
  }
};

inline bool uu_begin(const Line& line) {
  if (!line.starts_with("begin ")) return false;
  const uint8_t* p = line.start + 6;
  while (p < line.end && *p >= '0' && *p <= '7') ++p;
  const auto digits = p - line.start - 6;
  return (digits == 3 || digits == 4) && p < line.end && *p == ' ';
}

inline bool uu_full(const Line& line) {
  return (line.size() == 61 || line.size() == 62) && *line.start == 'M' && line.uu_from(1);
}

inline bool uu_last(const Line& line) {
  if (std::all_of(line.start, line.end, [](uint8_t c) { return c == ' ' || c == '`'; })) return true;
  const unsigned count = *line.start - ' ';
  return *line.start >= '!' && *line.start <= 'L' && line.size() == 1 + (count + 2) / 3 * 4 && line.uu_from(1);
}

// The position of the colon of a header field, or null.
inline const uint8_t* field_end(const Line& line) {
  const uint8_t* p = line.start;
  while (p < line.end && *p >= '!' && *p <= '~' && *p != ':') ++p;
  return p > line.start && p < line.end && *p == ':' ? p : nullptr;
}

inline bool wanted_field(const Line& line, const uint8_t* colon, Message parts) {
  std::string name(line.start, colon);
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  return (name == "subject" && parts >= Message::subject_body) ||
         (name == "from" && parts == Message::from_subject_body);
}

// Append the values of the wanted fields to `parts`; return the start of the body, which is the start of the text if
// there is no header.
inline const uint8_t* read_header(Bytes text, Message wanted, std::vector<Bytes>& parts) {
  const uint8_t* stop = text.data + text.size;
  bool in_field = false, keep = false;
  for (const uint8_t* at = text.data; at < stop;) {
    const Line line(at, stop);
    const uint8_t* colon = field_end(line);
    if (colon) {
      in_field = true;
      keep = wanted_field(line, colon, wanted);
      if (keep) parts.push_back({colon + 1, static_cast<size_t>(line.next - colon - 1)});
    } else if (in_field && line.indented()) {
      if (keep) parts.push_back({line.start, static_cast<size_t>(line.next - line.start)});
    } else if (in_field && line.empty()) {
      return line.next;
    } else if (!(at == text.data && (line.starts_with("From ") || line.indented()))) {
      in_field = false;
      break;
    }
    at = line.next;
  }
  if (in_field) return stop;
  parts.clear();
  return text.data;
}

// Append every stretch between UU-encoded blocks to `parts`.
inline void read_body(const uint8_t* body, const uint8_t* stop, std::vector<Bytes>& parts) {
  const uint8_t* kept = body;
  bool inside = false;
  for (const uint8_t* at = body; at < stop;) {
    const Line line(at, stop);
    bool skip = uu_begin(line) || uu_full(line);
    if (skip) {
      inside = true;
    } else if (inside) {
      const bool last = line.size() == 3 && line.starts_with("end");
      skip = last || uu_last(line);
      inside = skip && !last;
    }
    if (skip) {
      parts.push_back({kept, static_cast<size_t>(line.start - kept)});
      kept = line.next;
    }
    at = line.next;
  }
  parts.push_back({kept, static_cast<size_t>(stop - kept)});
}

inline void message_parts(Bytes text, Message wanted, std::vector<Bytes>& parts) {
  parts.clear();
  const uint8_t* body = wanted == Message::whole ? text.data : read_header(text, wanted, parts);
  read_body(body, text.data + text.size, parts);
}

// Whether a header may have a field that requires MIME decoding, by its first `most` characters; mail.py decides.
template <class Unit>
bool may_need_mime(const Unit* text, size_t length, size_t most) {
  static constexpr char kField[] = "content-t";
  static constexpr size_t kSize = sizeof kField - 1;
  const Unit* stop = text + std::min(length, most);
  for (const Unit* at = text; at < stop; ++at) {
    const Unit* end = std::find(at, stop, Unit{'\n'});
    if (end == at && at > text) return false;  // the header ends here
    const auto same = [](Unit c, char wanted) { return (c >= 'A' && c <= 'Z' ? c | 0x20u : c) == Unit(wanted); };
    if (static_cast<size_t>(end - at) >= kSize && std::equal(at, at + kSize, kField, same)) return true;
    while ((at = std::find(at, end, Unit{'='})) < end)
      if (++at < end && *at == '?') return true;
  }
  return false;
}

inline bool may_need_mime(const Document& text, size_t most) {
  if (text.width == 2) return may_need_mime(static_cast<const uint16_t*>(text.data), text.length, most);
  if (text.width == 4) return may_need_mime(static_cast<const uint32_t*>(text.data), text.length, most);
  return may_need_mime(static_cast<const uint8_t*>(text.data), text.length, text.width || text.ascii ? most : 4 * most);
}

}  // namespace unnaive
