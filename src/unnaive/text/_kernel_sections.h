// A record with fields → its sections, each with its mode; sections.py has the same steps and defines the modes.
#pragma once
#include <string>

#include "_kernel_memory.h"
#include "_kernel_token.h"

namespace unnaive {

// How the text after a key is read: not at all, as plain terms, as terms prefixed by the key, both, or as fixed terms.
enum class Mode : uint8_t { skipped, shared, own, both, fixed };

struct Field {
  std::string key;
  Mode mode;
};

// The fields of a token rule; if `on` is set and there are none, all sections are skipped.
struct Fields {
  bool on = false;
  std::vector<Field> fields;
};

constexpr uint8_t kSection = 0x1E, kUnit = 0x1F;

inline const uint8_t* find_byte(const uint8_t* from, const uint8_t* end, uint8_t byte) {
  const void* at = from == end ? nullptr : std::memchr(from, byte, static_cast<size_t>(end - from));
  return at ? static_cast<const uint8_t*>(at) : end;
}

// Call use(field, text) for every section that is read; text before the first section has no field.
template <class Use>
void each_section(Bytes record, const Fields& fields, Use&& use) {
  const uint8_t *at = record.data, *end = record.data + record.size;
  const uint8_t* stop = find_byte(at, end, kSection);
  if (stop > at) use(static_cast<const Field*>(nullptr), Bytes{at, static_cast<size_t>(stop - at)});
  size_t next = 0;  // sections come in the order of the fields
  while (stop < end) {
    at = stop + 1;
    stop = find_byte(at, end, kSection);
    const uint8_t* text = find_byte(at, stop, kUnit);
    if (text == stop) continue;
    const auto size = static_cast<size_t>(text - at);
    for (size_t tried = 0; tried < fields.fields.size(); ++tried) {
      const Field& field = fields.fields[next];
      next = next + 1 == fields.fields.size() ? 0 : next + 1;
      if (field.key.size() != size || std::memcmp(field.key.data(), at, size) != 0) continue;
      use(&field, Bytes{text + 1, static_cast<size_t>(stop - text - 1)});
      break;
    }
  }
}

// Whether bytes can be a fixed term: UTF-8 without spaces, control characters and U+FFFD.
inline bool is_fixed_term(Bytes unit) {
  bool plain = unit.size > 0;
  for (size_t i = 0; i < unit.size; ++i) {
    plain &= unit.data[i] > 0x20;
    plain &= !(i + 2 < unit.size && unit.data[i] == 0xEF && unit.data[i + 1] == 0xBF && unit.data[i + 2] == 0xBD);
  }
  return plain && is_utf8(unit.data, unit.size);
}

// Words prefixed by the key of a field, in batches.
class KeyedWords {
 public:
  // Call flush(tokens, n, alone) with the key and `sign` before each word.
  template <class Table, class Flush>
  void send(const Token* tokens, unsigned n, bool alone, const Table& table, Flush& flush) {
    size_t size = 16;  // keys are read 16 bytes at a time
    for (unsigned i = 0; i < n; ++i) size += prefix_.size() + tokens[i].length;
    text_.make_room(size);
    size_t used = 0;
    for (unsigned i = 0; i < n; ++i) {
      starts_[i] = used;
      std::memcpy(text_.data() + used, prefix_.data(), prefix_.size());
      used += prefix_.size();
      std::memcpy(text_.data() + used, tokens[i].text, tokens[i].length);
      used += tokens[i].length;
    }
    starts_[n] = used;
    const auto ahead = table.ahead();
    for (unsigned i = 0; i < n; ++i) {
      batch_[i] = token_in(text_.data() + starts_[i], static_cast<uint32_t>(starts_[i + 1] - starts_[i]));
      ahead.fetch(batch_[i].hash);
    }
    flush(static_cast<const Token*>(batch_.data()), n, alone);
  }

  void set_prefix(const Field& field, char sign) {
    prefix_ = field.key;
    prefix_ += sign;
  }

  // The fixed terms of a section, which are in no n-gram; the first unit is for human readers and is skipped.
  template <class Table, class Flush>
  void send_fixed(Bytes section, const Table& table, Flush& flush) {
    const uint8_t *end = section.data + section.size, *at = find_byte(section.data, end, kUnit);
    unsigned n = 0;
    while (at < end) {
      const uint8_t* stop = find_byte(at + 1, end, kUnit);
      const Bytes unit{at + 1, static_cast<size_t>(stop - at - 1)};
      at = stop;
      if (!is_fixed_term(unit)) continue;
      units_[n].text = unit.data;
      units_[n].length = static_cast<uint32_t>(unit.size);
      if (++n == kBatch) {
        send(units_.data(), n, true, table, flush);
        n = 0;
      }
    }
    if (n) send(units_.data(), n, true, table, flush);
  }

 private:
  std::string prefix_;
  Array<uint8_t> text_;
  std::array<size_t, kBatch + 1> starts_;
  std::array<Token, kBatch> batch_, units_;
};

}  // namespace unnaive
