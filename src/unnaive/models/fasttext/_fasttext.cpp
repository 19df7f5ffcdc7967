// Texts → scores, decisions and k best labels of an imported fastText model; outputs.py has the same steps in NumPy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <functional>
#include <memory>
#include <mutex>

#include "../../base/_checks.h"
#include "../../base/_leak_report.h"
#include "../../text/_held_texts.h"
#include "../../text/_kernel_threads.h"
#include "_fasttext_features.h"
#include "_fasttext_outputs.h"
#include "_fasttext_simd.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unnaive {
namespace {

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutTable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr size_t kBlock = 32;       // rows that are summed in 32 bits before the sum is added in 64 bits
constexpr size_t kSoon = 1 << 16;   // numbers (floats) in rows that are prefetched before they are needed
constexpr double kLargest = 1e36;   // of a row that includes n-grams: the sum of kBlock rows stays finite in 32 bits
constexpr size_t kShare = 1 << 15;  // bytes of text for which another thread is started

// The buffers of a shard, reused for every group of texts and in later calls.
struct Space : Reading {
  std::vector<uint8_t> utf8;
  // first row of each text; number of words and character n-grams of each text
  size_t starts[kTexts + 1], known[kTexts];
  std::vector<float> hidden, raw;  // mean of the rows, and outputs, of each text
  std::vector<double> sums;
  Ranking ranking;

  bool empty(size_t text) const { return starts[text] == starts[text + 1]; }
};

// Buffers that are not in use. A signal handler that predicts in the middle of a prediction takes others.
class SpacePool {
 public:
  struct Taken {
    SpacePool& pool;
    std::unique_ptr<Space> space;

    Taken(SpacePool& from, std::unique_ptr<Space> taken) : pool(from), space(std::move(taken)) {}
    Taken(const Taken&) = delete;
    ~Taken() {
      const std::lock_guard<std::mutex> lock(pool.mutex_);
      if (pool.free_.size() < kMost) pool.free_.push_back(std::move(space));
    }
  };

  SpacePool() { free_.reserve(kMost); }
  Taken take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return {*this, std::make_unique<Space>()};
    auto space = std::move(free_.back());
    free_.pop_back();
    return {*this, std::move(space)};
  }

 private:
  static constexpr size_t kMost = 16;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Space>> free_;
};

class Engine {
 public:
  Engine(Vector<uint8_t> blob, Vector<int64_t> offsets, size_t n_words, uint32_t bucket, int minn, int maxn,
         int word_ngrams, nb::object kept, Table<float> rows, nb::object output, nb::object scale, int loss,
         Table<int32_t> children, Vector<int64_t> places)
      : blob_(blob), rows_(rows), width_(rows.shape(1)), n_labels_(places.size()) {
    require(offsets.size() >= n_words + 1, "there are fewer words than rows for them");
    check_starts(offsets.data(), offsets.size(), blob.size(), "the offsets of words do not lie within their bytes");
    check_inside(places.data(), places.size(), static_cast<int64_t>(n_labels_), "a label has no class");
    require(width_ > 0 && n_labels_ > 0 && loss >= 1 && loss <= 4 && minn >= 0 && maxn >= 0, "the settings do not fit");
    places_.assign(places.data(), places.data() + n_labels_);
    rule_.n_words = n_words;
    rule_.minn = minn;
    rule_.maxn = maxn;
    rule_.word_ngrams = word_ngrams;
    rule_.modulo = Modulo(bucket ? bucket : 1);
    read_kept(kept, bucket);
    read_words(offsets);
    outputs_.loss = static_cast<Loss>(loss);
    outputs_.n_labels = n_labels_;
    read_tree(children);
    folded_ = output.is_none();
    require(!folded_ || width_ == n_labels_, "folded rows do not have a number for each label");
    if (!folded_) read_output(nb::cast<Table<float>>(output), scale);
    stride_ = (n_labels_ + kLabels - 1) / kLabels * kLabels;
    if (folded_ && maxn > 0) sum_words();
    rule_.word_rows = sizes_.empty() ? rows_.data() : word_rows_.data();
    rule_.rows = rows_.data();
    rule_.width = width_;
    rule_.soon = std::max(kBlock, kSoon / width_);
  }

  void scores(nb::handle texts, OutTable<double> out, OutVector<int64_t> known, unsigned threads) const {
    const Held held = hold(texts);
    require(out.shape(0) == held.documents.count && out.shape(1) == n_labels_, "the scores do not fit the texts");
    require(known.size() == held.documents.count, "the counts do not fit the texts");
    double* all = out.data();
    int64_t* counts = known.data();
    run(held, threads, [&](size_t row, size_t text, Space& space) {
      counts[row] = static_cast<int64_t>(space.known[text]);
      score(text, space, all + row * n_labels_);
    });
  }

  void best(nb::handle texts, OutVector<int64_t> out, unsigned threads) const {
    const Held held = hold(texts);
    require(out.size() == held.documents.count, "the decisions do not fit the texts");
    int64_t* all = out.data();
    run(held, threads, [&](size_t row, size_t text, Space& space) {
      const int32_t label = space.empty(text) ? 0 : outputs_.winner(raw_of(text, space), space.ranking);
      all[row] = places_[static_cast<size_t>(label)];
    });
  }

  // For each text, the list of its k best labels from `names`; the probabilities of all texts are concatenated.
  nb::tuple top(nb::handle texts, int64_t k, float threshold, nb::list names) const {
    require(nb::len(names) == n_labels_, "the names do not fit the labels");
    require(k == -1 || k >= 1, "k is the number of labels, at least 1, or -1 for all");
    const Held held = hold(texts);
    std::vector<int32_t> labels;
    std::vector<size_t> ends;
    auto* values = new std::vector<float>();
    nb::capsule owner(values, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
    const size_t most = k < 0 ? n_labels_ : static_cast<size_t>(k);
    labels.reserve(held.documents.count), ends.reserve(held.documents.count), values->reserve(held.documents.count);
    run(held, 1, [&](size_t, size_t text, Space& space) {
      if (!space.empty(text)) {
        outputs_.best(raw_of(text, space), most, threshold, space.ranking);
        for (const auto& [value, label] : space.ranking.heap)
          labels.push_back(label), values->push_back(std::exp(value));
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
    const Bytes bytes = utf8_of(document, space.utf8);
    Rule plain = rule_;
    plain.whole_words = false;
    plain.features(bytes.data, bytes.size, space);
    return space.rows;
  }

 private:
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
      const SpacePool::Taken taken = spaces_.take();
      Space& space = *taken.space;
      Listener listener{signals, shard == 0};
      for (size_t row = bounds[shard]; row < bounds[shard + 1] && !stop.now;) {
        const size_t n = std::min(bounds[shard + 1] - row, kTexts);
        listener.after(read(documents, row, n, space));
        for (size_t text = 0; text < n; ++text) work(row + text, text, space);
        row += n;
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
    for (size_t i = 0; i < 2 * children.shape(0); ++i)  // children come before parents, so there is no cycle
      require(children.data()[i] >= 0 && static_cast<size_t>(children.data()[i]) < n_labels_ + i / 2, "no tree");
    outputs_.children.assign(children.data(), children.data() + 2 * children.shape(0));
    outputs_.find_paths();
  }

  void read_output(const Table<float>& output, const nb::object& scale) {
    require(output.shape(0) == n_labels_ && output.shape(1) == width_, "the output does not fit the labels");
    output_.assign((n_labels_ + kLabels - 1) / kLabels * kLabels * width_, 0);
    for (size_t i = 0; i < n_labels_; ++i)
      for (size_t j = 0; j < width_; ++j)
        output_[(i / kLabels * width_ + j) * kLabels + i % kLabels] = output.data()[i * width_ + j];
    if (scale.is_none()) return;
    const auto factors = nb::cast<Vector<float>>(scale);
    require(factors.size() == n_labels_, "the lengths of the output do not fit the labels");
    scale_.assign(factors.data(), factors.data() + n_labels_);
  }

  // Fold rows: the row of a known word also includes its character n-grams.
  void sum_words() {
    sizes_.resize(rule_.n_words);
    word_rows_ = Array<float>::unset(rule_.n_words * width_);
    Space space;
    std::vector<double> sum(width_);
    for (size_t word = 0; word < rule_.n_words; ++word) {
      const uint8_t* bytes = blob_.data() + word_start(word);
      const size_t size = word_start(word + 1) - word_start(word);
      space.rows.assign(1, static_cast<int32_t>(word));
      if (size != 4 || std::memcmp(bytes, "</s>", 4) != 0) rule_.character_ngrams(bytes, size, space);
      std::fill(sum.begin(), sum.end(), 0);
      for (const int32_t row : space.rows)
        for (size_t j = 0; j < width_; ++j) sum[j] += rows_.data()[static_cast<size_t>(row) * width_ + j];
      for (size_t j = 0; j < width_; ++j) {
        require(std::abs(sum[j]) <= kLargest, "a word and its n-grams add up to NaN or too much");
        word_rows_[word * width_ + j] = static_cast<float>(sum[j]);
      }
      sizes_[word] = static_cast<uint32_t>(space.rows.size());
    }
    rule_.whole_words = true;
  }
  size_t word_start(size_t word) const { return static_cast<size_t>(starts_[word]); }

  // Compute the outputs of `n` texts from `row` on, for `raw_of`; return the total size of the texts.
  size_t read(const Documents& documents, size_t row, size_t n, Space& space) const {
    size_t size = 0, added = 0;
    space.rows.clear();
    space.starts[0] = 0;
    space.raw.resize(kTexts * stride_);
    space.hidden.assign(folded_ ? width_ : n * width_, 0);
    for (size_t text = 0; text < n; ++text) {
      const Bytes bytes = utf8_of(documents.at(row + text), space.utf8);
      space.known[text] = rule_.features(bytes.data, bytes.size, space);
      space.starts[text + 1] = space.rows.size();
      size += bytes.size + 16;
      if (text + 1 == n || space.rows.size() - space.starts[added] >= rule_.soon)
        for (; added <= text; ++added) folded_ ? add_folded(added, space) : add_hidden(added, space);
    }
    if (!folded_) {
      multiply(output_.data(), space.hidden.data(), width_, stride_ / kLabels, n, space.raw.data(), stride_);
      if (!scale_.empty())
        for (size_t text = 0; text < n; ++text)
          for (size_t i = 0; i < n_labels_; ++i) raw_of(text, space)[i] *= scale_[i];
    }
    for (size_t text = 0; text < n; ++text) outputs_.prepare(raw_of(text, space));
    return size;
  }
  float* raw_of(size_t text, Space& space) const { return space.raw.data() + text * stride_; }

  // Call work(rows, n) for a block of rows of a text at a time, while the next block is prefetched.
  template <class Work>
  void in_blocks(size_t text, const Space& space, const Work& work) const {
    const float* places[kBlock];
    const size_t end = space.starts[text + 1], asked = space.starts[text] + rule_.soon;
    for (size_t from = space.starts[text]; from < end; from += kBlock) {
      const size_t n = std::min(end - from, kBlock);
      for (size_t i = std::max(from + kBlock, asked); i < std::min(end, from + 2 * kBlock); ++i)
        rule_.ask_for(space.rows[i]);
      for (size_t i = 0; i < n; ++i) places[i] = rule_.row_of(space.rows[from + i]);
      work(places, n);
    }
  }

  void add_folded(size_t text, Space& space) const {
    size_t features = space.starts[text + 1] - space.starts[text];
    if (!sizes_.empty())
      for (size_t i = space.starts[text]; i < space.starts[text + 1]; ++i) {
        const auto row = static_cast<size_t>(space.rows[i]);
        if (row < sizes_.size()) features += sizes_[row] - 1;
      }
    space.known[text] += features - (space.starts[text + 1] - space.starts[text]);
    space.sums.assign(width_, 0);
    space.hidden.resize(width_);
    in_blocks(text, space, [&](const float* const* rows, size_t n) {
      std::fill(space.hidden.begin(), space.hidden.end(), 0.f);
      add_rows(space.hidden.data(), rows, n, width_);
      for (size_t j = 0; j < width_; ++j) space.sums[j] += space.hidden[j];
    });
    float* raw = raw_of(text, space);
    const auto n = static_cast<double>(std::max<size_t>(features, 1));
    for (size_t j = 0; j < width_; ++j) raw[j] = static_cast<float>(space.sums[j] / n);
  }

  // Sum rows like fastText, in its order and in 32 bits.
  void add_hidden(size_t text, Space& space) const {
    float* hidden = space.hidden.data() + text * width_;
    in_blocks(text, space, [&](const float* const* rows, size_t n) { add_rows(hidden, rows, n, width_); });
    const size_t features = space.starts[text + 1] - space.starts[text];
    const auto share = static_cast<float>(1.0 / static_cast<double>(std::max<size_t>(features, 1)));
    for (size_t j = 0; j < width_; ++j) hidden[j] *= share;
  }

  // The score of each class; fastText's decision has the highest score, even where its 32-bit arithmetic or its table
  // gives ties.
  void score(size_t text, Space& space, double* out) const {
    if (space.empty(text)) {
      std::fill(out, out + n_labels_, 0.0);
      return;
    }
    const float* raw = raw_of(text, space);
    const auto winner = static_cast<size_t>(outputs_.winner(raw, space.ranking));
    if (outputs_.loss == Loss::kTree) {
      space.sums.resize(n_labels_);
      outputs_.leaf_scores(raw, space.ranking.values, space.sums.data());
      for (size_t i = 0; i < n_labels_; ++i) out[places_[i]] = space.sums[i];
    } else {
      for (size_t i = 0; i < n_labels_; ++i) out[places_[i]] = raw[i];
    }
    double most = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < n_labels_; ++i)
      if (i != winner) most = std::max(most, out[places_[i]]);
    double& best = out[places_[winner]];
    if (best <= most) best = std::nextafter(most, std::numeric_limits<double>::infinity());
  }

  mutable SpacePool spaces_;
  Vector<uint8_t> blob_;
  Table<float> rows_;
  size_t width_, n_labels_;
  size_t stride_ = 0;  // distance from the outputs of one text to those of the next
  bool folded_ = false;
  Rule rule_;
  Outputs outputs_;
  std::vector<int64_t> places_, starts_;
  std::vector<float> output_, scale_;  // the output matrix in blocks of labels
  Array<float> word_rows_;
  std::vector<uint32_t> sizes_;  // number of features of each known word, if its row includes them
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
