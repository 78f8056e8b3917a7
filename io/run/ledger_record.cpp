#include "io/run/ledger_record.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "io/checksum.hpp"
#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = std::int64_t{1} << 53;  // numbers are added; JSON's readers know none beyond
constexpr std::array kReasons = {"start", "lost", "join", "leave"};

[[noreturn]] void refuse_record(const std::string& sentence) {
  throw kernels::Error(kernels::Scope::rank, sentence);
}

/// "[[0, 16, 8], [1, 24, 8]]": a list of what `text_of` makes of each.
template <class Item, class Text>
std::string list_of(const std::vector<Item>& items, Text text_of) {
  std::string text;
  for (const Item& item : items) text += (text.empty() ? "[" : ", [") + text_of(item) + "]";
  return "[" + text + "]";
}

std::string text_of_part(const LedgerCommit::Part& part) {
  return std::to_string(part.replica) + ", " + std::to_string(part.first) + ", " + std::to_string(part.count);
}

std::string text_of_member(const LedgerEpoch::Member& member) {
  return std::to_string(member.replica) + ", " + std::to_string(member.incarnation) + ", " +
         json_string(member.host);
}

void add(JsonObject& line, const LedgerCommit& commit) {
  line.add("step", commit.step)
      .add("epoch", commit.epoch)
      .add("first_sample", commit.first_sample)
      .add("samples", commit.samples)
      .add_json("parts", list_of(commit.parts, text_of_part))
      .add("loss", commit.loss)
      .add("grad_norm", commit.grad_norm)
      .add("lr", commit.lr)
      .add("squares", checksum_text(commit.squares));
  if (commit.digest) line.add("digest", checksum_text(*commit.digest));
}

void add(JsonObject& line, const LedgerEpoch& epoch) {
  line.add("epoch", epoch.epoch)
      .add("from_step", epoch.from_step)
      .add_json("members", list_of(epoch.members, text_of_member))
      .add("reason", epoch.reason);
}

void add(JsonObject& line, const LedgerVoid& what) {
  line.add("void_from", what.void_from).add("epoch", what.epoch);
}

/// Takes the members of a line one by one; what is left over at the end is known to nobody.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  bool has(const char* name) const { return object_.contains(name); }
  const json& take(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) refuse_record(std::string("it has no ") + name);
    taken_.insert(name);
    return *found;
  }
  std::int64_t whole(const char* name) { return whole_in(take(name), name); }
  /// Null is not-a-number.
  double number_or_null(const char* name) {
    const json& value = take(name);
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : number_in(value, name);
  }
  double number(const char* name) { return number_in(take(name), name); }
  std::string text(const char* name) { return text_in(take(name), name); }
  std::uint64_t bits(const char* name) {
    const std::string digits = text(name);
    try {
      return parse_checksum(digits);
    } catch (const kernels::Error&) {
      refuse_record(std::string(name) + " = " + json_string(digits) + " is not 16 hexadecimal digits");
    }
  }
  /// A list of lists of `length` values each.
  const json& lists(const char* name, std::size_t length) {
    const json& list = take(name);
    const bool is_right =
        list.is_array() && !list.empty() && std::all_of(list.begin(), list.end(), [&](const json& entry) {
          return entry.is_array() && entry.size() == length;
        });
    if (!is_right) wrong(list, name, "a list of lists of " + std::to_string(length));
    return list;
  }
  void expect_no_more() const {
    for (const auto& [name, value] : object_.items())
      if (!taken_.contains(name)) refuse_record("it has " + json_string(name) + ", which no such line has");
  }

  static std::int64_t whole_in(const json& value, const char* name) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > kMost)
      wrong(value, name, "a whole number of at least 0");
    return value.get<std::int64_t>();
  }
  static std::string text_in(const json& value, const char* name) {
    if (!value.is_string()) wrong(value, name, "a string");
    return value.get<std::string>();
  }

 private:
  static double number_in(const json& value, const char* name) {
    if (!value.is_number()) wrong(value, name, "a number");
    return value.get<double>();
  }
  [[noreturn]] static void wrong(const json& value, const char* name, const std::string& right) {
    refuse_record(std::string(name) + " = " + shown(value) + " is not " + right);
  }

  const json& object_;
  std::set<std::string> taken_;
};

LedgerCommit commit_in(Members& members) {
  LedgerCommit commit;
  commit.step = members.whole("step");
  commit.epoch = members.whole("epoch");
  commit.first_sample = members.whole("first_sample");
  commit.samples = members.whole("samples");
  for (const json& part : members.lists("parts", 3))
    commit.parts.push_back({Members::whole_in(part[0], "parts"), Members::whole_in(part[1], "parts"),
                            Members::whole_in(part[2], "parts")});
  commit.loss = members.number_or_null("loss");
  commit.grad_norm = members.number_or_null("grad_norm");
  commit.lr = members.number_or_null("lr");
  commit.squares = members.bits("squares");
  if (members.has("digest")) commit.digest = members.bits("digest");
  return commit;
}

LedgerEpoch epoch_in(Members& members) {
  LedgerEpoch epoch;
  epoch.epoch = members.whole("epoch");
  epoch.from_step = members.whole("from_step");
  for (const json& member : members.lists("members", 3))
    epoch.members.push_back({Members::whole_in(member[0], "members"), Members::whole_in(member[1], "members"),
                             Members::text_in(member[2], "members")});
  epoch.reason = members.text("reason");
  if (std::find(kReasons.begin(), kReasons.end(), epoch.reason) == kReasons.end())
    refuse_record("reason = " + json_string(epoch.reason) + " is none of start, lost, join, leave");
  return epoch;
}

LedgerVoid void_in(Members& members) {
  LedgerVoid what;
  what.void_from = members.whole("void_from");
  what.epoch = members.whole("epoch");
  return what;
}

}  // namespace

std::string ledger_line(const LedgerRecord& record, const std::string& previous) {
  JsonObject line;
  line.add("time", record.time_s);
  std::visit([&](const auto& what) { add(line, what); }, record.what);
  return line.add("previous", previous).text();
}

std::string chain_text(std::string_view line) {
  return checksum_text(checksum_of_bytes(std::as_bytes(std::span(line)), 0));
}

LedgerLine parse_ledger_line(std::string_view line) {
  const ParsedJson parsed = parse_json(line);
  if (!parsed.fault.empty()) refuse_record("it " + parsed.fault);
  if (!parsed.value.is_object()) refuse_record("it is no JSON object");
  Members members(parsed.value);
  LedgerLine result;
  result.record.time_s = members.number("time");
  if (members.has("void_from"))
    result.record.what = void_in(members);
  else if (members.has("members"))
    result.record.what = epoch_in(members);
  else
    result.record.what = commit_in(members);
  result.previous = checksum_text(members.bits("previous"));
  members.expect_no_more();
  return result;
}

}  // namespace tenax::io
