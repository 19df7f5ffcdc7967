// The heap in which fastText keeps the best labels, with the exact steps of libstdc++, which fastText is built with on
// Linux: the order of equal values depends on these steps, and other C++ libraries differ.
#pragma once
#include <cstddef>
#include <utility>

namespace unnaive {

template <class Heap, class Before>
void sift_up(Heap& heap, size_t hole, const typename Heap::value_type value, Before before) {
  for (; hole > 0 && before(heap[(hole - 1) / 2], value); hole = (hole - 1) / 2) heap[hole] = heap[(hole - 1) / 2];
  heap[hole] = value;
}

// std::push_heap: insert the last element.
template <class Heap, class Before>
void push_last(Heap& heap, Before before) {
  sift_up(heap, heap.size() - 1, heap.back(), before);
}

// std::pop_heap of the first `size` elements: the hole moves down to a leaf, then the last element moves up from there.
template <class Heap, class Before>
void pop_first(Heap& heap, size_t size, Before before) {
  if (size < 2) return;
  const auto value = std::exchange(heap[size - 1], heap[0]);
  const size_t rest = size - 1;
  size_t hole = 0, child = 0;
  while (child < (rest - 1) / 2) {
    child = 2 * (child + 1);
    if (before(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  if (rest % 2 == 0 && child == (rest - 2) / 2) {
    heap[hole] = heap[2 * child + 1];
    hole = 2 * child + 1;
  }
  sift_up(heap, hole, value, before);
}

// std::sort_heap.
template <class Heap, class Before>
void sort_all(Heap& heap, Before before) {
  for (size_t size = heap.size(); size > 1; --size) pop_first(heap, size, before);
}

}  // namespace unnaive
