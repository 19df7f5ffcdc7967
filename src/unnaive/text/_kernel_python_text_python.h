// Bindings of text as Python reads it, and the hashes of terms by which scikit-learn chooses columns.
#pragma once
#include "_kernel_python.h"

namespace unnaive {

struct HeldPythonText {
  std::shared_ptr<const PythonText> text;
};

// Codes[i] is replaced by replacements[ends[i]] … replacements[ends[i + 1] − 1].
void make_python_text(HeldPythonText* self, bool lowercase, bool ascii_only, unsigned shortest, unsigned longest,
                      const Vector<uint32_t>& codes, const Vector<int64_t>& ends,
                      const Vector<uint32_t>& replacements) {
  if (shortest > longest) throw nb::value_error("settings are out of range");
  if (ends.size() != codes.size() + 1) throw nb::value_error("there is a replacement for every code");
  auto text = std::make_shared<PythonText>();
  text->lowercase = lowercase;
  text->ascii_only = ascii_only;
  text->shortest = shortest;
  text->longest = longest;
  for (size_t i = 0; i < codes.size(); ++i) {
    const int64_t start = ends.data()[i], end = ends.data()[i + 1];
    if (codes.data()[i] > kMaxCode || start < 0 || end < start || static_cast<uint64_t>(end) > replacements.size())
      throw nb::value_error("replacements do not lie within their codes");
    const uint32_t* by = replacements.data() + start;
    if (std::any_of(by, by + (end - start), [](uint32_t code) { return code > kMaxCode; }))
      throw nb::value_error("a replacement is no character");
    text->replace(codes.data()[i], by, static_cast<size_t>(end - start));
  }
  new (self) HeldPythonText{std::move(text)};
}

// The rows of the texts that have U+03A3.
nb::list sigma_rows(nb::handle texts) {
  const Held input = hold(texts);
  std::vector<size_t> rows;
  {
    nb::gil_scoped_release release;
    for (size_t row = 0; row < input.documents.count; ++row)
      if (has_sigma(input.documents.at(row))) rows.push_back(row);
  }
  nb::list found;
  for (const size_t row : rows) found.append(row);
  return found;
}

// MurmurHash3_x86_32 with seed 0 (Austin Appleby, public domain).
inline uint32_t murmur3(const uint8_t* data, size_t size) {
  constexpr uint32_t c1 = 0xCC9E2D51, c2 = 0x1B873593;
  const auto turn = [](uint32_t x, unsigned by) { return x << by | x >> (32 - by); };
  uint32_t hash = 0;
  const size_t whole = size / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    const uint32_t block = static_cast<uint32_t>(data[i]) | static_cast<uint32_t>(data[i + 1]) << 8 |
                           static_cast<uint32_t>(data[i + 2]) << 16 | static_cast<uint32_t>(data[i + 3]) << 24;
    hash = turn(hash ^ turn(block * c1, 15) * c2, 13) * 5 + 0xE6546B64;
  }
  uint32_t rest = 0;
  for (size_t i = size; i > whole; --i) rest = rest << 8 | data[i - 1];
  if (size > whole) hash ^= turn(rest * c1, 15) * c2;
  hash ^= static_cast<uint32_t>(size);
  hash = (hash ^ hash >> 16) * 0x85EBCA6B;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35;
  return hash ^ hash >> 16;
}

// The hash of each term as a signed number; None if a term has a lone surrogate, which is no UTF-8.
nb::object murmur3_of(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  const std::vector<Bytes> terms = words_in(blob, offsets);
  for (size_t i = 0; i + 1 < blob.size(); ++i)
    if (blob.data()[i] == 0xED && blob.data()[i + 1] >= 0xA0) return nb::none();
  Array<int32_t> hashes(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) hashes[i] = static_cast<int32_t>(murmur3(terms[i].data, terms[i].size));
  return numpy_of(std::move(hashes));
}

// Replace each id by place[id], in the array itself.
template <class Id>
void move_ids(nb::ndarray<Id, nb::ndim<1>, nb::c_contig, nb::device::cpu> ids, const Ints& place) {
  const nb::gil_scoped_release release;
  const auto size = static_cast<uint64_t>(place.size());
  Id* data = ids.data();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<uint64_t>(data[i]) >= size) throw nb::value_error("a row has an id that is not there");
    data[i] = place.data()[data[i]];
  }
}

void add_python_text(nb::module_& m) {
  nb::class_<HeldPythonText>(m, "PythonText")
      .def("__init__", &make_python_text, "lowercase"_a, "ascii_only"_a, "shortest"_a, "longest"_a, "codes"_a, "ends"_a,
           "replacements"_a);
  m.def("sigma_rows", &sigma_rows, "texts"_a);
  m.def("move_ids", &move_ids<int32_t>, "ids"_a, "place"_a);
  m.def("move_ids", &move_ids<int64_t>, "ids"_a, "place"_a);
  m.def("murmur3", &murmur3_of, "terms"_a, "ends"_a);
}

}  // namespace unnaive
