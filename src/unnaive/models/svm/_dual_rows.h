// The documents in the layout of the solvers: a copy in which terms are numbered by frequency, so that the weights of
// frequent terms are close in memory, without the terms that occur in only one document. Such a term contributes to the
// score of its document a multiple of that document's dual variable, so the solvers store one number for all of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "../../data/_scratch.h"

namespace unnaive {

template <typename Value>
struct Rows {
  const int64_t* starts;
  const int32_t* terms;
  const Value* values;
  int64_t size;
};

struct Entry {
  int32_t document, term;
  double value;
};

template <typename Value>
double square_of(Value value) {
  return static_cast<double>(value) * static_cast<double>(value);
}

template <typename Value>
struct Documents {
  LongVector<int64_t> starts = LongVector<int64_t>(1);
  LongVector<int32_t> terms;
  LongVector<Value> values;
  std::vector<int32_t> names;   // the column of each term in the caller's matrix
  std::vector<double> squares;  // squared length of each document, over the entries in `values`
  LongVector<Entry> alone;      // entries of terms with only one document, by column of the caller's matrix

  int64_t size() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t n_terms() const { return static_cast<int64_t>(names.size()); }
  Rows<Value> rows() const { return {starts.data(), terms.data(), values.data(), size()}; }
};

// Check all assumptions of the loops: row ends are in order and within the entries, terms are in range, values are
// finite.
template <typename Value>
void check_rows(const Rows<Value>& rows, int64_t n_entries, int64_t n_terms) {
  if (rows.size > INT32_MAX) throw std::invalid_argument("there are more than 2^31 - 1 documents");
  if (rows.starts[0] != 0 || rows.starts[rows.size] != n_entries)
    throw std::invalid_argument("indptr does not begin with 0 or does not end with the number of entries");
  for (int64_t d = 0; d < rows.size; ++d)
    if (rows.starts[d] > rows.starts[d + 1]) throw std::invalid_argument("indptr decreases");
  for (int64_t k = 0; k < n_entries; ++k) {
    if (rows.terms[k] < 0 || rows.terms[k] >= n_terms)
      throw std::invalid_argument("an index lies outside of the columns");
    if (!std::isfinite(rows.values[k])) throw std::invalid_argument("a value of the documents is not finite");
  }
}

// The terms with two or more documents, by descending frequency; ties keep their order.
inline std::vector<int32_t> by_frequency(const std::vector<int32_t>& frequency) {
  std::vector<int32_t> names;
  for (size_t t = 0; t < frequency.size(); ++t)
    if (frequency[t] > 1) names.push_back(static_cast<int32_t>(t));
  std::stable_sort(names.begin(), names.end(), [&](int32_t a, int32_t b) { return frequency[a] > frequency[b]; });
  return names;
}

// The document frequency of each term; repeated entries of a document count once.
template <typename Value>
std::vector<int32_t> document_frequency(const Rows<Value>& rows, int64_t n_terms) {
  std::vector<int32_t> frequency(n_terms), last(n_terms, -1);
  for (int64_t d = 0; d < rows.size; ++d)
    for (int64_t k = rows.starts[d]; k < rows.starts[d + 1]; ++k) {
      const int32_t t = rows.terms[k];
      frequency[t] += last[t] != d;
      last[t] = static_cast<int32_t>(d);
    }
  return frequency;
}

// Sum repeated entries of the same document and term.
template <typename Value>
Documents<Value> compact(const Rows<Value>& rows, int64_t n_terms) {
  Documents<Value> out;
  out.names = by_frequency(document_frequency(rows, n_terms));
  std::vector<int32_t> number(n_terms, -1);
  for (size_t i = 0; i < out.names.size(); ++i) number[out.names[i]] = static_cast<int32_t>(i);
  std::vector<int64_t> place(n_terms, -1);  // position of the last entry of each term
  out.starts.reserve(rows.size + 1);
  out.terms.reserve(rows.starts[rows.size]);
  out.values.reserve(rows.starts[rows.size]);
  for (int64_t d = 0; d < rows.size; ++d) {
    for (int64_t k = rows.starts[d]; k < rows.starts[d + 1]; ++k) {
      const int32_t t = rows.terms[k];
      if (number[t] < 0) {
        if (place[t] >= 0) {
          out.alone[place[t]].value += static_cast<double>(rows.values[k]);
          continue;
        }
        place[t] = static_cast<int64_t>(out.alone.size());
        out.alone.push_back({static_cast<int32_t>(d), t, static_cast<double>(rows.values[k])});
      } else if (place[t] >= out.starts.back()) {
        out.values[place[t]] += rows.values[k];
      } else {
        place[t] = static_cast<int64_t>(out.terms.size());
        out.terms.push_back(number[t]);
        out.values.push_back(rows.values[k]);
      }
    }
    double squares = 0;
    for (size_t k = static_cast<size_t>(out.starts.back()); k < out.values.size(); ++k)
      squares += square_of(out.values[k]);
    out.squares.push_back(squares);
    out.starts.push_back(static_cast<int64_t>(out.terms.size()));
  }
  return out;
}

}  // namespace unnaive
