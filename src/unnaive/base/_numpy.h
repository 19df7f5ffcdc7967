// Native arrays → numpy arrays, without a copy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace unnaive {

// A numpy array over the memory of `values`, which it owns: a vector, or any class with data() and size().
template <class Values>
nanobind::object numpy_of(Values values, std::initializer_list<size_t> shape) {
  using T = std::remove_pointer_t<decltype(values.data())>;
  auto held = std::make_unique<Values>(std::move(values));
  T* data = held->data();
  nanobind::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<Values*>(p); });
  static_cast<void>(held.release());
  nanobind::object out = nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, shape, owner));
  // numpy has two 64-bit integer types; nanobind returns the one that is not called int64
  return std::is_same_v<T, int64_t> ? out.attr("view")("int64") : out;
}

template <class Values>
nanobind::object numpy_of(Values values) {
  const size_t size = values.size();
  return numpy_of(std::move(values), {size});
}

}  // namespace unnaive
