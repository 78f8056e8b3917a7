#include "io/checkpoint/checkpoint_check.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/hdf5_attribute.hpp"
#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

// The default driver says why something cannot be read, but looks for the name, which may be gone.
Hdf5Id open_hdf5(const PosixFile& file) {
  const Hdf5Id access = create_file_access();
  const bool is_named = file.has_its_name();
  if (!is_named) TENAX_HDF5(H5Pset_fapl_stdio(access));
  const fs::path name = is_named ? file.path() : file.name_while_open();
  return {TENAX_HDF5(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access)), H5Fclose};
}

void check_format(hid_t file) {
  const std::int64_t format = read_integer_attribute(file, "format_version");
  if (format >= 1 && format <= kCheckpointFormat) return;
  throw Error(Scope::rank, "its format_version is " + std::to_string(format) + ", this tenax reads 1 to " +
                               std::to_string(kCheckpointFormat));
}

kernels::Shape shape_of_dataset(hid_t dataset) {
  const Hdf5Id space(TENAX_HDF5(H5Dget_space(dataset)), H5Sclose);
  hsize_t e[H5S_MAX_RANK] = {};
  const int rank = TENAX_HDF5(H5Sget_simple_extent_dims(space, e, nullptr));
  if (rank > 2) throw Error(Scope::rank, "a dataset has more than two dimensions");
  const auto extent = [&](int axis) { return static_cast<std::int64_t>(e[axis]); };
  return rank == 0   ? kernels::Shape{}
         : rank == 1 ? kernels::Shape{extent(0)}
                     : kernels::Shape{extent(0), extent(1)};
}

void read_dataset_info(hid_t group, StoredParameter& parameter, StoredPart part) {
  const Hdf5Id dataset(TENAX_HDF5(H5Dopen2(group, parameter.name.c_str(), H5P_DEFAULT)), H5Dclose);
  const Hdf5Id type(TENAX_HDF5(H5Dget_type(dataset)), H5Tclose);
  const haddr_t offset = H5Dget_offset(dataset);
  if (H5Tequal(type, H5T_IEEE_F32LE) <= 0 || offset == HADDR_UNDEF) {
    throw Error(Scope::rank, part.group + "/" + parameter.name + " is not a contiguous float32 dataset");
  }
  const kernels::Shape shape = shape_of_dataset(dataset);
  if (!parameter.parts.empty() && shape != parameter.shape)
    throw Error(Scope::rank, parameter.name + " differs in shape from its moments");
  parameter.shape = shape;
  parameter.elements = shape.size();
  part.offset = static_cast<std::int64_t>(offset);
  part.checksum = read_unsigned_attribute(dataset, "checksum");
  parameter.parts.push_back(std::move(part));
}

std::string name_of_member(hid_t group, hsize_t index) {
  char name[1024] = "";
  TENAX_HDF5(
      H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, name, sizeof name, H5P_DEFAULT));
  return name;
}

Hdf5Id open_group(hid_t file, const std::string& name) {
  return {TENAX_HDF5(H5Gopen2(file, name.c_str(), H5P_DEFAULT)), H5Gclose};
}

std::vector<std::string> names_of_members(hid_t group) {
  H5G_info_t info;
  TENAX_HDF5(H5Gget_info(group, &info));
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) names.push_back(name_of_member(group, i));
  return names;
}

void read_parameters(hid_t file, std::vector<StoredParameter>& parameters) {
  std::vector<std::string> groups = {kWeightGroup};
  for (const std::string& moment : names_of_members(open_group(file, kOptimizerGroup)))
    groups.push_back(moment_group(moment));
  for (const std::string& name : names_of_members(open_group(file, kWeightGroup)))
    parameters.push_back({.name = name});
  for (const std::string& name : groups) {
    const Hdf5Id group = open_group(file, name);
    for (StoredParameter& parameter : parameters) read_dataset_info(group, parameter, {.group = name});
  }
}

}  // namespace

CheckpointInfo read_checkpoint_info(const fs::path& path) {
  return read_checkpoint_info(PosixFile::open_to_read(path));
}

CheckpointInfo read_checkpoint_info(const PosixFile& open) try {
  const Hdf5Session session;
  const Hdf5Id file = open_hdf5(open);
  check_format(file);
  CheckpointInfo info;
  info.step = read_integer_attribute(file, "step");
  info.deck = read_text_attribute(file, "deck", TextLength::any);
  for (const auto& [name, member] : kModelSizes) info.model.*member = read_integer_attribute(file, name);
  if (has_attribute(file, "next_sample")) info.next_sample = read_integer_attribute(file, "next_sample");
  for (const auto& [name, member] : kOriginTexts)
    if (has_attribute(file, name)) info.origin.*member = read_text_attribute(file, name);
  read_parameters(file, info.parameters);
  info.file_bytes = open.size();
  check_contents(info);
  return info;
} catch (const Error& error) {
  throw Error(error.scope(), "cannot read the checkpoint " + open.path().string() + ": " + error.what());
}

}  // namespace tenax::io
