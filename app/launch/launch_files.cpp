#include "app/launch/launch_files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>

#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using io::JsonObject;
using nlohmann::json;

namespace {

constexpr std::int64_t kMostBytes = 4 << 20;
const std::filesystem::path kScratch = "/dev/shm";
constexpr const char* kScratchPrefix = "tenax-";

/// What the names of the scratch directories of a seat begin with, whatever its incarnation; of all where none is named.
std::string scratch_prefix(const std::string& run_id, const std::string& seat) {
  return kScratchPrefix + run_id + "-" + (seat.empty() ? "" : seat + "-");
}

// An object, or null.
json parse_object(const std::string& text) {
  io::ParsedJson parsed = io::parse_json(text);
  return parsed.fault.empty() && parsed.value.is_object() ? std::move(parsed.value) : json(nullptr);
}

json read_object(const std::filesystem::path& file) {
  std::string text;
  return io::read_text_file(file, text, kMostBytes) ? json(nullptr) : parse_object(text);
}

JsonObject to_json(const LaunchFile::Process& process) {
  return JsonObject{}
      .add("host", process.host)
      .add("pid", static_cast<std::int64_t>(process.id.pid))
      .add("start_time", static_cast<std::int64_t>(process.id.start_time));
}

JsonObject to_json(const LaunchFile::Replica& replica) {
  JsonObject object = JsonObject{}
                          .add("replica", replica.replica)
                          .add("incarnation", replica.incarnation)
                          .append(to_json(replica.mpirun.value_or(replica.process)))
                          .add("scratch", replica.scratch)
                          .add("hosts", replica.hosts);
  if (replica.mpirun) object.add("shell", to_json(replica.process));
  return object;
}

LaunchFile::Process process_of(const json& object) {
  return {object.at("host").get<std::string>(),
          {object.at("pid").get<pid_t>(), object.at("start_time").get<std::uint64_t>()}};
}

}  // namespace

std::filesystem::path replica_directory(const std::filesystem::path& run_directory, int replica) {
  return run_directory / ("replica-" + std::to_string(replica));
}

std::vector<std::filesystem::path> replica_directories(const std::filesystem::path& run_directory) {
  std::vector<std::filesystem::path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(run_directory, none))
    if (entry.path().filename().string().starts_with("replica-")) found.push_back(entry.path());
  return found;
}

std::vector<std::filesystem::path> ended_replica_directories(const std::filesystem::path& run_directory) {
  auto found = replica_directories(run_directory);
  std::erase_if(found,
                [](const std::filesystem::path& directory) { return !Outcome::read(directory / "outcome"); });
  return found;
}

std::filesystem::path spare_directory(const std::filesystem::path& run_directory, int spare) {
  return run_directory / ("spare-" + std::to_string(spare));
}

std::filesystem::path scratch_directory(const std::string& run_id, const std::string& seat,
                                        std::int64_t incarnation) {
  return kScratch / (scratch_prefix(run_id, seat) + std::to_string(incarnation));
}

void remove_scratch_directories(const std::string& run_id, const std::string& seat,
                                const std::filesystem::path& kept) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kScratch, ignored))
    if (entry.path() != kept && entry.path().filename().string().starts_with(scratch_prefix(run_id, seat)))
      std::filesystem::remove_all(entry.path(), ignored);
}

void remove_join_files(const std::filesystem::path& run_directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(run_directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("replica-") || name.starts_with("spare-"))
      std::filesystem::remove(entry.path() / "join", ignored);
  }
}

bool is_scratch(const std::filesystem::path& folder) {
  return folder.parent_path() == kScratch && folder.filename().string().starts_with(kScratchPrefix);
}

std::string checkpoint_writer(int replica, std::int64_t incarnation) {
  return "replica-" + std::to_string(replica) + "." + std::to_string(incarnation);
}

std::string JoinFile::text() const {
  return JsonObject{}
      .add("run_id", run_id)
      .add("secret", secret)
      .add("deck", deck)
      .add("build", build)
      .add("resume", resume)
      .add("replica", replica)
      .add("incarnation", incarnation)
      .add("spare", spare)
      .add("slots", std::vector<std::int64_t>(slots.begin(), slots.end()))
      .add("replicas_on_host", replicas_on_host)
      .add("service", service)
      .text();
}

// Nobody else may ever read it: it is made anew, and gets its name when it is whole.
void JoinFile::write(const std::filesystem::path& file) const {
  const std::string line = text() + "\n";
  io::AtomicFile atomic(file);
  if (fchmod(atomic.file().descriptor(), 0600) != 0)
    io::throw_file_error("write", file, {errno, std::generic_category()});
  atomic.file().write(std::as_bytes(std::span(line)), 0);
  atomic.publish();
}

JoinFile JoinFile::parse(const std::string& text, const std::filesystem::path& file) try {
  const json object = parse_object(text);
  return {.run_id = object.at("run_id").get<std::string>(),
          .secret = object.at("secret").get<std::string>(),
          .deck = object.at("deck").get<std::string>(),
          .build = object.at("build").get<std::string>(),
          .resume = object.at("resume").get<std::string>(),
          .replica = object.at("replica").get<int>(),
          .incarnation = object.at("incarnation").get<std::int64_t>(),
          .spare = object.value("spare", -1),
          .slots = object.value("slots", std::vector<int>{}),
          .replicas_on_host = object.value("replicas_on_host", 1),
          .service = object.at("service").get<std::vector<std::string>>()};
} catch (const json::exception&) {
  throw kernels::Error(kernels::Scope::rank,
                       file.string() +
                           " is not what a supervisor writes for its replicas: tenax launch starts "
                           "the ranks of a replica");
}

JoinFile JoinFile::read(const std::filesystem::path& file) {
  std::string text;
  if (const auto failure = io::read_text_file(file, text, kMostBytes))
    io::throw_file_error("read", file, failure);
  return parse(text, file);
}

void Outcome::write(const std::filesystem::path& file) const {
  io::write_file_atomically(file, JsonObject{}
                                          .add("incarnation", incarnation)
                                          .add("status", status)
                                          .add("reason", reason)
                                          .add("own", is_own)
                                          .text() +
                                      "\n");
}

std::optional<Outcome> Outcome::read(const std::filesystem::path& file) {
  const json object = read_object(file);
  try {
    return Outcome{.incarnation = object.at("incarnation").get<std::int64_t>(),
                   .status = object.at("status").get<int>(),
                   .reason = object.at("reason").get<std::string>(),
                   .is_own = object.value("own", false)};
  } catch (const json::exception&) {
    return {};
  }
}

std::optional<ProcessId> read_remote_process(const std::filesystem::path& file) {
  std::ifstream text(file);
  ProcessId id;
  if (!(text >> id.pid >> id.start_time)) return {};
  return id;
}

void LaunchFile::write(const std::filesystem::path& file) const {
  std::vector<JsonObject> list;
  for (const Replica& replica : replicas) list.push_back(to_json(replica));
  io::write_file_atomically(file, JsonObject{}
                                          .add("supervisor", to_json(supervisor))
                                          .add("replicas", list)
                                          .add("service", service)
                                          .text() +
                                      "\n");
}

std::optional<LaunchFile> LaunchFile::read(const std::filesystem::path& file) {
  const json object = read_object(file);
  try {
    LaunchFile launch{.supervisor = process_of(object.at("supervisor")),
                      .replicas = {},
                      .service = object.at("service").get<std::string>()};
    for (const json& entry : object.at("replicas"))
      launch.replicas.push_back({entry.at("replica").get<int>(), entry.at("incarnation").get<std::int64_t>(),
                                 process_of(entry.contains("shell") ? entry.at("shell") : entry),
                                 entry.value("scratch", std::string()),
                                 entry.value("hosts", std::vector<std::string>())});
    return launch;
  } catch (const json::exception&) {
    return {};
  }
}

}  // namespace tenax::app
