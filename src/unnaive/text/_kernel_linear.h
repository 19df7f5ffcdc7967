// A linear model in the kernel: its weights as they are stored, and sparse weights by term.
#pragma once
#include <cmath>

#include "_kernel_memory.h"

namespace unnaive {

// score(c) = bias[c] + Σ_t n_t (arcs[c, t] + term_background[t] + class_background[c])
struct Linear {
  size_t classes = 0, terms = 0;
  const double* dense = nullptr;  // (terms, classes), or:
  const int64_t* ends = nullptr;  // term t has the arcs ends[t] … ends[t + 1] − 1 of:
  const int32_t* arc_class = nullptr;
  const double* arc = nullptr;
  const double *class_background = nullptr, *term_background = nullptr, *bias = nullptr;
  bool binary = false;

  // Write the weights of a term for all classes.
  void row(size_t t, double* out) const {
    for (size_t c = 0; c < classes; ++c)
      out[c] = term_background[t] + class_background[c] + (dense ? dense[t * classes + c] : 0.0);
    if (!dense)
      for (int64_t k = ends[t]; k < ends[t + 1]; ++k) out[arc_class[k]] += arc[k];
  }

  // An upper bound of the sum of absolute values of a weight's parts.
  double magnitude(size_t t, size_t c, double weight) const {
    return std::fabs(weight) + 2 * (std::fabs(term_background[t]) + std::fabs(class_background[c]));
  }

  // Add n times the arcs of a term to `out`.
  void add_arcs(size_t t, double n, double* out) const {
    if (dense) {
      const double* row = dense + t * classes;
      for (size_t c = 0; c < classes; ++c) out[c] += n * row[c];
    } else {
      for (int64_t k = ends[t]; k < ends[t + 1]; ++k) out[arc_class[k]] += n * arc[k];
    }
  }
};

// The arcs of a sparse matrix with a row for each class, sorted by term.
struct TermArcs {
  Array<double> arc;
  Array<int32_t> arc_class;
  Array<int64_t> ends;

  TermArcs(const double* arcs, const int64_t* terms, const int64_t* class_ends, size_t classes, size_t n_terms)
      : arc(static_cast<size_t>(class_ends[classes])), arc_class(arc.size()), ends(n_terms + 1) {
    Array<int64_t> next(n_terms + 1);
    for (size_t k = 0; k < arc.size(); ++k) ++ends[static_cast<size_t>(terms[k]) + 1];
    for (size_t t = 0; t < n_terms; ++t) next[t + 1] = ends[t + 1] += ends[t];
    for (size_t c = 0; c < classes; ++c)
      for (int64_t k = class_ends[c]; k < class_ends[c + 1]; ++k) {
        const auto at = static_cast<size_t>(next[static_cast<size_t>(terms[k])]++);
        arc[at] = arcs[k];
        arc_class[at] = static_cast<int32_t>(c);
      }
  }
};

}  // namespace unnaive
