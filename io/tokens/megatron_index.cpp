// Megatron's MMapIndexedDataset, little-endian: "MMIDIDX\0\0"; uint64 version, 1; uint8 type of the tokens; uint64 number of
// sequences S; uint64 length of the document table D; int32 tokens of each sequence [S]; int64 first byte of each in the
// .bin [S]; int64 first sequence of each document, and S at the end [D]; maybe a byte of each sequence [S], its mode.
#include "io/tokens/token_bin.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic{"MMIDIDX\0\0", 9};
constexpr std::int64_t kHeaderBytes = 34, kMostEntries = std::int64_t{1} << 56;

struct Type {
  std::uint8_t code;
  const char* name;
  std::size_t bytes;  ///< 0: not one that tenax reads
};
constexpr std::array<Type, 8> kTypes = {{{1, "uint8", 1},
                                         {2, "int8", 0},
                                         {3, "int16", 0},
                                         {4, "int32", 4},
                                         {5, "int64", 0},
                                         {6, "float64", 0},
                                         {7, "float32", 0},
                                         {8, "uint16", 2}}};

class IndexReader {
 public:
  IndexReader(const fs::path& path, std::int64_t bin_bytes)
      : file_(PosixFile::open_to_read(path)), bin_bytes_(bin_bytes) {
    read_header();
    check_ends();
  }

  const MegatronIndex& index() const { return index_; }

  void check_all() const {
    std::int64_t place = 0, document = 0;
    for_each_block(index_.sequences, [&](std::int64_t first, std::int64_t count) {
      const auto sizes = entries<std::int32_t>(sizes_begin(), first, count);
      const auto pointers = entries<std::int64_t>(pointers_begin(), first, count);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 0 || pointers[i] != place)
          refuse("sequence " + std::to_string(first + static_cast<std::int64_t>(i)) +
                 " does not begin where the one before it ends");
        place += sizes[i] * width();
      }
    });
    for_each_block(documents_length_, [&](std::int64_t first, std::int64_t count) {
      for (const std::int64_t next : entries<std::int64_t>(documents_begin(), first, count)) {
        if (next < document || next > index_.sequences) refuse("its documents are not in order");
        document = next;
      }
    });
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw kernels::Error(kernels::Scope::rank, "token index " + file_.path().string() + ": " + why);
  }

  template <class Value>
  Value value_at(std::int64_t offset) const {
    Value value{};
    file_.read(std::as_writable_bytes(std::span(&value, 1)), offset);
    return value;
  }

  template <class Value>
  std::vector<Value> entries(std::int64_t table, std::int64_t first, std::int64_t count) const {
    std::vector<Value> values(static_cast<std::size_t>(count));
    file_.read(std::as_writable_bytes(std::span(values)),
               table + first * static_cast<std::int64_t>(sizeof(Value)));
    return values;
  }

  template <class Visit>
  static void for_each_block(std::int64_t count, const Visit& visit) {
    constexpr std::int64_t kBlock = 1 << 16;
    for (std::int64_t first = 0; first < count; first += kBlock)
      visit(first, std::min(kBlock, count - first));
  }

  std::int64_t width() const { return static_cast<std::int64_t>(index_.bytes_per_token); }
  std::int64_t sizes_begin() const { return kHeaderBytes; }
  std::int64_t pointers_begin() const { return sizes_begin() + 4 * index_.sequences; }
  std::int64_t documents_begin() const { return pointers_begin() + 8 * index_.sequences; }

  std::int64_t count_at(std::int64_t offset, const char* what) const {
    const auto count = value_at<std::uint64_t>(offset);
    if (count < 1 || count > kMostEntries)
      refuse(std::string("it has the impossible number of ") + std::to_string(count) + " " + what);
    return static_cast<std::int64_t>(count);
  }

  void read_header() {
    std::array<char, kMagic.size()> magic{};
    if (file_.size() < kHeaderBytes) refuse("it is too short for Megatron's index; if it is none, rename it");
    file_.read(std::as_writable_bytes(std::span(magic)), 0);
    if (std::string_view(magic.data(), magic.size()) != kMagic)
      refuse(
          "it lies beside a .bin of tokens but is not Megatron's index (MMIDIDX); if it is none, rename it");
    if (const auto version = value_at<std::uint64_t>(9); version != 1)
      refuse("its version is " + std::to_string(version) + "; tenax reads version 1");
    set_type(value_at<std::uint8_t>(17));
    index_.sequences = count_at(18, "sequences");
    documents_length_ = count_at(26, "document bounds");
    index_.documents = documents_length_ - 1;
    const std::int64_t length = documents_begin() + 8 * documents_length_;
    if (file_.size() != length && file_.size() != length + index_.sequences)
      refuse("its " + std::to_string(file_.size()) + " bytes are not the " + std::to_string(length) +
             " that " + std::to_string(index_.sequences) + " sequences and " +
             std::to_string(index_.documents) + " documents take: it is damaged or cut short");
  }

  void set_type(std::uint8_t code) {
    const auto* const type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.code == code; });
    const std::string name =
        type == kTypes.end() ? "unknown (code " + std::to_string(code) + ")" : type->name;
    if (type == kTypes.end() || type->bytes == 0)
      refuse("its tokens are " + name + "; tenax reads uint8, uint16 and int32: preprocess the text again");
    index_.dtype = name;
    index_.bytes_per_token = type->bytes;
  }

  void check_ends() {
    const std::int64_t last = index_.sequences - 1;
    const auto first_byte = value_at<std::int64_t>(pointers_begin());
    const auto last_byte = value_at<std::int64_t>(pointers_begin() + 8 * last);
    const auto last_size = value_at<std::int32_t>(sizes_begin() + 4 * last);
    const bool fits = first_byte == 0 && last_byte >= 0 && last_byte <= bin_bytes_ && last_size >= 0 &&
                      last_size * width() == bin_bytes_ - last_byte && bin_bytes_ % width() == 0;
    if (!fits)
      refuse("its sequences do not fill the " + std::to_string(bin_bytes_) +
             " bytes of the .bin beside it: one of the two is damaged or another's");
    const auto first_document = value_at<std::int64_t>(documents_begin());
    const auto end = value_at<std::int64_t>(documents_begin() + 8 * (documents_length_ - 1));
    if (first_document != 0 || end != index_.sequences) refuse("its documents do not hold all sequences");
    index_.tokens = bin_bytes_ / width();
  }

  PosixFile file_;
  std::int64_t bin_bytes_, documents_length_ = 0;
  MegatronIndex index_;
};

}  // namespace

fs::path megatron_index_of(const fs::path& bin) { return fs::path(bin).replace_extension(".idx"); }

MegatronIndex read_megatron_index(const fs::path& index, std::int64_t bin_bytes) {
  return IndexReader(index, bin_bytes).index();
}

void verify_megatron_index(const fs::path& index, std::int64_t bin_bytes) {
  IndexReader(index, bin_bytes).check_all();
}

}  // namespace tenax::io
