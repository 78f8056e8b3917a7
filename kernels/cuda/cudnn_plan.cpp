// How plans are found: cuDNN's heuristics give engine configurations, best first (mode A, then the fallbacks), of which some
// become plans.
#include <algorithm>

#include "kernels/cuda/cudnn_graph.hpp"

namespace tenax::kernels::cuda {
namespace {

std::vector<CudnnDescriptor> suggestions(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (!heuristics.finalizes()) return {};
  std::int64_t count = 0;
  TENAX_CUDNN_CHECK(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<CudnnDescriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i)
    raw.push_back(configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  TENAX_CUDNN_CHECK(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()));
  configurations.erase(configurations.begin() + count, configurations.end());
  return configurations;
}

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  std::int64_t count = 0;
  TENAX_CUDNN_CHECK(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  return engine;
}

bool is_deterministic(const CudnnDescriptor& engine) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  std::int64_t count = 0;
  TENAX_CUDNN_CHECK(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                             CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
                                             &count, notes));
  return std::find(notes, notes + count, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == notes + count;
}

std::int64_t number_of(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t name) {
  std::int64_t value = 0, count = 0;
  TENAX_CUDNN_CHECK(cudnnBackendGetAttribute(descriptor.get(), name, CUDNN_TYPE_INT64, 1, &count, &value));
  return value;
}

}  // namespace

std::vector<CudnnPlan> CudnnPlan::find(cudnnHandle_t handle, const CudnnGraph& graph, bool deterministic,
                                       std::size_t count) {
  std::vector<CudnnPlan> plans;
  int suggestion = -1;
  const CudnnDescriptor operations = graph.finish(handle);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const CudnnDescriptor& configuration : suggestions(operations, mode)) {
      ++suggestion;
      const CudnnDescriptor engine = engine_of(configuration);
      if (deterministic && !is_deterministic(engine)) continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (!plan.finalizes()) continue;
      const std::int64_t bytes = number_of(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
      plans.push_back(CudnnPlan(std::move(plan), bytes,
                                "suggestion " + std::to_string(suggestion) + ", engine " +
                                    std::to_string(number_of(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX))));
      if (plans.size() == count) return plans;
    }
  return plans;
}

void CudnnPlan::execute(cudnnHandle_t handle, const std::map<CudnnGraph::Id, void*>& memory,
                        void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : memory) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  pack.finalize();
  TENAX_CUDNN_CHECK(cudnnBackendExecute(handle, plan_.get(), pack.get()));
}

}  // namespace tenax::kernels::cuda
