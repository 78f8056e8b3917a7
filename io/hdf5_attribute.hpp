// Attributes of HDF5 objects. The caller holds an Hdf5Session. Failures throw kernels::Error(rank).
#pragma once

#include <cstdint>
#include <string>

#include "io/hdf5_handle.hpp"

namespace tenax::io {

void write_attribute(hid_t object, const char* name, std::int64_t value);
void write_attribute(hid_t object, const char* name, std::uint64_t value);
void write_attribute(hid_t object, const char* name, const std::string& utf8);

std::int64_t read_integer_attribute(hid_t object, const char* name);
std::uint64_t read_unsigned_attribute(hid_t object, const char* name);
std::string read_text_attribute(hid_t object, const char* name);

}  // namespace tenax::io
