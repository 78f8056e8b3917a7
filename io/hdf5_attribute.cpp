#include "io/hdf5_attribute.hpp"

#include <algorithm>

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

}  // namespace tenax::io
