// Columns → delimited text, like Python's csv module: a cell with a quote, the delimiter or a line end is quoted.
#pragma once
#include <algorithm>

#include "_rows_column.h"

namespace unnaive {

struct TextColumn {
  const uint8_t* bytes;
  const int64_t* ends;  // cell i is bytes[ends[i]] … bytes[ends[i + 1] − 1]
};

class CsvLines {
 public:
  // The size of the output if every cell is quoted, followed by a delimiter or line end, and every quote is doubled.
  static size_t room(const std::vector<TextColumn>& columns, size_t rows) {
    size_t room = 3 * columns.size() * rows;
    for (const TextColumn& column : columns) {
      const uint8_t *from = column.bytes + column.ends[0], *to = column.bytes + column.ends[rows];
      room += static_cast<size_t>(to - from) + static_cast<size_t>(std::count(from, to, uint8_t{'"'}));
    }
    return room;
  }

  CsvLines(Bytes& out, uint8_t delimiter) : out_(out), delimiter_(delimiter) {}

  void write(const std::vector<TextColumn>& columns, size_t rows) {
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < columns.size(); ++i) {
        const TextColumn& column = columns[i];
        cell(column.bytes + column.ends[row], column.bytes + column.ends[row + 1]);
        out_.append(i + 1 < columns.size() ? delimiter_ : uint8_t{'\n'});
      }
  }

 private:
  void cell(const uint8_t* p, const uint8_t* end) {
    if (!must_quote(p, end)) return out_.append(p, static_cast<size_t>(end - p));
    out_.append('"');
    while (true) {
      const void* found = p == end ? nullptr : std::memchr(p, '"', static_cast<size_t>(end - p));
      const uint8_t* stop = found ? static_cast<const uint8_t*>(found) + 1 : end;
      out_.append(p, static_cast<size_t>(stop - p));
      out_.append('"');  // doubles the quote before it, or closes the cell
      if (!found) return;
      p = stop;
    }
  }

  bool must_quote(const uint8_t* p, const uint8_t* end) const {
    const uint64_t delimiters = kEach * delimiter_;
    for (; end - p >= 8; p += 8) {
      const uint64_t word = load8(p);
      if (any_of<'\n', '\r', '"'>(word) | zeros(word ^ delimiters)) return true;
    }
    for (; p != end; ++p)
      if (*p == delimiter_ || *p == '\n' || *p == '\r' || *p == '"') return true;
    return false;
  }

  Bytes& out_;
  uint8_t delimiter_;
};

}  // namespace unnaive
