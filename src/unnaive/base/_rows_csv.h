// Delimited text → columns, like Python's csv module; input on which the two might differ is refused.
#pragma once
#include "_rows_column.h"

namespace unnaive {

struct CsvShape {
  uint8_t delimiter;
  size_t width;                 // number of fields of every row
  std::vector<int64_t> places;  // the output column of each field, or −1
  size_t longest;               // maximum number of bytes of a field
};

constexpr size_t kStrayLines = 10;  // STRAY_LINES of csv_records.py, which states the rule for stray quotes

// The end of the last whole row, after the last line end outside quotes; 0 if there is none.
inline size_t csv_rows_end(const uint8_t* data, size_t size) {
  size_t quotes = 0;
  for (size_t i = 0; i < size; ++i) quotes += data[i] == '"';
  for (size_t i = size; i > 0; --i) {
    if (data[i - 1] == '\n' && quotes % 2 == 0) return i;
    quotes -= data[i - 1] == '"';
  }
  return 0;
}

class CsvReader {
 public:
  CsvReader(const uint8_t* p, const uint8_t* end, const CsvShape& shape) : p_(p), end_(end), shape_(shape) {}

  bool done() const { return p_ == end_; }

  bool skip_blank_line() {
    if (*p_ == '\n') return ++p_, true;
    if (*p_ == '\r' && end_ - p_ > 1 && p_[1] == '\n') return p_ += 2, true;
    return false;
  }

  // Read one row; false if Python must read it.
  bool read_row(Columns& columns) {
    if (end_ - p_ > 2 && p_[0] == 0xef && p_[1] == 0xbb && p_[2] == 0xbf) return false;  // a byte-order mark inside
    for (size_t field = 0;; ++field) {
      if (field == shape_.width) return false;
      const int64_t place = shape_.places[field];
      Column* column = place < 0 ? nullptr : &columns[static_cast<size_t>(place)];
      const uint8_t* start = p_;
      if (!(p_ != end_ && *p_ == '"' ? quoted(column) : bare(column))) return false;
      if (static_cast<size_t>(p_ - start) > shape_.longest) return false;
      if (column) column->end_cell(kString);
      if (p_ != end_ && *p_ == shape_.delimiter) {
        ++p_;
        continue;
      }
      return field + 1 == shape_.width && end_row();
    }
  }

 private:
  bool end_row() {
    if (p_ == end_) return true;
    if (*p_ == '\r') ++p_;
    if (p_ == end_ || *p_ != '\n') return false;
    ++p_;
    return true;
  }

  bool quoted(Column* column) {
    const uint8_t* opened = ++p_;
    while (true) {
      const uint8_t* start = p_;
      p_ = find<'"'>(p_, end_);
      if (p_ == end_) return false;
      const bool doubled = end_ - p_ > 1 && p_[1] == '"';
      if (column) column->bytes.append(start, static_cast<size_t>(p_ - start) + doubled);
      p_ += 1 + doubled;
      if (doubled) continue;
      if (p_ - 1 > opened && ends_field(p_[-2]) && may_be_stray(opened, p_ - 1)) return false;
      return p_ == end_ || ends_field(*p_);
    }
  }

  bool ends_field(uint8_t c) const { return c == shape_.delimiter || c == '\n' || c == '\r'; }

  // Whether a quoted field might start with a stray quote: it has many lines, and all lines inside it could be whole
  // rows.
  bool may_be_stray(const uint8_t* p, const uint8_t* closed) const {
    if (shape_.width < 2) return false;
    size_t lines = 0, delimiters = 0;
    bool blank = true, quotes = false;
    for (; p != closed; ++p) {
      if (*p == '\n' || *p == '\r') {
        if (lines && !blank && !quotes && delimiters + 1 != shape_.width) return false;
        lines += *p == '\n' || p + 1 == closed || p[1] != '\n';
        delimiters = 0, blank = true, quotes = false;
        continue;
      }
      delimiters += *p == shape_.delimiter;
      blank &= *p <= ' ';
      quotes |= *p == '"' || *p >= 0x80;
    }
    return lines > kStrayLines;
  }

  bool bare(Column* column) {
    const uint8_t* start = p_;
    const uint64_t delimiters = kEach * shape_.delimiter;
    while (end_ - p_ >= 8) {
      const uint64_t word = load8(p_), hit = any_of<'\n', '\r', '"'>(word) | zeros(word ^ delimiters);
      p_ += hit ? __builtin_ctzll(hit) >> 3 : 8;
      if (hit) break;
    }
    while (p_ != end_ && *p_ != shape_.delimiter && *p_ != '\n' && *p_ != '\r' && *p_ != '"') ++p_;
    if (column) column->bytes.append(start, static_cast<size_t>(p_ - start));
    return p_ == end_ || *p_ != '"';
  }

  const uint8_t* p_;
  const uint8_t* end_;
  const CsvShape& shape_;
};

// Read the rows of `data`, which consists of whole rows; the first `skipped` rows are left out.
inline bool read_csv(const uint8_t* p, const uint8_t* end, const CsvShape& shape, size_t skipped, Columns& columns) {
  CsvReader reader(p, end, shape);
  Columns aside = empty_columns(skipped ? columns.size() : 0, skipped ? static_cast<size_t>(end - p) : 0);
  for (size_t row = 0; !reader.done();) {
    if (reader.skip_blank_line()) continue;
    if (!reader.read_row(row < skipped ? aside : columns)) return false;
    ++row;
  }
  return true;
}

}  // namespace unnaive
