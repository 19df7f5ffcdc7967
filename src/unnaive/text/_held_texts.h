// Texts of a Python call as documents of native code, with references that keep them alive.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <vector>

#include "_kernel_text.h"

namespace nb = nanobind;

namespace unnaive {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The documents of a call, with references that keep them alive while the GIL is released.
struct Held {
  Documents documents;
  std::vector<nb::object> owners;
};

inline void check_size(size_t row, size_t size, size_t limit) {
  if (size > limit) {
    throw nb::value_error(("text " + std::to_string(row) + " has " + std::to_string(size) + " bytes; a text may have " +
                           std::to_string(limit) + ", split it into several")
                              .c_str());
  }
}

inline Document document_of(PyObject* text, size_t row, size_t limit = SIZE_MAX) {
  if (!PyUnicode_Check(text)) throw nb::type_error(("text " + std::to_string(row) + " is not str").c_str());
  const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(text));
  const auto width = static_cast<uint8_t>(PyUnicode_IS_ASCII(text) ? 0 : PyUnicode_KIND(text));
  const Document document{PyUnicode_DATA(text), length, width, width == 0};
  if (length > limit / 4) check_size(row, utf8_size(document), limit);  // a character has at most 4 bytes
  return document;
}

// The strings are copied to a tuple, because another thread could change a list.
inline Held hold_strings(nb::handle texts, size_t limit) {
  Held held;
  nb::tuple strings = nb::steal<nb::tuple>(PySequence_Tuple(texts.ptr()));
  if (!strings.is_valid()) throw nb::python_error();
  held.documents.count = nb::len(strings);
  held.documents.strings.reserve(held.documents.count);
  for (size_t row = 0; row < held.documents.count; ++row)
    held.documents.strings.push_back(
        document_of(PyTuple_GET_ITEM(strings.ptr(), static_cast<Py_ssize_t>(row)), row, limit));
  held.owners.push_back(std::move(strings));
  return held;
}

inline Held hold_buffer(nb::handle texts, size_t limit) {
  Held held;
  nb::object blob_object = texts.attr("blob"), offsets_object = texts.attr("offsets");
  const auto blob = nb::cast<Vector<uint8_t>>(blob_object);
  const auto offsets = nb::cast<Vector<int64_t>>(offsets_object);
  static const uint8_t nothing = 0;
  held.documents.blob = blob.size() ? blob.data() : &nothing;
  held.documents.offsets = offsets.data();
  held.documents.count = offsets.size() ? offsets.size() - 1 : 0;
  for (size_t row = 0; row < held.documents.count; ++row) {
    const int64_t start = offsets.data()[row], end = offsets.data()[row + 1];
    if (start < 0 || end < start || static_cast<uint64_t>(end) > blob.size())
      throw nb::value_error("the offsets of a text buffer do not lie within it");
    check_size(row, static_cast<size_t>(end - start), limit);
  }
  held.owners.push_back(nb::cast(blob));
  held.owners.push_back(nb::cast(offsets));
  return held;
}

// The texts of a list, a tuple or a TextBuffer; an error if one has more than `limit` bytes.
inline Held hold(nb::handle texts, size_t limit = SIZE_MAX) {
  const bool listed = PyList_Check(texts.ptr()) || PyTuple_Check(texts.ptr());
  return listed ? hold_strings(texts, limit) : hold_buffer(texts, limit);
}

}  // namespace unnaive
