// Bindings of the native text path: Engine (texts → counts), Scorer (texts → scores), read_files.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../base/_leak_report.h"
#include "_kernel_alphabet.h"
#include "_kernel_chars_python.h"
#include "_kernel_class_sums.h"
#include "_kernel_files_ahead.h"
#include "_kernel_python_text_python.h"
#include "_kernel_score.h"
#include "_kernel_terms_python.h"

namespace unnaive {

uint64_t hash_seed = 0;
uint8_t kinds[kMaxCode + 1] = {};
std::atomic<const Loops*> loops{&kPlainLoops};

nb::tuple count(Engine& engine, nb::handle texts, bool grow, const Threads& threads, size_t limit, bool sorted) {
  const Held input = hold(texts, limit);
  Counts counts;
  {
    nb::gil_scoped_release release;
    if (grow) {
      const std::unique_lock<std::shared_mutex> lock(engine.mutex());
      counts = engine.count(input.documents, true, sorted, threads, listen);
    } else {
      const std::shared_lock<std::shared_mutex> lock(engine.mutex());
      counts = engine.count(input.documents, false, sorted, threads, listen);
    }
  }
  return numpy_rows(std::move(counts));
}

// (the bytes of the terms in order, the end of each, the place of each of the engine's terms or None, the ends of the
// classes, the terms of their cells, sums, numbers of documents; sums and numbers of documents over the corpus). Each
// text has one class. None if a sum might overflow; no term was added then.
nb::object sum_classes(Engine& engine, nb::handle texts, const Vector<int32_t>& classes, size_t n_classes,
                       const Threads& threads, size_t limit) {
  const Held input = hold(texts, limit);
  require(classes.size() == input.documents.count, "there is not one class for each text");
  check_inside(classes.data(), classes.size(), static_cast<int64_t>(n_classes), "a text has a class that is not there");
  TextSums sums;
  if (!sums_fit(input.documents, engine.terms().longest())) return nb::none();
  {
    nb::gil_scoped_release release;
    const std::unique_lock<std::shared_mutex> lock(engine.mutex());
    sums = engine.sum_classes(input.documents, classes.data(), n_classes, threads, listen);
  }
  const nb::object place = sums.place.size() ? numpy_of(std::move(sums.place)) : nb::none();
  return nb::make_tuple(numpy_of(std::move(sums.bytes)), numpy_of(std::move(sums.term_ends)), place,
                        numpy_of(converted<int32_t>(sums.ends.data(), sums.ends.size())),
                        numpy_of(std::move(sums.terms)), numpy_of(std::move(sums.sums)), numpy_of(std::move(sums.df)),
                        numpy_of(std::move(sums.corpus_sums)), numpy_of(std::move(sums.corpus_df)));
}

// The processor time of each phase of counting, without the counts; benchmarks extrapolate it to machines with more
// cores.
nb::tuple time_phases(Engine& engine, nb::handle texts, const Threads& threads, size_t limit) {
  const Held input = hold(texts, limit);
  Phases took;
  {
    nb::gil_scoped_release release;
    const std::unique_lock<std::shared_mutex> lock(engine.mutex());
    took = engine.count(input.documents, true, true, threads, listen).phases;
  }
  return nb::make_tuple(took.head, took.copy, took.shards, took.merge, took.join);
}

// A lock that prevents changes of the engine's tables while it lives. The GIL is released while waiting, because
// another thread may hold the lock and need the GIL.
std::shared_lock<std::shared_mutex> reading(Engine& engine) {
  nb::gil_scoped_release release;
  return std::shared_lock<std::shared_mutex>(engine.mutex());
}

// The tokens of one text, for comparison with the reference.
nb::list tokens(Engine& engine, nb::str text, size_t limit) {
  nb::list words;
  const auto lock = reading(engine);
  engine.each_token(document_of(text.ptr(), 0, limit), [&](const Token* batch, unsigned n, bool) {
    for (unsigned i = 0; i < n; ++i)
      words.append(nb::str(reinterpret_cast<const char*>(batch[i].text), batch[i].length));
  });
  return words;
}

void learn(Engine& engine, nb::handle texts, bool grow, const Threads& threads, size_t limit) {
  const Held input = hold(texts, limit);
  nb::gil_scoped_release release;
  const std::unique_lock<std::shared_mutex> lock(engine.mutex());
  engine.learn(input.documents, grow, threads, listen);
}

// The words whose stems are not known yet.
nb::list pending(Engine& engine) {
  nb::list words;
  const auto lock = reading(engine);
  for (uint32_t entry = engine.resolved(); entry < engine.surfaces().size(); ++entry) {
    const Bytes word = engine.surfaces()[entry];
    words.append(nb::str(reinterpret_cast<const char*>(word.data), word.size));
  }
  return words;
}

void resolve(Engine& engine, const Vector<uint8_t>& blob, const Vector<int64_t>& offsets, bool grow) {
  const std::vector<Bytes> stems = words_in(blob, offsets);
  nb::gil_scoped_release release;  // another thread may hold the lock and need the GIL
  const std::unique_lock<std::shared_mutex> lock(engine.mutex());
  if (engine.resolved() + stems.size() != engine.surfaces().size())
    throw nb::value_error("there must be a stem for every word that waits for one");
  engine.resolve(stems, grow);
}

// (words, n-grams, terms), for forget().
std::array<uint32_t, 3> known(Engine& engine) {
  nb::gil_scoped_release release;
  const std::shared_lock<std::shared_mutex> lock(engine.mutex());
  const Terms::Known known = engine.terms().known();
  return {known.words, known.grams, known.terms};
}

// Forget the stems, and the terms that were added since `known`.
void forget(Engine& engine, const std::array<uint32_t, 3>& known) {
  nb::gil_scoped_release release;
  const std::unique_lock<std::shared_mutex> lock(engine.mutex());
  engine.forget({known[0], known[1], known[2]});
}

// The GIL is released, because a call that grows the table may hold the lock and need the GIL.
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

// The place of each term in alphabetical order.
nb::object alphabetical_places(Engine& engine) {
  Array<int32_t> places;
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(engine.mutex());
    places = alphabetical(engine.terms());
  }
  return numpy_of(std::move(places));
}

// The rows of the texts that may be messages with MIME parts or encoded words in their header.
nb::list mime_rows(nb::handle texts, size_t most) {
  const Held input = hold(texts);
  std::vector<size_t> rows;
  {
    nb::gil_scoped_release release;
    for (size_t row = 0; row < input.documents.count; ++row)
      if (may_need_mime(input.documents.at(row), most)) rows.push_back(row);
  }
  nb::list found;
  for (const size_t row : rows) found.append(row);
  return found;
}

// Python's table of HTML entities, read once; engines hold no reference to Python objects.
const Entities& html_entities() {
  static Kept<Entities> entities;
  return entities.get([] {
    Entities found;
    for (auto [name, text] : nb::cast<nb::dict>(nb::module_::import_("html.entities").attr("html5")))
      found.emplace(nb::cast<std::string>(name), nb::cast<std::string>(text));
    return found;
  });
}

Fields fields_of(bool on, const std::vector<Bytes>& keys, const std::vector<unsigned>& modes) {
  if (keys.size() != modes.size()) throw nb::value_error("there is a mode for every field");
  Fields fields{on, {}};
  for (size_t i = 0; i < keys.size(); ++i) {
    if (modes[i] > static_cast<unsigned>(Mode::fixed)) throw nb::value_error("settings are out of range");
    fields.fields.push_back(
        {std::string(reinterpret_cast<const char*>(keys[i].data), keys[i].size), static_cast<Mode>(modes[i])});
  }
  return fields;
}

void make_engine(Engine* self, bool lowercase, bool turkish, bool digits, uint32_t min_length, bool cut_runs,
                 bool emoji, bool symbols, bool chunks, bool html, unsigned message, unsigned shortest,
                 unsigned longest, bool stemmed, bool sections, const Vector<uint8_t>& keys,
                 const Vector<int64_t>& key_ends, const std::vector<unsigned>& modes, const Vector<uint8_t>& stops,
                 const Vector<int64_t>& stop_ends, const Vector<uint8_t>& vocabulary,
                 const Vector<int64_t>& vocabulary_ends, nb::handle python) {
  if (shortest < 1 || longest < shortest || longest > Grams::kLongest || message > 4)
    throw nb::value_error("settings are out of range");
  std::shared_ptr<const PythonText> python_text;
  if (!python.is_none()) python_text = nb::cast<const HeldPythonText&>(python).text;
  const Settings settings{
      {lowercase, lowercase && turkish, digits, min_length, cut_runs, emoji, symbols, chunks, python_text},
      static_cast<Message>(message),
      html ? &html_entities() : nullptr,
      fields_of(sections, words_in(keys, key_ends), modes)};
  new (self) Engine(settings, shortest, longest, stemmed);
  self->set_words(words_in(stops, stop_ends), words_in(vocabulary, vocabulary_ends));
}

// A Scorer with the numpy arrays that it refers to.
struct HeldScorer {
  std::vector<nb::object> owners;
  Engine& engine;
  Scorer scorer;
};

std::vector<std::string> paths_of(const std::vector<nb::bytes>& names) {
  std::vector<std::string> paths;
  for (const nb::bytes& name : names) paths.emplace_back(name.c_str(), name.size());
  return paths;
}

// (bytes of all files, the end of each, which are not UTF-8), or (the file that could not be read, errno).
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

constexpr const char* kMisfit = "the arrays of a linear model do not fit each other";

// The sparse weights of a linear model, a row for each class.
template <class Index>
void set_arcs(Linear& linear, const Doubles& arcs, const Vector<Index>& columns, const Vector<Index>& ends,
              const Doubles& term_background) {
  require(ends.size() == linear.classes + 1 && arcs.size() == columns.size(), kMisfit);
  check_starts(ends.data(), ends.size(), arcs.size(), kMisfit);
  require(ends.data()[0] == 0 && static_cast<size_t>(ends.data()[linear.classes]) == arcs.size(), kMisfit);
  check_inside(columns.data(), columns.size(), static_cast<int64_t>(linear.terms), kMisfit);
  linear.set_arcs(arcs.data(), columns.data(), ends.data(), term_background.data());
}

// `arcs` are dense weights (terms, classes) if `ends` is empty, else sparse ones.
template <class Index>
Linear linear_of(const Doubles& arcs, const Vector<Index>& columns, const Vector<Index>& ends,
                 const Doubles& class_background, const Doubles& term_background, const Doubles& bias, bool binary) {
  Linear linear;
  linear.classes = bias.size();
  linear.terms = term_background.size();
  linear.class_background = class_background.data();
  linear.bias = bias.data();
  linear.binary = binary;
  require(class_background.size() == linear.classes, kMisfit);
  if (ends.size()) {
    set_arcs(linear, arcs, columns, ends, term_background);
  } else {
    require(arcs.size() == linear.classes * linear.terms, kMisfit);
    linear.dense = arcs.data();
    linear.set_backgrounds(term_background.data());
  }
  return linear;
}

// A permutation of 0 … size − 1, or an empty vector.
std::vector<uint32_t> permutation(const Vector<int64_t>& places, size_t size) {
  if (places.size() == 0) return {};
  require(places.size() == size, "an order must have every place once");
  check_inside(places.data(), size, static_cast<int64_t>(size), "an order must have every place once");
  std::vector<uint32_t> order(size);
  std::vector<uint8_t> seen(size);
  bool twice = false;
  for (size_t i = 0; i < size; ++i) {
    order[i] = static_cast<uint32_t>(places.data()[i]);
    twice |= seen[order[i]]++ != 0;
  }
  require(!twice, "an order must have every place once");
  return order;
}

template <class Index>
void make_scorer(HeldScorer* self, nb::object engine_object, Doubles arcs, Vector<Index> arc_columns,
                 Vector<Index> ends, Doubles class_background, Doubles term_background, Doubles bias, bool binary,
                 bool fast, const Vector<int64_t>& columns) {
  Engine& engine = nb::cast<Engine&>(engine_object);
  Linear linear = linear_of(arcs, arc_columns, ends, class_background, term_background, bias, binary);
  if (linear.terms != size(engine)) throw nb::value_error("there must be weights for every term");
  std::vector<nb::object> owners{engine_object, nb::cast(class_background), nb::cast(bias)};
  if (linear.dense) owners.push_back(nb::cast(arcs));
  std::vector<uint32_t> order = permutation(columns, linear.terms);
  new (self) HeldScorer{std::move(owners), engine, Scorer(engine, std::move(linear), std::move(order), fast)};
}

// The engine may have counted texts with new terms, which have no weights.
void check_terms_of(const HeldScorer& self) {
  require(self.engine.terms().size() == self.scorer.linear().terms, "there must be weights for every term");
}

// (scores, number of known term occurrences of each text). If a class leads by more than `clear`, its score is 0 and
// the others are −∞.
nb::tuple scores(HeldScorer& self, nb::handle texts, double clear, const Threads& threads, size_t limit) {
  const Held input = hold(texts, limit);
  NumpyArray<double> out(nb::make_tuple(input.documents.count, self.scorer.linear().classes));
  NumpyArray<int64_t> known(nb::cast(input.documents.count));
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(self.engine.mutex());
    check_terms_of(self);
    self.scorer.scores(input.documents, threads, listen, clear, out.data, known.data);
  }
  return nb::make_tuple(out.array, known.array);
}

nb::object best(HeldScorer& self, nb::handle texts, const Threads& threads, size_t limit) {
  const Held input = hold(texts, limit);
  NumpyArray<int64_t> out(nb::cast(input.documents.count));
  {
    nb::gil_scoped_release release;
    const std::shared_lock<std::shared_mutex> lock(self.engine.mutex());
    check_terms_of(self);
    self.scorer.best(input.documents, threads, listen, out.data);
  }
  return out.array;
}

}  // namespace unnaive

NB_MODULE(_kernel, m) {
  set_leak_report();
  using namespace unnaive;
  if (!counts_bits()) throw nb::import_error("this processor, of before 2009, cannot count bits");
  static std::once_flag filled;  // on a second import the tables exist and are in use
  std::call_once(filled, [] {
    fill_kinds();
    loops = loops_for(has_wide());
    hash_seed = random_seed();
  });
  nb::class_<Threads>(m, "Threads")
      .def(
          "__init__", [](Threads* self, unsigned most, size_t worth) { new (self) Threads{most, worth}; }, "most"_a,
          "worth"_a);
  nb::class_<Engine>(m, "Engine")
      .def("__init__", &make_engine, "lowercase"_a, "turkish"_a, "digits"_a, "min_length"_a, "cut_runs"_a, "emoji"_a,
           "symbols"_a, "chunks"_a, "html"_a, "message"_a, "shortest"_a, "longest"_a, "stemmed"_a, "sections"_a,
           "keys"_a, "key_ends"_a, "modes"_a, "stops"_a, "stop_ends"_a, "vocabulary"_a, "vocabulary_ends"_a,
           "python"_a = nb::none())
      .def("__len__", &size)
      .def("count", &count, "texts"_a, "grow"_a, "threads"_a, "limit"_a, "sorted"_a = true)
      .def("sum_classes", &sum_classes, "texts"_a, "classes"_a, "n_classes"_a, "threads"_a, "limit"_a)
      .def("time_phases", &time_phases, "texts"_a, "threads"_a, "limit"_a)
      .def("tokens", &tokens, "text"_a, "limit"_a)
      .def("learn", &learn, "texts"_a, "grow"_a, "threads"_a, "limit"_a)
      .def("pending", &pending)
      .def("resolve", &resolve, "stems"_a, "ends"_a, "grow"_a)
      .def("surfaces", &surfaces)
      .def("known", &known)
      .def("forget", &forget, "known"_a)
      .def("terms", &terms)
      .def("alphabetical", &alphabetical_places);
  nb::class_<HeldScorer>(m, "Scorer")
      .def("__init__", &make_scorer<int32_t>, "engine"_a, "arcs"_a, "arc_columns"_a, "ends"_a, "class_background"_a,
           "term_background"_a, "bias"_a, "binary"_a, "fast"_a, "columns"_a)
      .def("__init__", &make_scorer<int64_t>, "engine"_a, "arcs"_a, "arc_columns"_a, "ends"_a, "class_background"_a,
           "term_background"_a, "bias"_a, "binary"_a, "fast"_a, "columns"_a)
      .def("scores", &scores, "texts"_a, "clear"_a, "threads"_a, "limit"_a)
      .def("best", &best, "texts"_a, "threads"_a, "limit"_a);
  m.def("limit_kept_pages", &limit_kept_pages, "bytes"_a);
  m.attr("MOST_KEPT") = kMostKept;
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
  // for tests: choose the portable loops or those for this processor; returns whether the latter were in use
  m.def("use_wide", [](bool wide) { return loops.exchange(loops_for(wide && has_wide())) != &kPlainLoops; });
  m.def("all_str", &all_str, "texts"_a);
  m.def("mime_rows", &mime_rows, "texts"_a, "most"_a);
  add_vocabularies(m);
  add_characters(m);
  add_python_text(m);
}
