// numpy arrays in unnamed files, by a custom allocator of numpy (NEP 49); scratch.py decides when it is used.
#include "../data/_scratch.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../base/_leak_report.h"

namespace nb = nanobind;

namespace unnaive {
namespace {

// The memory handler of numpy's C API, version 1, and the index of its setter in the API table; unchanged since numpy
// 1.22.
struct Allocator {
  void* context;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*, size_t);
};
struct Handler {
  char name[127];
  uint8_t version;
  Allocator allocator;
};
constexpr int kSetHandler = 304;

void* allocate(void*, size_t size) {
  void* block = nullptr;
  return ScratchFiles::instance().map(size, false, block) ? block : std::malloc(size ? size : 1);
}

void* zeros(void*, size_t count, size_t each) { return allocate_zeros(count, each); }

void release(void*, void* block, size_t) { free_scratch(block); }

void* resize(void*, void* block, size_t size) {
  ScratchFiles& files = ScratchFiles::instance();
  const size_t before = block ? files.size_of(block) : 0;
  if (!before) return std::realloc(block, size ? size : 1);
  void* found = allocate(nullptr, size);
  if (!found) return nullptr;
  std::memcpy(found, block, before < size ? before : size);
  files.unmap(block);
  return found;
}

Handler handler{"unnaive scratch files", 1, {nullptr, allocate, zeros, resize, release}};

// Set the handler and return the previous one, which the caller restores at the end.
nb::object set_handler(nb::object wanted) {
  nb::object table = nb::module_::import_("numpy._core._multiarray_umath").attr("_ARRAY_API");
  void** functions = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
  if (!functions) throw nb::python_error();
  const auto set = reinterpret_cast<PyObject* (*)(PyObject*)>(functions[kSetHandler]);
  PyObject* before = set(wanted.ptr());
  if (!before) throw nb::python_error();
  return nb::steal(before);
}

}  // namespace
}  // namespace unnaive

NB_MODULE(_scratch, m) {
  set_leak_report();
  m.def("set_folder",
        [](const std::string& folder, size_t least) { unnaive::ScratchFiles::instance().set_folder(folder, least); });
  m.def("drop_pages", [] { unnaive::ScratchFiles::instance().drop_pages(); });
  m.def("set_handler", &unnaive::set_handler);
  m.def("scratch_handler", [] { return nb::steal(PyCapsule_New(&unnaive::handler, "mem_handler", nullptr)); });
}
