// The native text path, as Python sees it: Engine (texts → counts), Scorer (texts → scores), read_files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <random>

#include "_kernel_files_ahead.h"
#include "_kernel_score.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unnaive {

uint64_t hash_seed = 0;
uint8_t kinds[kMaxCode + 1] = {};
Loops loops = loops_for(false);

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A numpy array that owns the memory of `array`.
template <class T>
nb::object numpy_of(Array<T> array, std::initializer_list<size_t> shape) {
  auto* held = new Array<T>(std::move(array));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
  nb::object out = nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape, owner));
  // numpy has two 64-bit integers and prints the one that nanobind makes as a stranger
  return std::is_same_v<T, int64_t> ? out.attr("view")("int64") : out;
}

template <class T>
nb::object numpy_of(Array<T> array) {
  const size_t size = array.size();
  return numpy_of(std::move(array), {size});
}

const nb::module_& numpy() {
  static const auto* numpy = new nb::module_(nb::module_::import_("numpy"));
  return *numpy;
}

// A new array of numpy's own and its memory: for a single prediction that is quicker than to hand over ours.
template <class T>
struct NumpyArray {
  nb::object array;
  T* data = nullptr;

  explicit NumpyArray(nb::object shape) : array(numpy().attr("empty")(std::move(shape), type())) {
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    data = static_cast<T*>(view.buf);
    PyBuffer_Release(&view);  // the memory stays where it is as long as the array lives
  }

  static const nb::object& type() {
    static const auto* type = new nb::object(numpy().attr("dtype")(std::is_same_v<T, double> ? "float64" : "int64"));
    return *type;
  }
};

template <class T, class From>
Array<T> converted(const From* values, size_t size) {
  Array<T> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<T>(values[i]);
  return out;
}

// The documents of a call, and what keeps them alive while the GIL is released.
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

// A tuple holds every string: a list could be changed by another thread.
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

// Whether a list or tuple has nothing but str in it. Its objects are anywhere in memory, so that they are asked for in
// time.
bool all_str(nb::handle texts) {
  constexpr Py_ssize_t kLead = 16;
  if (!PyList_Check(texts.ptr()) && !PyTuple_Check(texts.ptr())) return false;
  const nb::ft_object_guard guard(texts);  // without the GIL another thread could change a list meanwhile
  PyObject** items = PySequence_Fast_ITEMS(texts.ptr());
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(texts.ptr());
  bool all = true;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (i + kLead < n) __builtin_prefetch(items[i + kLead]);
    all &= PyUnicode_CheckExact(items[i]);
  }
  return all;
}

// Ctrl-C is noticed by the thread that called, between documents.
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

// Of a vocabulary that is not trusted: the first term that is not UTF-8, and the first that comes again; -1 for none.
nb::tuple check_terms(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  const std::vector<Bytes> terms = words_in(blob, offsets);
  int64_t odd = -1, again = -1;
  {
    nb::gil_scoped_release release;
    // all at once are soonest looked at: they are UTF-8 if the whole is, and none begins within a character
    bool sound = !terms.empty() && terms.back().data + terms.back().size == blob.data() + blob.size() &&
                 is_utf8(blob.data(), blob.size());
    for (size_t i = 0; sound && i < terms.size(); ++i) sound = !terms[i].size || (*terms[i].data & 0xC0) != 0x80;
    WordTable seen;
    seen.reserve(terms.size());
    seen.each_token(terms, [&](const Token& token, size_t i) {
      if (odd >= 0 || again >= 0) return;
      if (!sound && !is_utf8(terms[i].data, terms[i].size)) odd = static_cast<int64_t>(i);
      if (seen.insert(token) != i) again = static_cast<int64_t>(i);
    });
  }
  return nb::make_tuple(odd, again);
}

// The ids of some terms in a vocabulary; those that it lacks get the ids behind its own, in the order in which they
// come.
nb::object place_terms(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets, const Vector<uint8_t>& other,
                       const Vector<int64_t>& other_offsets) {
  const std::vector<Bytes> terms = words_in(blob, offsets), others = words_in(other, other_offsets);
  Array<int64_t> ids(others.size());
  {
    nb::gil_scoped_release release;
    WordTable table;
    table.reserve(terms.size() + others.size());
    for (const Bytes& term : terms) table.insert(term);
    for (size_t i = 0; i < others.size(); ++i) ids[i] = table.insert(others[i]);
  }
  return numpy_of(std::move(ids));
}

// None where the terms are in order.
nb::object term_order(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets) {
  const std::vector<Bytes> terms = words_in(blob, offsets);
  Array<int64_t> order;
  {
    nb::gil_scoped_release release;
    order = order_of_terms(terms);
  }
  return order.size() ? numpy_of(std::move(order)) : nb::none();
}

nb::tuple taken_terms(const Vector<uint8_t>& blob, const Vector<int64_t>& offsets, const Vector<int64_t>& chosen) {
  const std::vector<Bytes> terms = words_in(blob, offsets);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen.data()[i] < 0 || static_cast<size_t>(chosen.data()[i]) >= terms.size())
      throw nb::value_error("there is no term of this number");
  Array<uint8_t> bytes;
  Array<int64_t> ends;
  {
    nb::gil_scoped_release release;
    take_terms(terms, chosen.data(), chosen.size(), bytes, ends);
  }
  return nb::make_tuple(numpy_of(std::move(bytes)), numpy_of(std::move(ends)));
}

// (counts, ids, where rows end) in the narrowest integers that scipy takes.
nb::tuple numpy_rows(Counts counts) {
  Rows& rows = counts.rows;
  if (rows.used > 0x7FFFFFFFu) {
    auto ids = converted<int64_t>(rows.ids.data(), rows.used);
    return nb::make_tuple(numpy_of(std::move(rows.counts)), numpy_of(std::move(ids)), numpy_of(std::move(counts.ends)));
  }
  auto ends = converted<int32_t>(counts.ends.data(), counts.ends.size());
  return nb::make_tuple(numpy_of(std::move(rows.counts)), numpy_of(std::move(rows.ids)), numpy_of(std::move(ends)));
}

nb::tuple count(Engine& engine, nb::handle texts, bool grow, const Threads& threads, size_t limit) {
  const Held input = held(texts, limit);
  Counts counts;
  {
    nb::gil_scoped_release release;
    if (grow) {
      const std::unique_lock<std::shared_mutex> lock(engine.mutex());
      counts = engine.count(input.documents, true, threads, listen);
    } else {
      const std::shared_lock<std::shared_mutex> lock(engine.mutex());
      counts = engine.count(input.documents, false, threads, listen);
    }
  }
  return numpy_rows(std::move(counts));
}

// What counting takes, without the counts: a model of machines with more cores is made of these parts.
nb::tuple time_phases(Engine& engine, nb::handle texts, const Threads& threads, size_t limit) {
  const Held input = held(texts, limit);
  Phases took;
  {
    nb::gil_scoped_release release;
    const std::unique_lock<std::shared_mutex> lock(engine.mutex());
    took = engine.count(input.documents, true, threads, listen).phases;
  }
  return nb::make_tuple(took.head, took.copy, took.shards, took.merge, took.join);
}

// The tokens of one text as they are read, for comparison with the reference.
nb::list tokens(Engine& engine, nb::str text, size_t limit) {
  nb::list words;
  engine.each_token(document_of(text.ptr(), 0, limit), [&](const Token* batch, unsigned n, bool) {
    for (unsigned i = 0; i < n; ++i)
      words.append(nb::str(reinterpret_cast<const char*>(batch[i].text), batch[i].length));
  });
  return words;
}

void learn(Engine& engine, nb::handle texts, bool grow, const Threads& threads, size_t limit) {
  const Held input = held(texts, limit);
  nb::gil_scoped_release release;
  const std::unique_lock<std::shared_mutex> lock(engine.mutex());
  engine.learn(input.documents, grow, threads, listen);
}

// The words that wait for their stems.
nb::list pending(Engine& engine) {
  nb::list words;
  std::shared_lock<std::shared_mutex> lock(engine.mutex(), std::defer_lock);
  {
    nb::gil_scoped_release release;  // another thread may hold the lock and want the GIL
    lock.lock();
  }
  for (uint32_t entry = engine.resolved(); entry < engine.surfaces().size(); ++entry) {
    const Bytes word = engine.surfaces()[entry];
    words.append(nb::str(reinterpret_cast<const char*>(word.data), word.size));
  }
  return words;
}

void resolve(Engine& engine, const Vector<uint8_t>& blob, const Vector<int64_t>& offsets, bool grow) {
  const std::vector<Bytes> stems = words_in(blob, offsets);
  nb::gil_scoped_release release;  // another thread may hold the lock and want the GIL
  const std::unique_lock<std::shared_mutex> lock(engine.mutex());
  if (engine.resolved() + stems.size() != engine.surfaces().size())
    throw nb::value_error("there must be a stem for every word that waits for one");
  engine.resolve(stems, grow);
}

void forget(Engine& engine) {
  nb::gil_scoped_release release;
  const std::unique_lock<std::shared_mutex> lock(engine.mutex());
  engine.forget();
}

// Another call may be growing the table, and want the GIL while it does.
size_t size(Engine& engine) {
  nb::gil_scoped_release release;
  const std::shared_lock<std::shared_mutex> lock(engine.mutex());
  return engine.terms().size();
}

size_t surfaces(Engine& engine) {
  nb::gil_scoped_release release;
  const std::shared_lock<std::shared_mutex> lock(engine.mutex());
  return engine.surfaces().size();
}

nb::tuple terms(Engine& engine) {
  Array<uint8_t> bytes;
  Array<int64_t> ends;
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(engine.mutex());
    engine.terms().write(bytes, ends);
  }
  return nb::make_tuple(numpy_of(std::move(bytes)), numpy_of(std::move(ends)));
}

// What Python knows, read once; the engines keep no reference of their own.
const Entities& html_entities() {
  static const Entities* entities = [] {
    auto* found = new Entities();
    for (auto [name, text] : nb::cast<nb::dict>(nb::module_::import_("html.entities").attr("html5")))
      found->emplace(nb::cast<std::string>(name), nb::cast<std::string>(text));
    return found;
  }();
  return *entities;
}

void make_engine(Engine* self, bool lowercase, bool turkish, bool digits, uint32_t min_length, bool cut_runs,
                 bool emoji, bool symbols, bool chunks, bool html, unsigned message, unsigned shortest,
                 unsigned longest, bool stemmed, const Vector<uint8_t>& stops, const Vector<int64_t>& stop_ends,
                 const Vector<uint8_t>& vocabulary, const Vector<int64_t>& vocabulary_ends) {
  if (shortest < 1 || longest < shortest || longest > Grams::kLongest || message > 4)
    throw nb::value_error("settings are out of range");
  const Settings settings{{lowercase, lowercase && turkish, digits, min_length, cut_runs, emoji, symbols, chunks},
                          static_cast<Message>(message),
                          html ? &html_entities() : nullptr};
  new (self) Engine(settings, shortest, longest, stemmed);
  self->set_words(words_in(stops, stop_ends), words_in(vocabulary, vocabulary_ends));
}

// A Scorer with the arrays that it looks at.
struct HeldScorer {
  std::vector<nb::object> owners;
  Engine& engine;
  Linear linear;
  Scorer scorer;
};

std::vector<std::string> paths_of(const std::vector<nb::bytes>& names) {
  std::vector<std::string> paths;
  for (const nb::bytes& name : names) paths.emplace_back(name.c_str(), name.size());
  return paths;
}

// (bytes of all files, where each ends, which are not UTF-8), or (the file that could not be read, errno).
nb::tuple numpy_files(FileTexts texts) {
  if (texts.error) return nb::make_tuple(texts.failed, texts.error);
  auto odd = converted<uint8_t>(texts.odd.data(), texts.odd.size());
  const size_t bytes = texts.bytes();
  return nb::make_tuple(numpy_of(std::move(texts.blob), {bytes}), numpy_of(std::move(texts.ends)),
                        numpy_of(std::move(odd)));
}

nb::tuple files(const std::vector<nb::bytes>& names, unsigned threads) {
  FileTexts texts;
  const std::vector<std::string> paths = paths_of(names);
  {
    nb::gil_scoped_release release;
    texts = read_files(paths.data(), paths.size(), threads);
  }
  return numpy_files(std::move(texts));
}

nb::tuple take_files(FilesAhead& ahead) {
  FileTexts texts;
  {
    nb::gil_scoped_release release;
    texts = ahead.take();
  }
  return numpy_files(std::move(texts));
}

using Doubles = Vector<double>;

Linear linear_of(const Doubles& arcs, const Vector<int32_t>& arc_class, const Vector<int64_t>& ends,
                 const Doubles& class_background, const Doubles& term_background, const Doubles& bias, bool binary) {
  Linear linear;
  linear.classes = bias.size();
  linear.terms = term_background.size();
  linear.class_background = class_background.data();
  linear.term_background = term_background.data();
  linear.bias = bias.data();
  linear.binary = binary;
  bool right = class_background.size() == linear.classes;
  if (ends.size() == 0) {
    linear.dense = arcs.data();
    right = right && arcs.size() == linear.classes * linear.terms;
  } else {
    linear.arc = arcs.data();
    linear.arc_class = arc_class.data();
    linear.ends = ends.data();
    right = right && ends.size() == linear.terms + 1 && arcs.size() == arc_class.size() && ends.data()[0] == 0 &&
            ends.data()[linear.terms] == static_cast<int64_t>(arcs.size());
    for (size_t t = 0; right && t < linear.terms; ++t) right = ends.data()[t] <= ends.data()[t + 1];
    for (size_t k = 0; right && k < arcs.size(); ++k)
      right = arc_class.data()[k] >= 0 && static_cast<size_t>(arc_class.data()[k]) < linear.classes;
  }
  if (!right) throw nb::value_error("the arrays of a linear model do not fit each other");
  return linear;
}

// Every place below `size` once, or none at all.
std::vector<uint32_t> permutation(const Vector<int64_t>& places, size_t size) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(size);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<uint64_t>(places.data()[i]);
    if (place >= size || seen[place]) throw nb::value_error("an order must have every place once");
    seen[place] = true;
    order.push_back(static_cast<uint32_t>(place));
  }
  if (!order.empty() && order.size() != size) throw nb::value_error("an order must have every place once");
  return order;
}

void make_scorer(HeldScorer* self, nb::object engine_object, Doubles arcs, Vector<int32_t> arc_class,
                 Vector<int64_t> ends, Doubles class_background, Doubles term_background, Doubles bias, bool binary,
                 bool fast, const Vector<int64_t>& columns) {
  Engine& engine = nb::cast<Engine&>(engine_object);
  const Linear linear = linear_of(arcs, arc_class, ends, class_background, term_background, bias, binary);
  if (linear.terms != size(engine)) throw nb::value_error("there must be weights for every term");
  std::vector<nb::object> owners{engine_object,
                                 nb::cast(arcs),
                                 nb::cast(arc_class),
                                 nb::cast(ends),
                                 nb::cast(class_background),
                                 nb::cast(term_background),
                                 nb::cast(bias)};
  new (self)
      HeldScorer{std::move(owners), engine, linear, Scorer(engine, linear, permutation(columns, linear.terms), fast)};
}

// A sparse matrix of classes × terms, its columns one after another: (values, their classes, where each term's end).
nb::tuple by_term(const Doubles& arcs, const Vector<int64_t>& terms, const Vector<int64_t>& ends, size_t n_terms) {
  bool right = ends.size() > 0 && arcs.size() == terms.size() && ends.data()[0] == 0 &&
               ends.data()[ends.size() - 1] == static_cast<int64_t>(arcs.size());
  for (size_t c = 0; right && c + 1 < ends.size(); ++c) right = ends.data()[c] <= ends.data()[c + 1];
  for (size_t k = 0; right && k < terms.size(); ++k)
    right = terms.data()[k] >= 0 && static_cast<size_t>(terms.data()[k]) < n_terms;
  if (!right) throw nb::value_error("the arrays of a sparse matrix do not fit each other");
  TermArcs found(arcs.data(), terms.data(), ends.data(), ends.size() - 1, n_terms);
  return nb::make_tuple(numpy_of(std::move(found.arc)), numpy_of(std::move(found.arc_class)),
                        numpy_of(std::move(found.ends)));
}

// (scores, how many mentions of terms each text has)
nb::tuple scores(HeldScorer& self, nb::handle texts, const Threads& threads, size_t limit) {
  const Held input = held(texts, limit);
  NumpyArray<double> out(nb::make_tuple(input.documents.count, self.linear.classes));
  NumpyArray<int64_t> known(nb::cast(input.documents.count));
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(self.engine.mutex());
    self.scorer.scores(input.documents, threads, listen, out.data, known.data);
  }
  return nb::make_tuple(out.array, known.array);
}

nb::object best(HeldScorer& self, nb::handle texts, const Threads& threads, size_t limit) {
  const Held input = held(texts, limit);
  NumpyArray<int64_t> out(nb::cast(input.documents.count));
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(self.engine.mutex());
    self.scorer.best(input.documents, threads, listen, out.data);
  }
  return out.array;
}

}  // namespace unnaive

#include "_kernel_chars_python.h"

NB_MODULE(_kernel, m) {
  using namespace unnaive;
#if defined(__x86_64__) && defined(__POPCNT__)
  if (!__builtin_cpu_supports("popcnt")) throw nb::import_error("this processor, of before 2009, cannot count bits");
#endif
  fill_kinds();
  loops = loops_for(has_wide());
  std::random_device random;
  hash_seed = static_cast<uint64_t>(random()) << 32 | random();
  nb::class_<Threads>(m, "Threads")
      .def(
          "__init__", [](Threads* self, unsigned most, size_t worth) { new (self) Threads{most, worth}; }, "most"_a,
          "worth"_a);
  nb::class_<Engine>(m, "Engine")
      .def("__init__", &make_engine, "lowercase"_a, "turkish"_a, "digits"_a, "min_length"_a, "cut_runs"_a, "emoji"_a,
           "symbols"_a, "chunks"_a, "html"_a, "message"_a, "shortest"_a, "longest"_a, "stemmed"_a, "stops"_a,
           "stop_ends"_a, "vocabulary"_a, "vocabulary_ends"_a)
      .def("__len__", &size)
      .def("count", &count, "texts"_a, "grow"_a, "threads"_a, "limit"_a)
      .def("time_phases", &time_phases, "texts"_a, "threads"_a, "limit"_a)
      .def("tokens", &tokens, "text"_a, "limit"_a)
      .def("learn", &learn, "texts"_a, "grow"_a, "threads"_a, "limit"_a)
      .def("pending", &pending)
      .def("resolve", &resolve, "stems"_a, "ends"_a, "grow"_a)
      .def("surfaces", &surfaces)
      .def("forget", &forget)
      .def("terms", &terms);
  nb::class_<HeldScorer>(m, "Scorer")
      .def("__init__", &make_scorer, "engine"_a, "arcs"_a, "arc_class"_a, "ends"_a, "class_background"_a,
           "term_background"_a, "bias"_a, "binary"_a, "fast"_a, "columns"_a)
      .def("scores", &scores, "texts"_a, "threads"_a, "limit"_a)
      .def("best", &best, "texts"_a, "threads"_a, "limit"_a);
  m.def("read_files", &files, "paths"_a, "threads"_a);
  nb::class_<FilesAhead>(m, "FilesAhead")
      .def(
          "__init__",
          [](FilesAhead* self, const std::vector<nb::bytes>& paths, size_t batch, size_t most) {
            if (!batch) throw nb::value_error("a batch has at least one file");
            new (self) FilesAhead(paths_of(paths), batch, most);
          },
          "paths"_a, "batch"_a, "most"_a)
      .def("take", &take_files);
  // for comparison: the loops for any processor, or for this one; says which there were
  m.def("use_wide", [](bool wide) {
    const bool before = loops.sort_ids != loops_for(false).sort_ids;
    loops = loops_for(wide && has_wide());
    return before;
  });
  m.def("all_str", &all_str, "texts"_a);
  m.def("by_term", &by_term, "arcs"_a, "terms"_a, "ends"_a, "n_terms"_a);
  m.def("term_order", &term_order, "terms"_a, "ends"_a);
  m.def("take_terms", &taken_terms, "terms"_a, "ends"_a, "chosen"_a);
  m.def("check_terms", &check_terms, "terms"_a, "ends"_a);
  m.def("place_terms", &place_terms, "terms"_a, "ends"_a, "others"_a, "other_ends"_a);
  add_characters(m);
}
