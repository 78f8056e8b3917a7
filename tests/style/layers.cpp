#include "tests/style/layers.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace tenax::style {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// A folder, and what its files may include besides each other. Within a layer only folders that stand above it in the
/// table, which therefore holds no circle.
struct Room {
  std::string folder;
  Names may_include;
};

/// The seven layers.
const std::vector<Room>& layers() {
  static const std::vector<Room> table = {
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

/// The folders within them. A layer's own files are below its sub-folders, but app/main.cpp, which is above all.
const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"kernels", {}},
      {"kernels/cpu", {"kernels"}},
      {"kernels/emulated", {"kernels", "kernels/cpu"}},
      {"kernels/cuda", {"kernels", "kernels/cpu"}},
      {"comm", {}},
      {"comm/transport", {"comm"}},
      {"comm/messages", {"comm", "comm/transport"}},
      {"comm/verbs", {"comm", "comm/transport"}},
      {"comm/http", {"comm"}},
      {"comm/collectives", {"comm"}},
      {"comm/staged", {"comm"}},
      {"comm/threads", {"comm", "comm/staged"}},
      {"comm/shared_memory", {"comm", "comm/collectives"}},
      {"comm/mpi", {"comm", "comm/staged", "comm/shared_memory"}},
      {"comm/nccl", {"comm", "comm/collectives"}},
      {"comm/monitor", {}},
      {"comm/buffers", {"comm", "comm/transport"}},
      {"comm/inbox", {"comm", "comm/buffers"}},
      {"comm/ftar", {"comm", "comm/transport"}},
      {"comm/emulated", {"comm", "comm/transport", "comm/inbox"}},
      {"comm/delegates", {"comm", "comm/transport", "comm/buffers", "comm/inbox"}},
      {"comm/failover", {"comm", "comm/delegates"}},
      {"io", {}},
      {"io/deck", {"io"}},
      {"io/tokenizer", {"io"}},
      {"io/tokens", {"io", "io/tokenizer"}},
      {"io/hugging_face", {"io", "io/deck", "io/tokenizer"}},
      {"io/run", {"io", "io/deck"}},
      {"io/checkpoint", {"io", "io/deck", "io/tokenizer", "io/tokens", "io/hugging_face", "io/run"}},
      {"model", {}},
      {"parallel/schedule", {}},
      {"parallel/layout", {"parallel/schedule"}},
      {"parallel/planner", {"parallel/schedule"}},
      {"parallel/policies", {"parallel/schedule", "parallel/planner"}},
      {"parallel/execution", {"parallel/schedule", "parallel/layout"}},
      {"parallel/state", {"parallel/layout"}},
      {"parallel/replica",
       {"parallel/schedule", "parallel/layout", "parallel/planner", "parallel/policies", "parallel/execution",
        "parallel/state"}},
      {"resilience/adaptation", {}},
      {"resilience/blame", {}},
      {"resilience/checkpoint", {}},
      {"resilience/detection", {}},
      {"resilience/diagnosis", {"resilience/detection"}},
      {"resilience/mitigation", {"resilience/adaptation", "resilience/detection", "resilience/diagnosis"}},
      {"resilience/membership", {}},
      {"resilience/replicas", {"resilience/membership"}},
      {"resilience/effective_time", {"resilience/detection", "resilience/membership", "resilience/replicas"}},
      {"resilience/recorder", {"resilience/blame", "resilience/replicas"}},
      {"resilience/etcd", {"resilience/membership", "resilience/replicas"}},
      {"resilience/replay", {"resilience/replicas"}},
      {"resilience/swap", {}},
      {"resilience/faults", {"resilience/replicas"}},
      {"app", {}},
      {"app/machine", {"app"}},
      {"app/launch", {"app"}},
      {"app/inference", {"app", "app/machine"}},
      {"app/training", {"app", "app/machine", "app/inference", "app/launch"}},
      {"app/supervisor", {"app", "app/launch", "app/training"}},
      {"app/replay", {"app", "app/launch"}},
      {"app/report", {"app", "app/machine"}},
      {"app/simulation", {"app", "app/launch"}},
      {"app/commands",
       {"app", "app/machine", "app/inference", "app/training", "app/report", "app/launch", "app/supervisor",
        "app/replay", "app/simulation"}},
  };
  return table;
}

constexpr const char* kProgram = "app/main.cpp";

struct Home {
  std::regex header;
  std::string folder;
};

const std::vector<Home>& third_party_homes() {
  static const std::vector<Home> table = {
      {std::regex("Kokkos_.*|(oneapi/)?dnnl.*|mkl.*|cblas.*|cuda.*|cublas.*|cudnn.*|nvrtc.*|nvtx.*"),
       "kernels"},
      {std::regex("mpi\\.h|curl/.*|nccl.*|infiniband/.*|rdma/.*|openssl/.*|sys/socket\\.h|sys/un\\.h|netinet/"
                  ".*|arpa/"
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

const Room* find(const std::vector<Room>& table, const std::string& folder) {
  for (const Room& room : table)
    if (room.folder == folder) return &room;
  return nullptr;
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// The room of a file: its folder's, or the nearest above.
const Room* room_of(const std::string& path) {
  for (std::string folder = folder_of(path);; folder = folder_of(folder)) {
    if (const Room* room = find(rooms(), folder)) return room;
    if (folder.find('/') == std::string::npos) return nullptr;
  }
}

/// What is wrong with `header` in the file `path` of the same layer; empty if nothing.
std::string room_fault(const std::string& path, const std::string& header) {
  const Room *mine = room_of(path), *other = room_of(header);
  if (!mine) return folder_of(path) + " is not in the table of tests/style/layers.cpp";
  if (!other || mine == other || path == kProgram || is_one_of(other->folder, mine->may_include)) return {};
  return mine->folder + " must not include " + other->folder + " (" + header + ")";
}

// What is wrong with `#include "header"` (or <header>) in the file `path` of `layer`; empty if nothing.
std::string include_fault(const Room& layer, const std::string& path, const std::string& header,
                          bool quoted) {
  const std::string folder = first_folder(header);
  if (folder != header && find(layers(), folder)) {
    if (folder == layer.folder) return room_fault(path, header);
    if (is_one_of(folder, layer.may_include)) return {};
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
  static const std::regex homes("(kernels/(cpu|cuda)|comm/(http|mpi|nccl|verbs))/.*");
  return std::regex_match(path, homes);
}

/// Decks end in app/: what lies below takes options of its own.
std::string deck_fault(const Room& layer, const std::string& line) {
  if (layer.folder == "io" || layer.folder == "app") return {};
  const bool names_deck =
      line.find("io::Deck") != std::string::npos || line.find("io/deck/deck.hpp") != std::string::npos;
  return names_deck ? layer.folder + " must not know decks: let app/options turn the keys into options" : "";
}

std::string line_fault(const Room& layer, const std::string& path, const std::string& line) {
  static const std::regex include("\\s*#\\s*include\\s*([\"<])([^\">]+)[\">].*");
  static const std::regex condition(
      "\\s*#\\s*(el)?if.*(CUDA|NCCL|VERBS|CURL|MPI|KOKKOS_ENABLE|DNNL|__has_include).*");
  std::smatch match;
  if (std::regex_match(line, match, include)) return include_fault(layer, path, match[2], match[1] == "\"");
  if (std::regex_match(line, condition) && !may_ask_for_back_ends(path))
    return "#if for a back end outside its own folder; compile its absent.cpp instead";
  return {};
}

/// The headers that each file names, by its path.
using Includes = std::map<std::string, std::set<std::string>>;

void check_file(const Room& layer, const fs::path& root, const std::string& path, Names& violations,
                Includes& includes) {
  static const std::regex quoted("\\s*#\\s*include\\s*\"([^\"]+)\".*");
  std::ifstream file(root / path);
  std::string line;
  std::smatch match;
  for (int number = 1; std::getline(file, line); ++number) {
    std::string fault = deck_fault(layer, line);
    if (fault.empty() && line.find('#') != std::string::npos) fault = line_fault(layer, path, line);
    if (!fault.empty()) violations.push_back(path + ":" + std::to_string(number) + ": " + fault);
    if (std::regex_match(line, match, quoted)) includes[path].insert(match[1]);
  }
}

std::string header_of(const std::string& source) {
  return fs::path(source).replace_extension(".hpp").generic_string();
}

/// Two sources that include each other's header are one thing in two files.
void check_circles(const Includes& includes, Names& violations) {
  for (const auto& [path, headers] : includes)
    for (const std::string& header : headers) {
      const std::string source = fs::path(header).replace_extension(".cpp").generic_string();
      const auto other = includes.find(source);
      if (!path.ends_with(".cpp") || !(path < source) || other == includes.end()) continue;
      if (other->second.count(header_of(path)))
        violations.push_back(path + ": it and " + source + " include each other's header");
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
  Includes includes;
  for (const Room& layer : layers())
    for (const std::string& path : source_files(root, layer.folder))
      check_file(layer, root, path, violations, includes);
  check_circles(includes, violations);
  return violations;
}

std::string layer_table() {
  std::string text;
  for (const Room& room : rooms()) {
    const Room* layer = find(layers(), first_folder(room.folder));
    Names below = room.may_include;
    below.insert(below.end(), layer->may_include.begin(), layer->may_include.end());
    text += room.folder + std::string(22 - std::min<std::size_t>(21, room.folder.size()), ' ') + "->";
    for (const std::string& folder : below) text += " " + folder;
    text += '\n';
  }
  return text;
}

std::vector<std::string> table_faults() {
  Names faults, above;
  for (const Room& room : rooms()) {
    for (const std::string& folder : room.may_include)
      if (!is_one_of(folder, above) || first_folder(folder) != first_folder(room.folder))
        faults.push_back(room.folder + " may include " + folder + ", which does not stand above it");
    above.push_back(room.folder);
  }
  return faults;
}

}  // namespace tenax::style
