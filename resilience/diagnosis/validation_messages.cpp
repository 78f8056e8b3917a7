// A message is its fields as doubles, one after the other; a list begins with its length. Both ends are the same program.
#include "resilience/diagnosis/validation_messages.hpp"

#include <cassert>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace tenax::resilience {
namespace {

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/// A struct to be read, or one to be written.
template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

// The same for writing and for reading: what a struct consists of.

template <class Archive, Number T>
void fields(Archive& archive, T& number) {
  archive.value(number);
}

template <class Archive, Is<Component> S>
void fields(Archive& archive, S& component) {
  archive.value(component.kind);
  archive.value(component.rank);
  archive.value(component.other);
  archive.value(component.group);
  archive.value(component.cause);
  archive.value(component.factor);
  archive.value(component.healthy_s);
}

template <class Archive, Is<SuspectGroup> S>
void fields(Archive& archive, S& group) {
  archive.value(group.kind);
  archive.list(group.ranks);
  archive.value(group.factor);
}

template <class Archive, Is<ValidationRequest> S>
void fields(Archive& archive, S& request) {
  archive.list(request.suspects.components);
  archive.list(request.suspects.groups);
  archive.value(request.suspects.is_common);
  archive.value(request.suspect);
  archive.value(request.seconds);
  archive.list(request.probe_mb);
  archive.value(request.tensor_bytes_per_s);
  archive.value(request.data_bytes_per_s);
}

template <class Archive, Is<PairTest> S>
void fields(Archive& archive, S& test) {
  archive.value(test.group);
  archive.value(test.rank);
  archive.value(test.other);
  archive.value(test.round);
}

template <class Archive, Is<PairTestRequest> S>
void fields(Archive& archive, S& request) {
  archive.list(request.pairs);
  fields(archive, request.tests);
}

template <class Archive, Is<ProductTime> S>
void fields(Archive& archive, S& time) {
  archive.value(time.type);
  archive.value(time.seconds);
  archive.value(time.healthy_s);
  archive.value(time.preempted_s);
}

template <class Archive, Is<LinkTime> S>
void fields(Archive& archive, S& time) {
  archive.value(time.group);
  archive.value(time.from);
  archive.value(time.to);
  archive.value(time.pass);
  archive.value(time.bytes);
  archive.value(time.seconds);
  archive.value(time.preempted_s);
}

template <class Archive, Is<RankTests> S>
void fields(Archive& archive, S& tests) {
  archive.list(tests.products);
  archive.list(tests.links);
}

class Writer {
 public:
  template <Number T>
  void value(const T& number) {
    const auto as_double = static_cast<double>(number);
    text.append(reinterpret_cast<const char*>(&as_double), sizeof as_double);
  }
  template <class T>
  void list(const std::vector<T>& values) {
    value(values.size());
    for (const T& each : values) fields(*this, each);
  }

  std::string text;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  template <Number T>
  void value(T& number) {
    double as_double = 0;
    assert(rest_.size() >= sizeof as_double);
    std::memcpy(&as_double, rest_.data(), sizeof as_double);
    rest_.remove_prefix(sizeof as_double);
    number = static_cast<T>(as_double);
  }
  template <class T>
  void list(std::vector<T>& values) {
    std::size_t size = 0;
    value(size);
    values.resize(size);
    for (T& each : values) fields(*this, each);
  }

 private:
  std::string_view rest_;
};

template <class T>
std::string written(const T& whole) {
  Writer writer;
  fields(writer, whole);
  return std::move(writer.text);
}

template <class T>
T read(std::string_view text) {
  T whole;
  Reader reader(text);
  fields(reader, whole);
  return whole;
}

}  // namespace

std::string to_text(const ValidationRequest& request) { return written(request); }
std::string to_text(const PairTestRequest& request) { return written(request); }
std::string to_text(const RankTests& tests) { return written(tests); }

ValidationRequest parse_validation_request(std::string_view text) { return read<ValidationRequest>(text); }
PairTestRequest parse_pair_test_request(std::string_view text) { return read<PairTestRequest>(text); }
RankTests parse_rank_tests(std::string_view text) { return read<RankTests>(text); }

}  // namespace tenax::resilience
