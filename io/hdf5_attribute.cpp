// A collection: "GCOL", version 1, 3 bytes of zero, its length (8 bytes), then objects: number (2 bytes), references (2),
// zero (4), length (8), content up to a multiple of 8. Number 0 is the free rest, whose length includes its header; less
// than a header at the end is free too. (HDF5 File Format Specification, III.E.)
#include "io/hdf5_attribute.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/error.hpp"

namespace tenax::io {
namespace {

void write_scalar(hid_t object, const char* name, hid_t stored_type, hid_t memory_type, const void* value) {
  const Hdf5Id space(TENAX_HDF5(H5Screate(H5S_SCALAR)), H5Sclose);
  const Hdf5Id attribute(TENAX_HDF5(H5Acreate2(object, name, stored_type, space, H5P_DEFAULT, H5P_DEFAULT)),
                         H5Aclose);
  TENAX_HDF5(H5Awrite(attribute, memory_type, value));
}

[[noreturn]] void fail(const char* name, const char* what) {
  throw kernels::Error(kernels::Scope::rank, std::string("its attribute ") + name + " is not " + what);
}

Hdf5Id open_scalar(hid_t object, const char* name) {
  Hdf5Id attribute(TENAX_HDF5(H5Aopen(object, name, H5P_DEFAULT)), H5Aclose);
  const Hdf5Id space(TENAX_HDF5(H5Aget_space(attribute)), H5Sclose);
  if (H5Sget_simple_extent_npoints(space) != 1) fail(name, "a single value");
  return attribute;
}

void read_scalar(hid_t object, const char* name, hid_t memory_type, void* value) {
  TENAX_HDF5(H5Aread(open_scalar(object, name), memory_type, value));
}

Hdf5Id text_type(std::size_t bytes) {
  Hdf5Id type(TENAX_HDF5(H5Tcopy(H5T_C_S1)), H5Tclose);
  TENAX_HDF5(H5Tset_size(type, bytes));
  TENAX_HDF5(H5Tset_cset(type, H5T_CSET_UTF8));
  return type;
}

/// Of the files that tenax wrote before format 2.
std::string read_variable_text(hid_t attribute, hid_t type) {
  char* text = nullptr;
  TENAX_HDF5(H5Aread(attribute, type, &text));
  const std::string copy = text == nullptr ? "" : text;
  H5free_memory(text);
  return copy;
}

constexpr std::size_t kHeader = 16;  // of a collection, and of an object

template <class Value>
Value value_at(std::string_view bytes, std::size_t at) {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The bytes of the object that `rest` begins with; 0 where it has none that HDF5 could go on from.
std::size_t object_bytes(std::string_view rest) {
  const auto number = value_at<std::uint16_t>(rest, 0);
  const auto length = value_at<std::uint64_t>(rest, 8);
  if (length > rest.size()) return 0;
  return number == 0 ? length : kHeader + (length + 7) / 8 * 8;
}

bool is_sound(std::string_view rest) {
  if (rest.size() < kHeader) return false;
  const auto length = value_at<std::uint64_t>(rest, 8);
  if (length < kHeader || length > rest.size()) return false;
  rest = rest.substr(kHeader, length - kHeader);
  while (rest.size() >= kHeader) {
    const std::size_t bytes = object_bytes(rest);
    if (bytes == 0 || bytes > rest.size()) return false;
    rest.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

void write_attribute(hid_t object, const char* name, std::int64_t value) {
  write_scalar(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}
void write_attribute(hid_t object, const char* name, std::uint64_t value) {
  write_scalar(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}
// In files of create_file_access() an attribute may exceed 64 KiB.
void write_attribute(hid_t object, const char* name, const std::string& utf8) {
  const Hdf5Id type = text_type(std::max<std::size_t>(utf8.size(), 1));
  TENAX_HDF5(H5Tset_strpad(type, H5T_STR_NULLPAD));
  write_scalar(object, name, type, type, utf8.c_str());
}

bool has_attribute(hid_t object, const char* name) { return TENAX_HDF5(H5Aexists(object, name)) > 0; }

std::int64_t read_integer_attribute(hid_t object, const char* name) {
  std::int64_t value = 0;
  read_scalar(object, name, H5T_NATIVE_INT64, &value);
  return value;
}
std::uint64_t read_unsigned_attribute(hid_t object, const char* name) {
  std::uint64_t value = 0;
  read_scalar(object, name, H5T_NATIVE_UINT64, &value);
  return value;
}
std::string read_text_attribute(hid_t object, const char* name, TextLength allowed) {
  const Hdf5Id attribute = open_scalar(object, name);
  const Hdf5Id type(TENAX_HDF5(H5Aget_type(attribute)), H5Tclose);
  if (H5Tget_class(type) != H5T_STRING) fail(name, "text");
  if (H5Tis_variable_str(type) > 0) {
    if (allowed == TextLength::fixed) fail(name, "text of fixed length");
    return read_variable_text(attribute, type);
  }
  std::string text(H5Tget_size(type), '\0');
  TENAX_HDF5(H5Aread(attribute, type, text.data()));
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

bool has_sound_heaps(std::span<const std::byte> part) {
  constexpr std::string_view kMagic = "GCOL\1";
  const std::string_view bytes(reinterpret_cast<const char*>(part.data()), part.size());
  for (std::size_t at = bytes.find(kMagic); at != std::string_view::npos; at = bytes.find(kMagic, at + 1))
    if (!is_sound(bytes.substr(at))) return false;
  return true;
}

}  // namespace tenax::io
