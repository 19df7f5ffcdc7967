// Texts → scores of an imported fastText model, its decisions and its k best labels; engine.py has the same in numpy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>

#include "../../base/_avx2.h"
#include "../../base/_checks.h"
#include "../../base/_leak_report.h"
#include "../../text/_kernel_threads.h"
#include "_fasttext_features.h"
#include "_fasttext_outputs.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unnaive {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutTable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr size_t kBlock = 32;       // rows that are added in 32 bits before their sum goes to 64
constexpr size_t kShare = 1 << 15;  // bytes of text that are worth a thread

// What a thread needs for one text after another.
struct Space : Reading {
  std::vector<uint8_t> utf8;
  std::vector<float> hidden, raw, more;
  std::vector<double> sums;
  Ranked heap;
};

typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));

constexpr size_t kLabels = 32;  // labels whose outputs are summed side by side

#define UNNAIVE_EIGHT                                                                    \
  inline Eight load(const float* from) { return *reinterpret_cast<const Eight*>(from); } \
  inline void store(float* to, const Eight& value) { *reinterpret_cast<Eight*>(to) = value; }

namespace plain {
UNNAIVE_EIGHT
#include "_fasttext_loops.h"
}  // namespace plain

#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
UNNAIVE_EIGHT
#include "_fasttext_loops.h"
}  // namespace wide
#pragma GCC pop_options
#else
namespace wide = plain;
#endif

void add_rows(float* sum, const float* const* rows, size_t n, size_t width) {
  has_avx2() ? wide::add_rows(sum, rows, n, width) : plain::add_rows(sum, rows, n, width);
}

void multiply(const float* output, const float* hidden, size_t width, size_t blocks, float* out) {
  has_avx2() ? wide::multiply(output, hidden, width, blocks, out) : plain::multiply(output, hidden, width, blocks, out);
}

class Engine {
 public:
  Engine(Vector<uint8_t> blob, Vector<int64_t> offsets, size_t n_words, uint32_t bucket, int minn, int maxn,
         int word_ngrams, nb::object kept, Table<float> rows, nb::object output, nb::object scale, int loss,
         Table<int32_t> children, Vector<int64_t> places)
      : blob_(blob), rows_(rows), width_(rows.shape(1)), n_labels_(places.size()) {
    require(offsets.size() >= n_words + 1, "there are fewer words than rows for them");
    check_starts(offsets.data(), offsets.size(), blob.size(), "the offsets of words do not lie within their bytes");
    check_inside(places.data(), places.size(), static_cast<int64_t>(n_labels_), "a label has no class");
    require(n_labels_ > 0 && loss >= 1 && loss <= 4 && minn >= 0 && maxn >= 0, "the settings do not fit");
    places_.assign(places.data(), places.data() + n_labels_);
    rule_.n_words = n_words;
    rule_.minn = minn;
    rule_.maxn = maxn;
    rule_.word_ngrams = word_ngrams;
    rule_.modulo = Modulo(bucket ? bucket : 1);
    rule_.grams = rows_.data() + n_words * width_;
    rule_.width = width_;
    read_kept(kept, bucket);
    read_words(offsets);
    outputs_.loss = static_cast<Loss>(loss);
    outputs_.n_labels = n_labels_;
    read_tree(children);
    folded_ = output.is_none();
    require(!folded_ || width_ == n_labels_, "folded rows do not have a number for each label");
    if (!folded_) read_output(nb::cast<Table<float>>(output), scale);
    if (folded_ && maxn > 0) sum_words();
  }

  void scores(nb::handle texts, OutTable<double> out, OutVector<int64_t> known, unsigned threads) const {
    const Held held = hold(texts);
    require(out.shape(0) == held.documents.count && out.shape(1) == n_labels_, "the scores do not fit the texts");
    require(known.size() == held.documents.count, "the counts do not fit the texts");
    double* all = out.data();
    int64_t* counts = known.data();
    run(held, threads, [&](size_t row, const Bytes& text, Space& space) {
      counts[row] = static_cast<int64_t>(read(text, space));
      score(space, all + row * n_labels_);
    });
  }

  void best(nb::handle texts, OutVector<int64_t> out, unsigned threads) const {
    const Held held = hold(texts);
    require(out.size() == held.documents.count, "the decisions do not fit the texts");
    int64_t* all = out.data();
    run(held, threads, [&](size_t row, const Bytes& text, Space& space) {
      read(text, space);
      all[row] = places_[static_cast<size_t>(
          space.rows.empty() ? first_ : outputs_.winner(space.raw.data(), space.more, space.heap))];
    });
  }

  // For each text a list of its k best labels, out of `names`; all their probabilities go behind one another.
  nb::tuple top(nb::handle texts, int64_t k, float threshold, nb::list names) const {
    require(nb::len(names) == n_labels_, "the names do not fit the labels");
    const Held held = hold(texts);
    std::vector<int32_t> labels;
    std::vector<size_t> ends;
    auto* values = new std::vector<float>();
    nb::capsule owner(values, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
    const size_t most = k < 0 ? n_labels_ : static_cast<size_t>(k);
    run(held, 1, [&](size_t, const Bytes& text, Space& space) {
      read(text, space);
      if (!space.rows.empty()) {
        outputs_.best(space.raw.data(), most, threshold, space.heap);
        for (const auto& [value, label] : space.heap) labels.push_back(label), values->push_back(std::exp(value));
      }
      ends.push_back(labels.size());
    });
    nb::list all = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(ends.size())));
    for (size_t row = 0, at = 0; row < ends.size(); ++row) {
      PyObject* own = PyList_New(static_cast<Py_ssize_t>(ends[row] - at));
      if (!own) throw nb::python_error();
      for (Py_ssize_t i = 0; at < ends[row]; ++at, ++i) {
        PyObject* name = PyList_GET_ITEM(names.ptr(), labels[at]);
        Py_INCREF(name);
        PyList_SET_ITEM(own, i, name);
      }
      PyList_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(row), own);
    }
    nb::ndarray<nb::numpy, float, nb::ndim<1>> flat(values->data(), {values->size()}, owner);
    return nb::make_tuple(all, flat);
  }

  std::vector<int32_t> features(nb::handle text) const {
    const Document document = document_of(text.ptr(), 0);
    Space space;
    size_t known = 0;
    const Bytes bytes = utf8_of(document, space.utf8);
    Rule plain = rule_;
    plain.whole_words = false;
    plain.features(bytes.data, bytes.size, space, known);
    return space.rows;
  }

 private:
  struct Held {
    Documents documents;
    std::vector<nb::object> owners;
  };

  static Document document_of(PyObject* text, size_t row) {
    if (!PyUnicode_Check(text)) throw nb::type_error(("text " + std::to_string(row) + " is not str").c_str());
    const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(text));
    const auto width = static_cast<uint8_t>(PyUnicode_IS_ASCII(text) ? 0 : PyUnicode_KIND(text));
    return {PyUnicode_DATA(text), length, width, width == 0};
  }

  // The texts of a list, a tuple or a TextBuffer, and what keeps them alive.
  static Held hold(nb::handle texts) {
    Held held;
    if (PyList_Check(texts.ptr()) || PyTuple_Check(texts.ptr())) {
      nb::tuple strings = nb::steal<nb::tuple>(PySequence_Tuple(texts.ptr()));
      if (!strings.is_valid()) throw nb::python_error();
      held.documents.count = nb::len(strings);
      held.documents.strings.reserve(held.documents.count);
      for (size_t row = 0; row < held.documents.count; ++row)
        held.documents.strings.push_back(
            document_of(PyTuple_GET_ITEM(strings.ptr(), static_cast<Py_ssize_t>(row)), row));
      held.owners.push_back(std::move(strings));
      return held;
    }
    const auto blob = nb::cast<Vector<uint8_t>>(texts.attr("blob"));
    const auto offsets = nb::cast<Vector<int64_t>>(texts.attr("offsets"));
    if (offsets.size())
      check_starts(offsets.data(), offsets.size(), blob.size(), "texts do not lie within their buffer");
    static const uint8_t nothing = 0;
    held.documents.blob = blob.size() ? blob.data() : &nothing;
    held.documents.offsets = offsets.data();
    held.documents.count = offsets.size() ? offsets.size() - 1 : 0;
    held.owners.push_back(nb::cast(blob));
    held.owners.push_back(nb::cast(offsets));
    return held;
  }

  static void listen() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

  template <class Work>
  void run(const Held& held, unsigned threads, const Work& work) const {
    const Documents& documents = held.documents;
    const size_t worth = threads > 1 ? total_size(documents) / kShare + 1 : 1;
    const auto shards = static_cast<unsigned>(std::max<size_t>(1, std::min<size_t>(threads, worth)));
    const nb::gil_scoped_release released;
    const std::vector<size_t> bounds = shard_bounds(documents, shards);
    const std::function<void()> signals = listen;
    Stop stop;
    run_sharded(shards, stop, [&](unsigned shard) {
      thread_local Space space;
      Listener listener{signals, shard == 0};
      for (size_t row = bounds[shard]; row < bounds[shard + 1] && !stop.now; ++row) {
        const Bytes text = utf8_of(documents.at(row), space.utf8);
        work(row, text, space);
        listener.after(text.size + 16);
      }
    });
  }

  void read_kept(const nb::object& kept, uint32_t bucket) {
    rule_.pruned = !kept.is_none();
    const size_t behind = rows_.shape(0) - std::min<size_t>(rows_.shape(0), rule_.n_words);
    require(rows_.shape(0) >= rule_.n_words, "there are fewer rows than words");
    if (!rule_.pruned) {
      require((rule_.maxn <= 0 && rule_.word_ngrams <= 1) || (bucket > 0 && behind >= bucket), "n-grams have no rows");
      return;
    }
    const auto pairs = nb::cast<Table<int32_t>>(kept);
    require(pairs.shape(1) == 2, "kept n-grams are no pairs");
    for (size_t i = 0; i < pairs.shape(0); ++i)
      require(pairs.data()[2 * i] >= 0 && pairs.data()[2 * i + 1] >= 0 &&
                  static_cast<size_t>(pairs.data()[2 * i + 1]) < behind,
              "a kept n-gram has no row");
    rule_.kept.fill(pairs.data(), pairs.shape(0));
  }

  void read_words(const Vector<int64_t>& offsets) {
    starts_.assign(offsets.data(), offsets.data() + offsets.size());
    rule_.words.fill(blob_.data(), starts_.data(), starts_.size() - 1, rule_.n_words);
  }

  void read_tree(const Table<int32_t>& children) {
    if (outputs_.loss != Loss::kTree) return;
    require(children.shape(0) + 1 == n_labels_ && children.shape(1) == 2, "the tree does not fit the labels");
    for (size_t i = 0; i < 2 * children.shape(0); ++i)  // children before parents: no circle
      require(children.data()[i] >= 0 && static_cast<size_t>(children.data()[i]) < n_labels_ + i / 2, "no tree");
    outputs_.children.assign(children.data(), children.data() + 2 * children.shape(0));
  }

  void read_output(const Table<float>& output, const nb::object& scale) {
    require(output.shape(0) == n_labels_ && output.shape(1) == width_, "the output does not fit the labels");
    blocks_ = (n_labels_ + kLabels - 1) / kLabels;
    output_.assign(blocks_ * kLabels * width_, 0);
    for (size_t i = 0; i < n_labels_; ++i)
      for (size_t j = 0; j < width_; ++j)
        output_[(i / kLabels * width_ + j) * kLabels + i % kLabels] = output.data()[i * width_ + j];
    if (scale.is_none()) return;
    const auto factors = nb::cast<Vector<float>>(scale);
    require(factors.size() == n_labels_, "the lengths of the output do not fit the labels");
    scale_.assign(factors.data(), factors.data() + n_labels_);
  }

  // Of folded rows: a known word and its character n-grams in one row.
  void sum_words() {
    sizes_.resize(rule_.n_words);
    word_rows_.assign(rule_.n_words * width_, 0);
    Space space;
    std::vector<double> sum(width_);
    for (size_t word = 0; word < rule_.n_words; ++word) {
      const uint8_t* bytes = blob_.data() + word_start(word);
      const size_t size = word_start(word + 1) - word_start(word);
      space.rows.assign(1, static_cast<int32_t>(word));
      if (size != 4 || std::memcmp(bytes, "</s>", 4) != 0) rule_.character_ngrams(bytes, size, space.rows, space.word);
      std::fill(sum.begin(), sum.end(), 0);
      for (const int32_t row : space.rows)
        for (size_t j = 0; j < width_; ++j) sum[j] += rows_.data()[static_cast<size_t>(row) * width_ + j];
      for (size_t j = 0; j < width_; ++j) word_rows_[word * width_ + j] = static_cast<float>(sum[j]);
      sizes_[word] = static_cast<uint32_t>(space.rows.size());
    }
    rule_.whole_words = true;
  }
  size_t word_start(size_t word) const { return static_cast<size_t>(starts_[word]); }

  // The outputs of a text into `space.raw`; gives how many features it has without the token at its end.
  size_t read(const Bytes& text, Space& space) const {
    size_t known = 0;
    rule_.features(text.data, text.size, space, known);
    if (folded_) {
      add_folded(space);
    } else {
      add_hidden(space);
    }
    return known;
  }

  const float* row_of(int32_t row) const {
    const auto place = static_cast<size_t>(row);
    return (place < sizes_.size() ? word_rows_.data() : rows_.data()) + place * width_;
  }

  // Where the rows from `from` on lie, and that they will be needed.
  size_t ask_for(const std::vector<int32_t>& rows, size_t from, const float** places) const {
    const size_t n = std::min(rows.size() - std::min(rows.size(), from), kBlock);
    for (size_t i = 0; i < n; ++i) {
      places[i] = row_of(rows[from + i]);
      for (size_t j = 0; j < width_; j += 16) __builtin_prefetch(places[i] + j);
      __builtin_prefetch(places[i] + width_ - 1);
    }
    return n;
  }

  // work(rows, n) for some rows at a time, while the next ones come.
  template <class Work>
  void in_blocks(const std::vector<int32_t>& rows, const Work& work) const {
    const float* places[2][kBlock];
    size_t n = ask_for(rows, 0, places[0]);
    for (size_t from = 0, turn = 0; from < rows.size(); from += kBlock, turn ^= 1) {
      const size_t next = ask_for(rows, from + kBlock, places[turn ^ 1]);
      work(places[turn], n);
      n = next;
    }
  }

  void add_folded(Space& space) const {
    size_t features = space.rows.size();
    if (!sizes_.empty())
      for (const int32_t row : space.rows)
        if (static_cast<size_t>(row) < sizes_.size()) features += sizes_[static_cast<size_t>(row)] - 1;
    space.sums.assign(width_, 0);
    space.hidden.resize(width_);
    in_blocks(space.rows, [&](const float* const* rows, size_t n) {
      std::fill(space.hidden.begin(), space.hidden.end(), 0.f);
      add_rows(space.hidden.data(), rows, n, width_);
      for (size_t j = 0; j < width_; ++j) space.sums[j] += space.hidden[j];
    });
    space.raw.resize(width_);
    const auto n = static_cast<double>(std::max<size_t>(features, 1));
    for (size_t j = 0; j < width_; ++j) space.raw[j] = static_cast<float>(space.sums[j] / n);
  }

  // As fastText does it, in its order and in 32 bits.
  void add_hidden(Space& space) const {
    space.hidden.assign(width_, 0);
    in_blocks(space.rows, [&](const float* const* rows, size_t n) { add_rows(space.hidden.data(), rows, n, width_); });
    const auto share = static_cast<float>(1.0 / static_cast<double>(std::max<size_t>(space.rows.size(), 1)));
    for (float& value : space.hidden) value *= share;
    space.raw.resize(blocks_ * kLabels);
    multiply(output_.data(), space.hidden.data(), width_, blocks_, space.raw.data());
    for (size_t i = 0; i < scale_.size(); ++i) space.raw[i] *= scale_[i];
  }

  // Scores by class; the one of fastText's decision is the highest, also where its 32 bits or its table make a tie.
  void score(Space& space, double* out) const {
    if (space.rows.empty()) {
      std::fill(out, out + n_labels_, 0.0);
      return;
    }
    const auto winner = static_cast<size_t>(outputs_.winner(space.raw.data(), space.more, space.heap));
    if (outputs_.loss == Loss::kTree) {
      space.sums.resize(n_labels_);
      outputs_.leaf_scores(space.raw.data(), space.more, space.sums.data());
      for (size_t i = 0; i < n_labels_; ++i) out[places_[i]] = space.sums[i];
    } else {
      for (size_t i = 0; i < n_labels_; ++i) out[places_[i]] = space.raw[i];
    }
    double most = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < n_labels_; ++i)
      if (i != winner) most = std::max(most, out[places_[i]]);
    double& best = out[places_[winner]];
    if (best <= most) best = std::nextafter(most, std::numeric_limits<double>::infinity());
  }

  Vector<uint8_t> blob_;
  Table<float> rows_;
  size_t width_, n_labels_, blocks_ = 0;
  int32_t first_ = 0;
  bool folded_ = false;
  Rule rule_;
  Outputs outputs_;
  std::vector<int64_t> places_, starts_;
  std::vector<float> output_, scale_, word_rows_;  // the output in blocks of labels
  std::vector<uint32_t> sizes_;                    // features of each known word, where its row has them in it
};

}  // namespace
}  // namespace unnaive

NB_MODULE(_fasttext, module) {
  using namespace unnaive;
  set_leak_report();
  nb::class_<Engine>(module, "Engine")
      .def(nb::init<Vector<uint8_t>, Vector<int64_t>, size_t, uint32_t, int, int, int, nb::object, Table<float>,
                    nb::object, nb::object, int, Table<int32_t>, Vector<int64_t>>(),
           "blob"_a, "offsets"_a, "n_words"_a, "bucket"_a, "minn"_a, "maxn"_a, "word_ngrams"_a, "kept"_a.none(),
           "rows"_a, "output"_a.none(), "scale"_a.none(), "loss"_a, "children"_a, "places"_a)
      .def("scores", &Engine::scores, "texts"_a, "out"_a, "known"_a, "threads"_a)
      .def("best", &Engine::best, "texts"_a, "out"_a, "threads"_a)
      .def("top", &Engine::top, "texts"_a, "k"_a, "threshold"_a, "names"_a)
      .def("features", &Engine::features, "text"_a);
}
