// Bindings of character n-grams and tf-idf scores.
#pragma once
#include "../base/_checks.h"
#include "_kernel_python.h"
#include "_kernel_tfidf.h"

namespace unnaive {

using Ints = Vector<int32_t>;
using Ends = Vector<int64_t>;

// Check rows from an engine before their ids are used as indices.
RowsView rows_of(const Ints& counts, const Ints& ids, const Ends& ends, size_t n_ids) {
  require(ends.size() >= 1 && ends.data()[0] == 0, "rows start at 0");
  bool right = counts.size() == ids.size() && ends.data()[ends.size() - 1] == static_cast<int64_t>(ids.size());
  for (size_t row = 0; right && row + 1 < ends.size(); ++row) right = ends.data()[row] <= ends.data()[row + 1];
  require(right, "rows do not fit their cells");
  for (size_t k = 0; right && k < ids.size(); ++k)
    right = static_cast<size_t>(static_cast<uint32_t>(ids.data()[k])) < n_ids;
  require(right, "a row has an id that is not there");
  return {counts.data(), ids.data(), ends.data(), ends.size() - 1};
}

// The arguments of join and scores: rows of units, rows of words, and the columns of the words.
struct MixedArrays {
  Ints unit_counts, unit_ids;
  Ends unit_ends;
  Ints word_counts, word_ids;
  Ends word_ends;
  Ints word_columns;

  explicit MixedArrays(const nb::tuple& units, const nb::tuple& words)
      : unit_counts(nb::cast<Ints>(units[0])),
        unit_ids(nb::cast<Ints>(units[1])),
        unit_ends(nb::cast<Ends>(units[2])),
        word_counts(nb::cast<Ints>(words[0])),
        word_ids(nb::cast<Ints>(words[1])),
        word_ends(nb::cast<Ends>(words[2])),
        word_columns(nb::cast<Ints>(words[3])) {}

  MixedRows rows(const CharGrams* grams, size_t n_columns) const {
    const MixedRows found{grams,
                          rows_of(unit_counts, unit_ids, unit_ends, grams ? grams->units() : 0),
                          {rows_of(word_counts, word_ids, word_ends, word_columns.size()), word_columns.data()},
                          n_columns};
    require(found.units.rows == found.words.view.rows, "there are as many rows of units as of words");
    bool right = n_columns <= 0x7FFFFFFEu && (!grams || grams->n_columns() <= n_columns);
    for (size_t i = 0; right && i < word_columns.size(); ++i)
      right = static_cast<size_t>(static_cast<uint32_t>(word_columns.data()[i])) < n_columns;
    require(right, "a term has a column that is not there");
    return found;
  }
};

void make_grams(CharGrams* self, unsigned shortest, unsigned longest, unsigned border, const Vector<uint8_t>& blob,
                const Ends& offsets, const Ints& columns) {
  require(shortest >= 1 && shortest <= longest && longest <= Grams::kLongest && border > Token::kLong && border < 0x80,
          "settings are out of range");
  const std::vector<Bytes> grams = words_in(blob, offsets);
  require(grams.size() == columns.size(), "there is a column for every gram");
  for (size_t i = 0; i < columns.size(); ++i) require(columns.data()[i] >= 0, "a column is below 0");
  new (self) CharGrams(shortest, longest, static_cast<uint8_t>(border));
  for (size_t i = 0; i < grams.size(); ++i) self->add(grams[i], static_cast<uint32_t>(columns.data()[i]));
}

uint32_t learn_units(CharGrams& self, Engine& units, bool grow, uint32_t next, uint32_t known) {
  require(units.terms().plain() && units.terms().stops() == 0, "units are single words");
  nb::gil_scoped_release release;
  const std::shared_lock<std::shared_mutex> lock(units.mutex());
  return self.learn(units.terms().words(), grow, next, known);
}

// The n-grams from number `first` on as terms, each after the character that marks n-grams.
nb::tuple gram_terms(const CharGrams& self, uint32_t first, unsigned mark) {
  const WordTable& grams = self.grams();
  const size_t n = first < grams.size() ? grams.size() - first : 0;
  size_t size = n;
  for (size_t i = 0; i < n; ++i) size += grams[first + static_cast<uint32_t>(i)].size;
  Array<uint8_t> bytes(size);
  Array<int64_t> ends(n + 1);
  size_t used = 0;
  for (size_t i = 0; i < n; ++i) {
    const Bytes gram = grams[first + static_cast<uint32_t>(i)];
    bytes[used++] = static_cast<uint8_t>(mark);
    std::memcpy(bytes.data() + used, gram.data, gram.size);
    ends[i + 1] = static_cast<int64_t>(used += gram.size);
  }
  return nb::make_tuple(numpy_of(std::move(bytes)), numpy_of(std::move(ends)));
}

void move_grams(CharGrams& self, const Ints& place) {
  require(place.size() >= self.n_columns(), "there is a place for every column");
  int32_t last = -1;
  for (size_t i = 0; i < place.size(); ++i) {
    require(place.data()[i] >= 0, "a column is below 0");
    last = std::max(last, place.data()[i]);
  }
  self.move(place.data(), static_cast<uint32_t>(last + 1));
}

nb::tuple join(const CharGrams& self, const nb::tuple& units, const nb::tuple& words, size_t n_columns,
               unsigned threads) {
  const MixedArrays arrays(units, words);
  const MixedRows documents = arrays.rows(&self, n_columns);
  Counts counts;
  {
    nb::gil_scoped_release release;
    counts = join_rows(documents, threads, listen);
  }
  return numpy_rows(std::move(counts));
}

// A scorer with the numpy arrays that it refers to.
struct HeldTfIdf {
  std::vector<nb::object> owners;
  TfIdfScorer scorer;
};

// Parts are tuples (place, idf, weights, bias, whether the length of a document is the sum of its terms).
void make_tf_idf(HeldTfIdf* self, const nb::list& parts, const Doubles& bias, size_t n_columns) {
  using Singles = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  std::vector<nb::object> owners{nb::cast(bias)};
  std::vector<TfIdfPart> found;
  for (nb::handle one : parts) {
    const auto part = nb::cast<nb::tuple>(one);
    const auto place = nb::cast<Ints>(part[0]);
    const auto idf = nb::cast<Doubles>(part[1]), own_bias = nb::cast<Doubles>(part[3]);
    Singles singles;
    Table doubles;
    const bool single = nb::try_cast<Singles>(part[2], singles, false);
    require(single || nb::try_cast<Table>(part[2], doubles, false), "weights are a table of float32 or float64");
    const size_t rows = single ? singles.shape(0) : doubles.shape(0);
    const size_t width = single ? singles.shape(1) : doubles.shape(1);
    bool right = place.size() == n_columns && idf.size() == rows && width == bias.size() && own_bias.size() == width;
    bool same = true;  // every column is its own row
    for (size_t i = 0; right && i < place.size(); ++i) {
      right = place.data()[i] < static_cast<int64_t>(rows);
      same &= place.data()[i] == static_cast<int64_t>(i);
    }
    require(right, "the arrays of a linear model do not fit each other");
    found.push_back({same ? nullptr : place.data(), idf.data(), single ? singles.data() : nullptr,
                     single ? nullptr : doubles.data(), own_bias.data(), nb::cast<bool>(part[4])});
    // keep the arrays that were read; they are copies if the caller's had another type
    for (nb::object array : {nb::cast(place), nb::cast(idf), nb::cast(own_bias), nb::borrow(part[2])})
      owners.push_back(std::move(array));
  }
  new (self) HeldTfIdf{std::move(owners), TfIdfScorer(std::move(found), bias.data(), bias.size(), n_columns)};
}

nb::object tf_idf_scores(const HeldTfIdf& self, nb::handle grams, const nb::tuple& units, const nb::tuple& words,
                         unsigned threads) {
  const MixedArrays arrays(units, words);
  const CharGrams* cut = grams.is_none() ? nullptr : &nb::cast<const CharGrams&>(grams);
  const MixedRows documents = arrays.rows(cut, self.scorer.columns());
  NumpyArray<double> out(nb::make_tuple(documents.rows(), self.scorer.classes()));
  {
    nb::gil_scoped_release release;
    self.scorer.scores(documents, threads, listen, out.data);
  }
  return out.array;
}

// (scores, number of known term occurrences of each text), read and scored in one pass.
nb::tuple tf_idf_text_scores(HeldTfIdf& self, nb::handle texts, Engine& engine, const Threads& threads, size_t limit) {
  const Held input = hold(texts, limit);
  NumpyArray<double> out(nb::make_tuple(input.documents.count, self.scorer.classes()));
  NumpyArray<int64_t> known(nb::cast(input.documents.count));
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(engine.mutex());
    require(engine.terms().size() == self.scorer.columns(), "there must be weights for every term");
    self.scorer.scores(engine, input.documents, threads, listen, out.data, known.data);
  }
  return nb::make_tuple(out.array, known.array);
}

void add_characters(nb::module_& m) {
  nb::class_<CharGrams>(m, "CharGrams")
      .def("__init__", &make_grams, "shortest"_a, "longest"_a, "border"_a, "grams"_a, "ends"_a, "columns"_a)
      .def("__len__", [](const CharGrams& self) { return self.grams().size(); })
      .def("learn", &learn_units, "units"_a, "grow"_a, "next"_a, "known"_a)
      .def("partial", &CharGrams::partial)
      .def("cells", &CharGrams::cells)
      .def("forget", &CharGrams::forget)
      .def("terms", &gram_terms, "first"_a, "mark"_a)
      .def("move", &move_grams, "place"_a)
      .def("join", &join, "units"_a, "words"_a, "n_columns"_a, "threads"_a);
  nb::class_<HeldTfIdf>(m, "TfIdfScorer")
      .def("__init__", &make_tf_idf, "parts"_a, "bias"_a, "n_columns"_a)
      .def("scores", &tf_idf_scores, "grams"_a.none(), "units"_a, "words"_a, "threads"_a)
      .def("text_scores", &tf_idf_text_scores, "texts"_a, "engine"_a, "threads"_a, "limit"_a);
}

}  // namespace unnaive
