#include "io/hdf5_attribute.hpp"

namespace tenax::io {
namespace {

void write_scalar(hid_t object, const char* name, hid_t stored_type, hid_t memory_type, const void* value) {
  const Hdf5Id space(TENAX_HDF5(H5Screate(H5S_SCALAR)), H5Sclose);
  const Hdf5Id attribute(TENAX_HDF5(H5Acreate2(object, name, stored_type, space, H5P_DEFAULT, H5P_DEFAULT)),
                         H5Aclose);
  TENAX_HDF5(H5Awrite(attribute, memory_type, value));
}

void read_scalar(hid_t object, const char* name, hid_t memory_type, void* value) {
  const Hdf5Id attribute(TENAX_HDF5(H5Aopen(object, name, H5P_DEFAULT)), H5Aclose);
  TENAX_HDF5(H5Aread(attribute, memory_type, value));
}

/// Of variable length: no limit of 64 KiB, and h5py reads it as str.
Hdf5Id text_type() {
  Hdf5Id type(TENAX_HDF5(H5Tcopy(H5T_C_S1)), H5Tclose);
  TENAX_HDF5(H5Tset_size(type, H5T_VARIABLE));
  TENAX_HDF5(H5Tset_cset(type, H5T_CSET_UTF8));
  return type;
}

}  // namespace

void write_attribute(hid_t object, const char* name, std::int64_t value) {
  write_scalar(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}
void write_attribute(hid_t object, const char* name, std::uint64_t value) {
  write_scalar(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}
void write_attribute(hid_t object, const char* name, const std::string& utf8) {
  const Hdf5Id type = text_type();
  const char* const text = utf8.c_str();
  write_scalar(object, name, type, type, &text);
}

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
std::string read_text_attribute(hid_t object, const char* name) {
  char* text = nullptr;
  read_scalar(object, name, text_type(), &text);
  const std::string copy = text == nullptr ? "" : text;
  H5free_memory(text);
  return copy;
}

}  // namespace tenax::io
