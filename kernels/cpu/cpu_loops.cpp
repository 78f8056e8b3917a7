#include "kernels/cpu/cpu_loops.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/amx.hpp"
#include "kernels/cpu/bf16_pairs.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"

namespace tenax::kernels {

// TENAX_CPU_LOOPS_BUILT is TENAX_LOOPS(name) of each set of this build.
#define TENAX_LOOPS(name) const CpuLoops& loops_##name();
TENAX_CPU_LOOPS_BUILT
#undef TENAX_LOOPS

namespace {

/// Of the names in CMakeLists.txt.
bool runs_here(std::string_view name) {
#if defined(__x86_64__)
  if (name == "avx2") return __builtin_cpu_supports("x86-64-v3");
  if (name == "avx512") return __builtin_cpu_supports("x86-64-v4");
  if (name == "avx512_bf16") return has_bf16_pairs();
  if (name == "amx") return runs_here("avx512_bf16") && amx_runs_here();
#endif
  return name == "baseline";
}

bool pays(std::string_view name) { return name != "avx512_bf16" || bf16_pairs_pay(); }

std::string names_of(std::span<const CpuLoopsChoice> sets) {
  std::string names;
  for (const CpuLoopsChoice& set : sets)
    names += (names.empty() ? "" : ", ") + std::string(set.name) + (set.runs_here ? "" : " (not here)");
  return names;
}

}  // namespace

const CpuLoops& choose_loops(std::span<const CpuLoopsChoice> sets, const char* wanted) {
  const bool any = !wanted || !*wanted;
  for (auto set = sets.rbegin(); set != sets.rend(); ++set)
    if (set->runs_here && (any ? set->pays : std::string_view(set->name) == wanted)) return set->loops();
  throw Error(Scope::usage, "TENAX_CPU_LOOPS=" + std::string(any ? "" : wanted) +
                                ": this program and processor have " + names_of(sets));
}

std::span<const CpuLoopsChoice> built_loops() {
#define TENAX_LOOPS(name) CpuLoopsChoice{#name, &loops_##name, runs_here(#name), pays(#name)},
  static const auto sets = std::to_array<CpuLoopsChoice>({TENAX_CPU_LOOPS_BUILT});
#undef TENAX_LOOPS
  return sets;
}

const CpuLoops& cpu_loops() {
  static const CpuLoops& chosen = choose_loops(built_loops(), std::getenv("TENAX_CPU_LOOPS"));
  return chosen;
}

std::string cpu_loops_name() { return cpu_loops().name; }

std::string cpu_loops_base() { return cpu_loops().base; }

std::vector<std::string> built_loops_names() {
  std::vector<std::string> names;
  for (const CpuLoopsChoice& set : built_loops()) names.push_back(set.name);
  return names;
}

}  // namespace tenax::kernels
