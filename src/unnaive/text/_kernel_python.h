// Conversions between Python and the kernel: strings and buffers in, numpy arrays out.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "../base/_numpy.h"
#include "_held_texts.h"
#include "_kernel_engine.h"
#include "_kernel_kept.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unnaive {

using Doubles = Vector<double>;

const nb::object& numpy() {
  static Kept<nb::object> numpy;
  return numpy.get([] { return nb::object(nb::module_::import_("numpy")); });
}

// A new array allocated by numpy, with a pointer to its memory: for a single prediction this is faster than passing on
// an array of ours.
template <class T>
struct NumpyArray {
  nb::object array;
  T* data = nullptr;

  explicit NumpyArray(nb::object shape) : array(numpy().attr("empty")(std::move(shape), type())) {
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    data = static_cast<T*>(view.buf);
    PyBuffer_Release(&view);  // the memory is not moved while the array lives
  }

  static const nb::object& type() {
    static Kept<nb::object> type;
    return type.get([] { return nb::object(numpy().attr("dtype")(std::is_same_v<T, double> ? "float64" : "int64")); });
  }
};

template <class T, class From>
Array<T> converted(const From* values, size_t size) {
  Array<T> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<T>(values[i]);
  return out;
}

// Whether all elements of a list or tuple are str. The objects are anywhere in memory, so they are prefetched.
bool all_str(nb::handle texts) {
  constexpr Py_ssize_t kLead = 16;
  if (!PyList_Check(texts.ptr()) && !PyTuple_Check(texts.ptr())) return false;
  const nb::ft_object_guard guard(texts);  // without a GIL, another thread could change the list meanwhile
  PyObject** items = PySequence_Fast_ITEMS(texts.ptr());
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(texts.ptr());
  bool all = true;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (i + kLead < n) __builtin_prefetch(items[i + kLead]);
    all &= PyUnicode_CheckExact(items[i]);
  }
  return all;
}

// Check for Ctrl-C; the calling thread does this between documents.
void listen() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::vector<Bytes> words_in(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  std::vector<Bytes> words;
  words.reserve(offsets.size());
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t start = offsets.data()[i], end = offsets.data()[i + 1];
    if (start < 0 || end < start || static_cast<uint64_t>(end) > blob.size())
      throw nb::value_error("the offsets of words do not lie within their bytes");
    words.push_back({blob.data() + start, static_cast<size_t>(end - start)});
  }
  return words;
}

// (counts, ids, row ends) with the smallest integer type that scipy accepts.
nb::tuple numpy_rows(Counts counts) {
  Rows& rows = counts.rows;
  if (rows.used > 0x7FFFFFFFu) {
    auto ids = converted<int64_t>(rows.ids.data(), rows.used);
    return nb::make_tuple(numpy_of(std::move(rows.counts)), numpy_of(std::move(ids)), numpy_of(std::move(counts.ends)));
  }
  auto ends = converted<int32_t>(counts.ends.data(), counts.ends.size());
  return nb::make_tuple(numpy_of(std::move(rows.counts)), numpy_of(std::move(rows.ids)), numpy_of(std::move(ends)));
}

}  // namespace unnaive
