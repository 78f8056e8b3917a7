// Attributes of HDF5 objects, and the global heaps that hold their text of variable length. The
// caller holds an Hdf5Session. Failures throw kernels::Error(rank).
//
// HDF5 1.10 does not check the heaps that it reads: an object without length makes it loop for ever
// (H5HG__cache_heap_deserialize).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/hdf5.hpp"

namespace tenax::io {

void write_attribute(hid_t object, const char* name, std::int64_t value);
void write_attribute(hid_t object, const char* name, std::uint64_t value);
void write_attribute(hid_t object, const char* name,
                     const std::string& utf8);  ///< as a string of fixed length

bool has_attribute(hid_t object, const char* name);
std::int64_t read_integer_attribute(hid_t object, const char* name);
std::uint64_t read_unsigned_attribute(hid_t object, const char* name);
/// Ask for TextLength::any only where a seal or has_sound_heaps() vouches for the file: a damaged
/// heap makes HDF5 loop.
enum class TextLength { fixed, any };
std::string read_text_attribute(hid_t object, const char* name, TextLength allowed = TextLength::fixed);

/// Whether HDF5 can safely read the global heaps in this part of a file: the objects of each
/// collection follow one another to its end.
bool has_sound_heaps(std::span<const std::byte> part);

}  // namespace tenax::io
