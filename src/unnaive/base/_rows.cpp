// Bindings: rows of JSON lines and of CSV → columns of bytes. batches.py passes whole rows. Every reader returns None
// if Python's own readers must read the rows.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>

#include "../base/_leak_report.h"
#include "../base/_numpy.h"
#include "../base/_seeded_hash.h"
#include "_rows_checksum.h"
#include "_rows_csv.h"
#include "_rows_csv_write.h"
#include "_rows_hash.h"
#include "_rows_json.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unnaive {

uint64_t hash_seed = random_seed();

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// [(bytes, ends, kinds), …], one tuple for each column.
nb::object python_of(Columns columns) {
  nb::list out;
  for (Column& column : columns)
    out.append(nb::make_tuple(numpy_of(column.bytes.shrunk()), numpy_of(std::move(column.ends)),
                              numpy_of(std::move(column.kinds))));
  return out;
}

nb::object json_rows(Vector<uint8_t> data, std::vector<std::string> wanted, size_t required,
                     std::vector<std::string> refused, size_t longest, bool closed) {
  const JsonKeys keys{std::move(wanted), std::move(refused), required, closed};
  Columns columns = empty_columns(keys.wanted.size(), data.size());
  bool sound;
  {
    nb::gil_scoped_release free;
    const uint8_t *start = data.data(), *end = start + data.size();
    sound = is_plain_text(start, end) && read_json(start, end, keys, longest, columns);
  }
  return sound ? python_of(std::move(columns)) : nb::none();
}

// (the columns of json_rows; start and end of the line of each row, two numbers for each row)
nb::object json_lines(Vector<uint8_t> data, std::vector<std::string> wanted, size_t longest) {
  const size_t required = wanted.size();
  const JsonKeys keys{std::move(wanted), {}, required, false};
  Columns columns = empty_columns(keys.wanted.size(), data.size());
  std::vector<int64_t> bounds;
  bool sound;
  {
    nb::gil_scoped_release free;
    const uint8_t *start = data.data(), *end = start + data.size();
    sound = is_plain_text(start, end) && read_json(start, end, keys, longest, columns, &bounds);
  }
  if (!sound) return nb::none();
  return nb::make_tuple(python_of(std::move(columns)), numpy_of(std::move(bounds)));
}

nb::object csv_rows(Vector<uint8_t> data, uint8_t delimiter, std::vector<int64_t> places, size_t skipped,
                    size_t longest) {
  int64_t last = -1;
  for (const int64_t place : places) last = place > last ? place : last;
  if (last >= static_cast<int64_t>(places.size())) throw nb::value_error("a field goes to a column that is not there");
  const CsvShape shape{delimiter, places.size(), places, longest};
  Columns columns = empty_columns(static_cast<size_t>(last + 1), data.size());
  bool sound;
  {
    nb::gil_scoped_release free;
    const uint8_t *start = data.data(), *end = start + data.size();
    sound = is_plain_text(start, end) && read_csv(start, end, shape, skipped, columns);
  }
  return sound ? python_of(std::move(columns)) : nb::none();
}

size_t rows_end(Vector<uint8_t> data) {
  nb::gil_scoped_release free;
  return csv_rows_end(data.data(), data.size());
}

void check_cells(const Vector<uint8_t>& bytes, const Vector<int64_t>& ends) {
  if (!ends.size() || ends.data()[0] < 0) throw nb::value_error("cells begin before their bytes");
  for (size_t i = 1; i < ends.size(); ++i)
    if (ends.data()[i] < ends.data()[i - 1]) throw nb::value_error("cells end before they begin");
  if (static_cast<uint64_t>(ends.data()[ends.size() - 1]) > bytes.size())
    throw nb::value_error("cells end behind their bytes");
}

// The library's own hash has a fixed seed, so that files could be made whose cells all collide.
struct HashCell {
  size_t operator()(std::string_view cell) const {
    return hash_of_bytes(reinterpret_cast<const uint8_t*>(cell.data()), cell.size());
  }
};

// (an integer for each cell, equal for equal bytes; the first row with each integer)
nb::object cell_codes(Vector<uint8_t> bytes, Vector<int64_t> ends) {
  check_cells(bytes, ends);
  std::vector<int32_t> codes(ends.size() - 1);
  std::vector<int64_t> firsts;
  {
    nb::gil_scoped_release free;
    std::unordered_map<std::string_view, int32_t, HashCell> known;
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    for (size_t row = 0; row < codes.size(); ++row) {
      const int64_t start = ends.data()[row], end = ends.data()[row + 1];
      const auto [entry, fresh] = known.try_emplace(std::string_view(text + start, static_cast<size_t>(end - start)),
                                                    static_cast<int32_t>(firsts.size()));
      if (fresh) firsts.push_back(static_cast<int64_t>(row));
      codes[row] = entry->second;
    }
  }
  return nb::make_tuple(numpy_of(std::move(codes)), numpy_of(std::move(firsts)));
}

// Delimited text of these columns, each a pair (bytes, ends).
nb::object csv_lines(std::vector<std::pair<Vector<uint8_t>, Vector<int64_t>>> columns, uint8_t delimiter) {
  std::vector<TextColumn> texts;
  const size_t rows = columns.empty() ? 0 : columns[0].second.size() - 1;
  for (const auto& [bytes, ends] : columns) {
    check_cells(bytes, ends);
    if (ends.size() != rows + 1) throw nb::value_error("columns have unlike numbers of cells");
    texts.push_back({bytes.data(), ends.data()});
  }
  auto lines = [&] {
    nb::gil_scoped_release free;
    Bytes out(CsvLines::room(texts, rows));
    CsvLines(out, delimiter).write(texts, rows);
    return out;
  }();
  return numpy_of(lines.shrunk());
}

// The hash of each cell, computed `lanes` at a time; 0 stands for the most that this processor can.
nb::object cell_hashes(Vector<uint8_t> bytes, Vector<int64_t> ends, int lanes) {
  check_cells(bytes, ends);
  std::vector<uint64_t> hashes(ends.size() - 1);
  {
    nb::gil_scoped_release free;
    hash_cells({bytes.data(), ends.data(), hashes.size()}, hashes.data(), lanes);
  }
  return numpy_of(std::move(hashes));
}

// The checksum of the bytes, which are also copied to `to`; `wide` is false for the loop that runs on any processor.
uint64_t copy_checksum(Vector<uint8_t> data, nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> to,
                       bool wide) {
  if (to.size() != data.size()) throw nb::value_error("the copy has another size");
  nb::gil_scoped_release free;
  return checksum_of(data.data(), data.size(), to.data(), wide);
}

uint64_t checksum(Vector<uint8_t> data, bool wide) {
  nb::gil_scoped_release free;
  return checksum_of(data.data(), data.size(), nullptr, wide);
}

}  // namespace unnaive

NB_MODULE(_rows, m) {
  set_leak_report();
  m.def("json_rows", &unnaive::json_rows, "data"_a, "wanted"_a, "required"_a, "refused"_a, "longest"_a, "closed"_a);
  m.def("json_lines", &unnaive::json_lines, "data"_a, "wanted"_a, "longest"_a);
  m.def("csv_rows", &unnaive::csv_rows, "data"_a, "delimiter"_a, "places"_a, "skipped"_a, "longest"_a);
  m.def("csv_lines", &unnaive::csv_lines, "columns"_a, "delimiter"_a);
  m.def("csv_rows_end", &unnaive::rows_end, "data"_a);
  m.def("cell_hashes", &unnaive::cell_hashes, "data"_a, "ends"_a, "lanes"_a = 0);
  m.def("copy_checksum", &unnaive::copy_checksum, "data"_a, "to"_a, "wide"_a = true);
  m.def("checksum", &unnaive::checksum, "data"_a, "wide"_a = true);
  m.def("cell_codes", &unnaive::cell_codes, "data"_a, "ends"_a);
}
