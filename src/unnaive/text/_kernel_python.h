// Conversions between Python and the kernel: strings and buffers in, numpy arrays out.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "_kernel_engine.h"
#include "_kernel_kept.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unnaive {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = Vector<double>;

// A numpy array that owns the memory of `array`.
template <class T>
nb::object numpy_of(Array<T> array, std::initializer_list<size_t> shape) {
  auto* held = new Array<T>(std::move(array));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
  nb::object out = nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape, owner));
  // numpy has two 64-bit integer types; nanobind returns the one that is not called int64
  return std::is_same_v<T, int64_t> ? out.attr("view")("int64") : out;
}

template <class T>
nb::object numpy_of(Array<T> array) {
  const size_t size = array.size();
  return numpy_of(std::move(array), {size});
}

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

// The documents of a call, with references that keep them alive while the GIL is released.
struct Held {
  Documents documents;
  std::vector<nb::object> owners;
};

void check_size(size_t row, size_t size, size_t limit) {
  if (size > limit) {
    throw nb::value_error(("text " + std::to_string(row) + " has " + std::to_string(size) + " bytes; a text may have " +
                           std::to_string(limit) + ", split it into several")
                              .c_str());
  }
}

Document document_of(PyObject* text, size_t row, size_t limit) {
  if (!PyUnicode_Check(text)) throw nb::type_error(("text " + std::to_string(row) + " is not str").c_str());
  const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(text));
  const auto width = static_cast<uint8_t>(PyUnicode_IS_ASCII(text) ? 0 : PyUnicode_KIND(text));
  check_size(row, length * (width ? width : 1), limit);
  return {PyUnicode_DATA(text), length, width, width == 0};
}

// The strings are copied to a tuple, because another thread could change a list.
Held held_strings(nb::handle texts, size_t limit) {
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

Held held_buffer(nb::handle texts, size_t limit) {
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

Held held(nb::handle texts, size_t limit) {
  const bool listed = PyList_Check(texts.ptr()) || PyTuple_Check(texts.ptr());
  return listed ? held_strings(texts, limit) : held_buffer(texts, limit);
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
