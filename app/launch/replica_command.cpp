#include "app/launch/replica_command.hpp"

#include <cstdlib>

namespace tenax::app {
namespace {

/// With which processors of several kinds compute alike (kernels/cpu/cpu_loops.hpp).
constexpr const char* kLoops = "TENAX_CPU_LOOPS";

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

LaunchMethod launch_method(const io::Deck& deck) {
  const io::Launcher launcher = deck.replicas.launcher;
  const bool is_srun = launcher == io::Launcher::srun ||
                       (launcher == io::Launcher::automatic && std::getenv("SLURM_JOB_ID") != nullptr);
  return is_srun ? LaunchMethod::srun : LaunchMethod::mpirun;
}

bool spans_hosts(const io::Deck& deck) {
  if (!deck.replicas.hosts.empty()) return true;
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  return launch_method(deck) == LaunchMethod::srun && nodes && std::string(nodes) != "1";
}

std::vector<std::string> ReplicaCommand::words() const {
  if (method == LaunchMethod::srun) return srun_words();
  return is_remote() ? remote_words() : mpirun_words();
}

std::vector<int> ReplicaCommand::slots(int replica) const {
  std::vector<HostSlots> places = hosts;
  if (places.empty()) places.push_back({{}, ranks, {}, replica * ranks});
  std::vector<int> slots;
  for (const HostSlots& place : places)
    for (int i = 0; i < place.slots; ++i) slots.push_back(place.first + i);
  return slots;
}

// Each host of the step makes the directory: the supervisor's may be none of them. Where the deck names no hosts, Slurm chooses.
std::vector<std::string> ReplicaCommand::srun_words() const {
  std::vector<std::string> words = {"srun",
                                    "--exact",
                                    "--mpi=pmix",
                                    "--kill-on-bad-exit=1",
                                    "--quit-on-interrupt",
                                    "-n",
                                    std::to_string(ranks)};
  if (threads > 1) words.push_back("--cpus-per-task=" + std::to_string(threads));
  if (!hosts.empty()) {
    std::string list;
    for (const HostSlots& host : hosts) list += (list.empty() ? "" : ",") + host.host;
    words.insert(words.end(), {"-N", std::to_string(hosts.size()), "--nodelist", list});
  }
  words.insert(words.end(), step_options.begin(), step_options.end());
  words.insert(words.end(), {"sh", "-c", "mkdir -p \"$0\" && exec \"$@\"", scratch, program});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// Where a replica has one host, mpirun needs no list of hosts, nor a way to reach them. Ranks are not bound: each of several
// mpiruns on a host would bind its own to the same cores.
std::vector<std::string> ReplicaCommand::mpirun_words() const {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
  if (hosts.size() > 1) {
    std::string list;
    for (const HostSlots& host : hosts)
      list += (list.empty() ? "" : ",") + host.host + ":" + std::to_string(host.slots);
    words.insert(words.end(), {"--host", list, "--mca", "plm_rsh_agent", remote_shell});
    if (std::getenv(kLoops)) words.insert(words.end(), {"-x", kLoops});
  }
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// The other shell gives no directory and no variables of its own accord.
std::vector<std::string> ReplicaCommand::remote_words() const {
  std::string line =
      "cd " + shell_quoted(directory) + " && mkdir -p " + shell_quoted(scratch) + " && exec env";
  for (const std::string& variable : environment()) line += " " + shell_quoted(variable);
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", kLoops})
    if (const char* value = std::getenv(name)) line += " " + shell_quoted(std::string(name) + "=" + value);
  if (!process_file.empty())
    line += " sh -c " + shell_quoted(R"(echo $$ $(cut -d" " -f22 /proc/$$/stat) >"$0" && exec "$@")") + " " +
            shell_quoted(process_file);
  for (const std::string& word : mpirun_words()) line += " " + shell_quoted(word);
  return {remote_shell, hosts.front().host, line};
}

std::vector<std::string> ReplicaCommand::remote_call(const std::string& host,
                                                     const std::vector<std::string>& of_tenax) const {
  std::string line = "exec env";
  if (const char* value = std::getenv("LD_LIBRARY_PATH"))
    line += " " + shell_quoted(std::string("LD_LIBRARY_PATH=") + value);
  line += " " + shell_quoted(program);
  for (const std::string& argument : of_tenax) line += " " + shell_quoted(argument);
  return {remote_shell, host, line};
}

std::string scratch_variable(const std::filesystem::path& scratch) {
  return "OMPI_MCA_orte_tmpdir_base=" + scratch.string();
}

// All that Open MPI leaves on a host when it is killed lies in `scratch`. The rest is what app/setup.sh says, for whoever
// calls tenax launch without it; names with PRTE are those of Open MPI 5, whose mpirun has no -q.
std::vector<std::string> ReplicaCommand::environment() const {
  return {"OMPI_ALLOW_RUN_AS_ROOT=1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
          "OMPI_MCA_rmaps_base_oversubscribe=1",
          "OMPI_MCA_mpi_yield_when_idle=1",
          "OMPI_MCA_hwloc_base_binding_policy=none",
          "OMPI_MCA_orte_execute_quiet=1",
          "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
          "PRTE_MCA_hwloc_default_binding_policy=none",
          "OMP_NUM_THREADS=1",
          scratch_variable(scratch),
          "OMPI_MCA_btl_vader_backing_directory=" + scratch.string(),
          "OMPI_MCA_btl_sm_backing_directory=" + scratch.string()};
}

}  // namespace tenax::app
