#include "tests/style/layers.hpp"

#include <algorithm>
#include <fstream>
#include <regex>

namespace tenax::style {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct Layer {
  std::string folder;
  Names may_include;  // besides itself
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> table = {
      {"kernels", {}},
      {"comm", {"kernels"}},
      {"io", {"kernels"}},
      {"model", {"kernels", "comm"}},
      {"parallel", {"kernels", "comm", "model"}},
      {"resilience", {"kernels", "comm", "io", "model", "parallel"}},
      {"app", {"kernels", "comm", "io", "model", "parallel", "resilience"}},
  };
  return table;
}

struct Home {
  std::regex header;
  std::string folder;
};

const std::vector<Home>& third_party_homes() {
  static const std::vector<Home> table = {
      {std::regex("Kokkos_.*|(oneapi/)?dnnl.*|mkl.*|cblas.*|cuda.*|cublas.*|cudnn.*|nvrtc.*|nvtx.*"),
       "kernels"},
      {std::regex("mpi\\.h|nccl.*|infiniband/.*|rdma/.*|openssl/.*|sys/socket\\.h|sys/un\\.h|netinet/.*|arpa/"
                  ".*|netdb\\.h|"
                  "ifaddrs\\.h|net/.*"),
       "comm"},
      {std::regex("toml\\+\\+/.*|hdf5.*|H5.*|nlohmann/.*"), "io"},
  };
  return table;
}

bool is_one_of(const std::string& name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Layer* layer_of(const std::string& folder) {
  for (const Layer& layer : layers())
    if (layer.folder == folder) return &layer;
  return nullptr;
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

// What is wrong with `#include "header"` (or <header>) in a file of `layer`; empty if nothing.
std::string include_fault(const Layer& layer, const std::string& header, bool quoted) {
  const std::string folder = first_folder(header);
  if (folder != header && layer_of(folder)) {
    if (folder == layer.folder || is_one_of(folder, layer.may_include)) return {};
    return layer.folder + " must not include " + folder + " (" + header + ")";
  }
  for (const Home& home : third_party_homes())
    if (std::regex_match(header, home.header))
      return home.folder == layer.folder ? "" : header + " may be included in " + home.folder + " only";
  if (quoted) return "name " + header + " from the root: \"" + layer.folder + "/…\"";
  return {};
}

// A back end's own folder is the only place that may ask whether it is there.
bool may_ask_for_back_ends(const std::string& path) {
  static const std::regex homes("(kernels/(cpu|cuda)|comm/(mpi|nccl|verbs))/.*");
  return std::regex_match(path, homes);
}

std::string line_fault(const Layer& layer, const std::string& path, const std::string& line) {
  static const std::regex include("\\s*#\\s*include\\s*([\"<])([^\">]+)[\">].*");
  static const std::regex condition(
      "\\s*#\\s*(el)?if.*(CUDA|NCCL|VERBS|MPI|KOKKOS_ENABLE|DNNL|__has_include).*");
  std::smatch match;
  if (std::regex_match(line, match, include)) return include_fault(layer, match[2], match[1] == "\"");
  if (std::regex_match(line, condition) && !may_ask_for_back_ends(path))
    return "#if for a back end outside its own folder; compile its absent.cpp instead";
  return {};
}

void check_file(const Layer& layer, const fs::path& root, const std::string& path, Names& violations) {
  std::ifstream file(root / path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find('#') == std::string::npos) continue;
    const std::string fault = line_fault(layer, path, line);
    if (!fault.empty()) violations.push_back(path + ":" + std::to_string(number) + ": " + fault);
  }
}

Names source_files(const fs::path& root, const std::string& folder) {
  static const Names extensions = {".cpp", ".hpp", ".h", ".cu", ".cuh"};
  Names files;
  if (!fs::is_directory(root / folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder))
    if (is_one_of(entry.path().extension().string(), extensions))
      files.push_back(entry.path().lexically_relative(root).generic_string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> layer_violations(const fs::path& root) {
  Names violations;
  for (const Layer& layer : layers())
    for (const std::string& path : source_files(root, layer.folder))
      check_file(layer, root, path, violations);
  return violations;
}

}  // namespace tenax::style
