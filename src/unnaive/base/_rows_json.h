// JSON lines → columns, like Python's json module; lines on which the two might differ are refused.
#pragma once
#include <string>
#include <string_view>

#include "_rows_column.h"

namespace unnaive {

constexpr int kDeepest = 64;            // maximum nesting; deeper values are left to Python
constexpr size_t kLongestNumber = 500;  // characters of a number; Python refuses integers of thousands of digits

// One line. A method returns false if the line must be left to Python.
class JsonLine {
 public:
  JsonLine(const uint8_t* p, const uint8_t* end) : p_(p), end_(end) {}

  bool blank() {
    skip_space();
    return p_ == end_;
  }

  // Parse {"key": value, …} with nothing after it; `member(key)` reads the value.
  template <class Member>
  bool object(Member member) {
    if (!take('{')) return false;
    skip_space();
    if (take('}')) return finished();
    do {
      skip_space();
      std::string_view key;
      if (!plain_key(key)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!member(key)) return false;
      skip_space();
    } while (take(','));
    return take('}') && finished();
  }

  // Append the value to the column: a string is decoded, any other value is copied as JSON.
  bool read_value(Column& column) {
    if (p_ != end_ && *p_ == '"') {
      if (!decode_string(column.bytes)) return false;
      column.end_cell(kString);
      return true;
    }
    const uint8_t* start = p_;
    if (!skip_value(0)) return false;
    column.bytes.append(start, static_cast<size_t>(p_ - start));
    column.end_cell(kOther);
    return true;
  }

  bool skip_value(int depth) {
    if (p_ == end_ || depth > kDeepest) return false;
    switch (*p_) {
      case '"':
        return skip_string();
      case '{':
        return skip_members('}', depth);
      case '[':
        return skip_members(']', depth);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

 private:
  bool finished() {
    skip_space();
    return p_ == end_;
  }

  void skip_space() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\t')) ++p_;
  }

  bool take(uint8_t wanted) {
    if (p_ == end_ || *p_ != wanted) return false;
    ++p_;
    return true;
  }

  bool word(const char* wanted) {
    const size_t size = std::strlen(wanted);
    if (static_cast<size_t>(end_ - p_) < size || std::memcmp(p_, wanted, size) != 0) return false;
    p_ += size;
    return true;
  }

  bool plain_key(std::string_view& key) {
    if (!take('"')) return false;
    const uint8_t* start = p_;
    p_ = find<'"', '\\', '\r'>(p_, end_);
    key = {reinterpret_cast<const char*>(start), static_cast<size_t>(p_ - start)};
    return take('"');
  }

  bool skip_members(uint8_t close, int depth) {
    ++p_;
    skip_space();
    if (take(close)) return true;
    do {
      skip_space();
      if (close == '}') {
        if (p_ == end_ || *p_ != '"' || !skip_string()) return false;
        skip_space();
        if (!take(':')) return false;
        skip_space();
      }
      if (!skip_value(depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take(close);
  }

  size_t digits() {
    const uint8_t* start = p_;
    while (p_ != end_ && *p_ >= '0' && *p_ <= '9') ++p_;
    return static_cast<size_t>(p_ - start);
  }

  bool number() {
    const uint8_t* start = p_;
    take('-');
    const bool zero = p_ != end_ && *p_ == '0';
    const size_t whole = digits();
    if (!whole || (zero && whole > 1)) return false;
    if (take('.') && !digits()) return false;
    if (p_ != end_ && (*p_ | 0x20) == 'e') {
      ++p_;
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    return static_cast<size_t>(p_ - start) <= kLongestNumber;
  }

  bool skip_string() {
    ++p_;
    while (true) {
      p_ = find<'"', '\\', '\r'>(p_, end_);
      if (take('"')) return true;
      uint32_t code;
      if (!take('\\') || !escape(code)) return false;
    }
  }

  bool decode_string(Bytes& out) {
    ++p_;
    while (true) {
      const uint8_t* start = p_;
      p_ = find<'"', '\\', '\r'>(p_, end_);
      out.append(start, static_cast<size_t>(p_ - start));
      if (take('"')) return true;
      uint32_t code;
      if (!take('\\') || !escape(code) || !append_code(code, out)) return false;
    }
  }

  bool escape(uint32_t& code) {
    if (p_ == end_) return false;
    switch (*p_++) {
      case '"':
        code = '"';
        return true;
      case '\\':
        code = '\\';
        return true;
      case '/':
        code = '/';
        return true;
      case 'b':
        code = '\b';
        return true;
      case 'f':
        code = '\f';
        return true;
      case 'n':
        code = '\n';
        return true;
      case 'r':
        code = '\r';
        return true;
      case 't':
        code = '\t';
        return true;
      case 'u':
        return four_digits(code);
      default:
        return false;
    }
  }

  bool four_digits(uint32_t& code) {
    if (end_ - p_ < 4) return false;
    code = 0;
    for (int i = 0; i < 4; ++i, ++p_) {
      const uint8_t letter = *p_ | 0x20;
      const bool digit = *p_ >= '0' && *p_ <= '9';
      if (!digit && !(letter >= 'a' && letter <= 'f')) return false;
      code = code * 16 + (digit ? *p_ - '0' : letter - 'a' + 10);
    }
    return true;
  }

  // Append the character in UTF-8; two surrogates are joined, and a lone surrogate is refused.
  bool append_code(uint32_t code, Bytes& out) {
    if (code >= 0xd800 && code <= 0xdfff) {
      uint32_t low;
      if (code > 0xdbff || !take('\\') || !take('u') || !four_digits(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0x80) {
      out.append(static_cast<uint8_t>(code));
      return true;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static constexpr uint8_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    out.append(static_cast<uint8_t>(kFirst[more] | (code >> (6 * more))));
    for (int i = more - 1; i >= 0; --i) out.append(static_cast<uint8_t>(0x80 | ((code >> (6 * i)) & 0x3f)));
    return true;
  }

  const uint8_t* p_;
  const uint8_t* end_;
};

// The keys to read, and keys whose records are left to Python.
struct JsonKeys {
  std::vector<std::string> wanted;
  std::vector<std::string> refused;
  size_t required;  // this many of the first `wanted` keys must be present
  bool closed;      // whether a record with any other key is left to Python too
};

inline bool read_record(JsonLine& line, const JsonKeys& keys, Columns& columns, size_t row) {
  const bool sound = line.object([&](std::string_view key) {
    for (size_t i = 0; i < columns.size(); ++i)
      if (key == keys.wanted[i]) return columns[i].kinds.size() == row && line.read_value(columns[i]);
    for (const std::string& name : keys.refused)
      if (key == name) return false;
    return !keys.closed && line.skip_value(0);
  });
  if (!sound) return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].kinds.size() > row) continue;
    if (i < keys.required) return false;
    columns[i].end_cell(kMissing);
  }
  return true;
}

// Read the records of whole lines of at most `longest` bytes. If `bounds` is given, the start and end of each line,
// including its line end, are appended to it.
inline bool read_json(const uint8_t* p, const uint8_t* end, const JsonKeys& keys, size_t longest, Columns& columns,
                      std::vector<int64_t>* bounds = nullptr) {
  const uint8_t* const start = p;
  for (size_t row = 0; p != end;) {
    const auto* stop = static_cast<const uint8_t*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
    const uint8_t* next = stop ? stop + 1 : end;
    stop = stop ? stop : end;
    if (static_cast<size_t>(next - p) > longest) return false;
    if (stop != p && next != stop && stop[-1] == '\r') --stop;
    JsonLine line(p, stop);
    if (!line.blank()) {
      if (!read_record(line, keys, columns, row)) return false;
      ++row;
      if (bounds) bounds->insert(bounds->end(), {p - start, next - start});
    }
    p = next;
  }
  return true;
}

}  // namespace unnaive
