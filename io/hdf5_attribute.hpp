// Attributes of HDF5 objects. The caller holds an Hdf5Session. Failures throw kernels::Error(rank).
#pragma once

#include <cstdint>
#include <string>

#include "io/hdf5_handle.hpp"

namespace tenax::io {

void write_attribute(hid_t object, const char* name, std::int64_t value);
void write_attribute(hid_t object, const char* name, std::uint64_t value);
void write_attribute(hid_t object, const char* name, const std::string& utf8);  ///< of fixed length

bool has_attribute(hid_t object, const char* name);
std::int64_t read_integer_attribute(hid_t object, const char* name);
std::uint64_t read_unsigned_attribute(hid_t object, const char* name);
/// TextLength::any only where a seal or has_sound_heaps() vouches for the file: text of variable length is read from a
/// global heap, in which HDF5 1.10 loops for ever where it is damaged.
enum class TextLength { fixed, any };
std::string read_text_attribute(hid_t object, const char* name, TextLength allowed = TextLength::fixed);

}  // namespace tenax::io
