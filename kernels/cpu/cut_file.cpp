#include "kernels/cpu/cut_file.hpp"

#include <unistd.h>
#include <iterator>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>

namespace tenax::kernels {
namespace {

namespace fs = std::filesystem;

const std::string kHeader = "tenax: how processors cut matrix products (3)";
// Packed operands were not tried; bits were compared on a part alone.
const std::string kOlderHeaders[] = {"tenax: how processors cut matrix products (1)",
                                     "tenax: how processors cut matrix products (2)"};
const std::string kBetween = " | ", kTimes = " x ", kUsual = "usual", kUsualPacked = "usual packed";
constexpr std::uintmax_t kMostFileBytes = 1 << 20;

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

/// Nothing where it is none of those that are tried.
std::optional<ProductCut> cut_of(const std::string& text) {
  if (text == kUsual) return kUsualCut;
  if (text == kUsualPacked) return kUsualCutPacked;
  const std::size_t between = text.find(kTimes);
  if (between == std::string::npos) return {};
  const auto rows = number_of(std::string_view(text).substr(0, between)),
             columns = number_of(std::string_view(text).substr(between + kTimes.size()));
  if (!rows || !columns) return {};
  const ProductCut cut{*rows, *columns};
  if (std::find(kTriedCuts.begin(), kTriedCuts.end(), cut) == kTriedCuts.end()) return {};
  return cut;
}

std::string text_of(const ProductCut& cut) {
  if (cut == kUsualCut) return kUsual;
  return cut == kUsualCutPacked ? kUsualPacked
                                : std::to_string(cut.rows) + kTimes + std::to_string(cut.columns);
}

/// Of no other process, on whatever host.
fs::path temporary_of(const fs::path& file) {
  std::random_device random;
  std::ostringstream name;
  name << "." << file.filename().string() << ".tmp-" << std::hex << random() << random() << "-" << getpid();
  return file.parent_path() / name.str();
}

}  // namespace

CutFile::CutFile(fs::path file, std::string machine) : file_(std::move(file)), machine_(std::move(machine)) {}

std::map<std::string, ProductCut> CutFile::read() {
  const std::string begin = machine_ + kBetween;
  std::map<std::string, ProductCut> cut_of_product;
  for (const auto& [line, cut] : read_lines())
    if (line.starts_with(begin)) cut_of_product.emplace(line.substr(begin.size()), cut);
  return cut_of_product;
}

void CutFile::add(const std::string& product, const ProductCut& cut) {
  auto lines = read_lines();
  if (file_.empty() || !lines.emplace(machine_ + kBetween + product, cut).second) return;
  write(lines);
}

// By "machine | product".
std::map<std::string, ProductCut> CutFile::read_lines() {
  std::map<std::string, ProductCut> lines;
  std::error_code error;
  const auto kind = fs::status(file_, error).type();
  if (file_.empty() || kind == fs::file_type::not_found) return lines;
  const bool is_plain = kind == fs::file_type::regular && fs::file_size(file_, error) <= kMostFileBytes;
  std::ifstream in;
  if (is_plain) in.open(file_);
  std::string line;
  if (in.is_open()) std::getline(in, line);
  if (std::ranges::find(kOlderHeaders, line) != std::end(kOlderHeaders)) return lines;
  if (line != kHeader) {
    give_up("is not such a file, or cannot be read");
    return lines;
  }
  while (std::getline(in, line)) {
    const std::size_t last = line.rfind(kBetween);
    const auto cut = last == std::string::npos ? std::nullopt : cut_of(line.substr(last + kBetween.size()));
    if (!cut) {
      give_up("is damaged");
      return {};
    }
    lines.emplace(line.substr(0, last), *cut);
  }
  return lines;
}

void CutFile::write(const std::map<std::string, ProductCut>& lines) {
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  const fs::path temporary = temporary_of(file_);
  std::ofstream out(temporary);
  out << kHeader << "\n";
  for (const auto& [line, cut] : lines) out << line << kBetween << text_of(cut) << "\n";
  out.close();
  if (!out.fail()) fs::rename(temporary, file_, error);
  if (!out.fail() && !error) return;
  fs::remove(temporary, error);
  give_up("cannot be written");
}

void CutFile::give_up(const std::string& reason) {
  note_ = file_.string() + " " + reason +
          ": how matrix products run fastest here is found out anew at every start (0.1 to some 5 s)";
  file_.clear();
}

}  // namespace tenax::kernels
