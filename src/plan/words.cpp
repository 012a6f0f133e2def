// Each record has one list of fields, which both directions visit.
#include "plan/words.hpp"

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace vicinal {

namespace {

template <class Value>
concept Number = std::is_integral_v<Value> || std::is_enum_v<Value>;

class Writer {
 public:
  explicit Writer(Words& words) : words_(words) {}
  template <Number Value>
  void visit(const Value& value) {
    words_.push_back(static_cast<std::int64_t>(value));
  }
  /// The number of entries of a list.
  template <class List>
  void size(const List& list) {
    words_.push_back(static_cast<std::int64_t>(list.size()));
  }

 private:
  Words& words_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::int64_t>& words) : words_(words) {}
  template <Number Value>
  void visit(Value& value) {
    value = static_cast<Value>(next());
  }
  template <class List>
  void size(List& list) {
    const std::int64_t size = next();
    // Each entry is a word or more.
    require(size >= 0 && static_cast<std::size_t>(size) <= words_.size(), Fault::internal,
            "a plan in a letter announces ", size, " entries, but ", words_.size(),
            " words are left");
    list.resize(static_cast<std::size_t>(size));
  }

 private:
  std::int64_t next() {
    require(!words_.empty(), Fault::internal, "a plan in a letter ends too early");
    const std::int64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }

  std::span<const std::int64_t>& words_;
};

// The lists of fields. `Archive` is one of the two above; records are constant for the writer.

template <class Archive, Number Value>
void visit(Archive& archive, Value& value) {
  archive.visit(value);
}

template <class Archive, class List>
  requires requires(List& list) { list.begin(); }
void visit(Archive& archive, List& list);

/// A record that is written (constant) or read.
template <class Given, class Record>
concept Is = std::is_same_v<std::remove_const_t<Given>, Record>;

void fields(auto&& take, Is<CopyRun> auto& it) { take(it.source, it.target, it.count); }
void fields(auto&& take, Is<ItemRun> auto& it) { take(it.identity, it.position, it.count); }
void fields(auto&& take, Is<OutEdge> auto& it) { take(it.rank, it.items); }
void fields(auto&& take, Is<InEdge> auto& it) { take(it.rank, it.count, it.slots); }
void fields(auto&& take, Is<Pattern> auto& it) { take(it.out, it.in, it.identity); }
void fields(auto&& take, Is<Buffer> auto& it) {
  take(it.space, it.extent, it.slot, it.owner, it.peer_index, it.peers);
}
void fields(auto&& take, Is<Operation> auto& it) {
  take(it.kind, it.phase, it.local, it.from, it.to, it.runs, it.offset, it.count, it.peer, it.tag,
       it.flag, it.lag, it.after);
}
void fields(auto&& take, Is<Plan> auto& it) {
  take(it.rank, it.size, it.planner, it.reverse, it.buffers, it.operations);
}

template <class Archive, class Record>
  requires(!Number<std::remove_const_t<Record>> && !requires(Record& list) { list.begin(); })
void visit(Archive& archive, Record& record) {
  fields([&](auto&... field) { (visit(archive, field), ...); }, record);
}

template <class Archive, class List>
  requires requires(List& list) { list.begin(); }
void visit(Archive& archive, List& list) {
  archive.size(list);
  for (auto& entry : list) visit(archive, entry);
}

template <class Record>
void write(Words& words, const Record& record) {
  Writer writer(words);
  visit(writer, record);
}

template <class Record>
Record read(std::span<const std::int64_t>& words) {
  Reader reader(words);
  Record record;
  visit(reader, record);
  return record;
}

}  // namespace

void write_words(Words& words, const Plan& plan) { write(words, plan); }
void write_words(Words& words, const Pattern& pattern) { write(words, pattern); }
Plan read_plan(std::span<const std::int64_t>& words) { return read<Plan>(words); }
Pattern read_pattern(std::span<const std::int64_t>& words) { return read<Pattern>(words); }

}  // namespace vicinal
