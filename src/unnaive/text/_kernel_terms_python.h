// Bindings of vocabularies: the bytes of their terms, sorted, selected, checked and joined.
#pragma once
#include "../base/_checks.h"
#include "_kernel_order.h"
#include "_kernel_python.h"

namespace unnaive {

// Check an untrusted vocabulary: (the first term that is not UTF-8, the first that is repeated); −1 for none.
nb::tuple check_terms(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  const std::vector<Bytes> terms = words_in(blob, offsets);
  int64_t odd = -1, again = -1;
  {
    nb::gil_scoped_release release;
    // fast path: if the whole blob is UTF-8 and no term begins inside a character, every term is UTF-8
    bool sound = !terms.empty() && terms.back().data + terms.back().size == blob.data() + blob.size() &&
                 is_utf8(blob.data(), blob.size());
    for (size_t i = 0; sound && i < terms.size(); ++i) sound = !terms[i].size || (*terms[i].data & 0xC0) != 0x80;
    WordTable seen;
    seen.reserve(terms.size());
    seen.each_token(terms, [&](const Token& token, size_t i) {
      if (odd >= 0 || again >= 0) return;
      if (!sound && !is_utf8(terms[i].data, terms[i].size)) odd = static_cast<int64_t>(i);
      if (seen.insert(token) != i) again = static_cast<int64_t>(i);
    });
  }
  return nb::make_tuple(odd, again);
}

// The ids of terms in a vocabulary; terms that it lacks get the next ids in their order.
nb::object place_terms(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets, const Vector<uint8_t>& other,
                       const Vector<int64_t>& other_offsets) {
  const std::vector<Bytes> terms = words_in(blob, offsets), others = words_in(other, other_offsets);
  Array<int64_t> ids(others.size());
  {
    nb::gil_scoped_release release;
    WordTable table;
    table.reserve(terms.size() + others.size());
    for (const Bytes& term : terms) table.insert(term);
    for (size_t i = 0; i < others.size(); ++i) ids[i] = table.insert(others[i]);
  }
  return numpy_of(std::move(ids));
}

TermList list_of(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  check_starts(offsets.data(), offsets.size(), blob.size(), "the offsets of terms do not lie within their bytes");
  return {blob.data(), offsets.data(), offsets.size() - 1};
}

// The indices of the terms in the order of their bytes; None if they are already in order.
nb::object term_order(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  const TermList terms = list_of(blob, offsets);
  Array<int64_t> order;
  {
    nb::gil_scoped_release release;
    order = order_of_terms(terms);
  }
  return order.size() ? numpy_of(std::move(order)) : nb::none();
}

nb::tuple taken_terms(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets, const Vector<int64_t>& chosen) {
  const TermList terms = list_of(blob, offsets);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen.data()[i] < 0 || static_cast<size_t>(chosen.data()[i]) >= terms.size())
      throw nb::value_error("there is no term of this number");
  Array<uint8_t> bytes;
  Array<int64_t> ends;
  {
    nb::gil_scoped_release release;
    take_terms(terms, chosen.data(), chosen.size(), bytes, ends);
  }
  return nb::make_tuple(numpy_of(std::move(bytes)), numpy_of(std::move(ends)));
}

void add_vocabularies(nb::module_& m) {
  m.def("term_order", &term_order, "terms"_a, "ends"_a);
  m.def("take_terms", &taken_terms, "terms"_a, "ends"_a, "chosen"_a);
  m.def("check_terms", &check_terms, "terms"_a, "ends"_a);
  m.def("place_terms", &place_terms, "terms"_a, "ends"_a, "others"_a, "other_ends"_a);
}

}  // namespace unnaive
