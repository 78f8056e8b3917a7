#include "kernels/cuda/matmul.hpp"

#include <cublasLt.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/matmul_call.hpp"
#include "kernels/cuda/matmul_choice.hpp"
#include "kernels/cuda/matmul_plan.hpp"
#include "kernels/cuda/matmul_search.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

[[noreturn]] void throw_no_algorithm(const MatmulPlan& plan) {
  throw Error(Scope::rank, "cuBLASLt " + std::to_string(cublasLtGetVersion()) +
                               " has no algorithm on this GPU for a " + name_of(plan.input) + " product [" +
                               std::to_string(plan.n) + ", " + std::to_string(plan.k) + "] x [" +
                               std::to_string(plan.k) + ", " + std::to_string(plan.m) +
                               "]: set device.kind = \"cpu\", or another model.compute_dtype");
}

}  // namespace

struct CudaMatmul::Library {
  /// What a choice depends on: the plan and how its operands are aligned.
  struct Key {
    MatmulPlan plan;
    std::array<std::uint32_t, 5> alignments;
    auto operator<=>(const Key&) const = default;
  };
  using Choice = OptionalMatmulChoice;

  explicit Library(Choices& of_device) : device_choices(of_device) {
    TENAX_CUBLAS_CHECK(cublasLtCreate(&handle));
  }
  ~Library() { cublasLtDestroy(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class... Arguments>
  PlannedMatmul plan(const Arguments&... arguments) const {
    PlannedMatmul planned = plan_of(arguments...);
    planned.plan.multiprocessors = device_choices.multiprocessors_of_products();
    return planned;
  }
  Choice choice_for(cudaStream_t stream, const PlannedMatmul& planned);
  bool keep_earlier(const Key& key, const PlannedMatmul& planned, Choice& choice);
  Choice first_choice(const PlannedMatmul& planned, bool may_search);
  void run(cudaStream_t stream, const PlannedMatmul& planned, const MatmulChoice& choice, void* workspace);

  cublasLtHandle_t handle = nullptr;
  Choices& device_choices;
  std::mutex mutex;
  std::map<Key, Choice> choices;
};

CudaMatmul::Library::Choice CudaMatmul::Library::choice_for(cudaStream_t stream,
                                                            const PlannedMatmul& planned) {
  const MatmulOperands& o = planned.operands;
  const Key key{
      planned.plan,
      {alignment_of(o.a), alignment_of(o.b), alignment_of(o.d), alignment_of(o.bias), alignment_of(o.aux)}};
  const std::lock_guard lock(mutex);
  if (const auto known = choices.find(key); known != choices.end()) return known->second;
  // Not kept: the next use may search.
  if (is_captured(stream)) return first_choice(planned, false);
  Choice choice;
  if (!keep_earlier(key, planned, choice)) choice = first_choice(planned, device_choices.may_try());
  device_choices.choose(text_of(key.plan, key.alignments), text_of(choice));
  return choices[key] = choice;
}

// False where there is none that works here.
bool CudaMatmul::Library::keep_earlier(const Key& key, const PlannedMatmul& planned, Choice& choice) {
  const std::string what = text_of(key.plan, key.alignments);
  const auto how = device_choices.earlier(what);
  if (!how) return false;
  const auto read = matmul_choice_of_text(*how);
  const bool works =
      read && (!*read || MatmulCall(planned.plan, planned.operands).admits(handle, (*read)->algorithm));
  if (works)
    choice = *read;
  else
    device_choices.cannot_keep(what);
  return works;
}

CudaMatmul::Library::Choice CudaMatmul::Library::first_choice(const PlannedMatmul& planned, bool may_search) {
  const auto proposals = MatmulCall(planned.plan, planned.operands).algorithms(handle, kTrialProposals);
  if (proposals.empty()) return std::nullopt;
  if (!may_search || !worth_trying(planned.plan)) return MatmulChoice{proposals.front().algo};
  return choose_by_trials(handle, planned.plan, proposals, device_choices.deterministic());
}

void CudaMatmul::Library::run(cudaStream_t stream, const PlannedMatmul& planned, const MatmulChoice& choice,
                              void* workspace) {
  MatmulCall call(planned.plan, planned.operands);
  check_cublas(call.run(handle, choice.algorithm, workspace, stream), "cublasLtMatmul");
}

CudaMatmul::CudaMatmul(Choices& choices) : library_(std::make_unique<Library>(choices)) {}
CudaMatmul::~CudaMatmul() = default;

void CudaMatmul::matmul(cudaStream_t stream, const MatmulArgs& args, Workspace& workspace) {
  if (args.c.size() == 0) return;
  PlannedMatmul planned = library_->plan(args);
  const bool has_inner = planned.plan.k > 0;
  if (has_inner && can_fuse(planned.plan))
    if (const auto choice = library_->choice_for(stream, planned))
      return library_->run(stream, planned, *choice, workspace.take(kMatmulWorkspace_bytes));
  // The bias goes ahead of the product, which then adds to it. Where neither is, nothing sums up to zero.
  if (args.bias)
    set_rows_to_bias(stream, args.bias, args.c, args.accumulate);
  else if (has_inner)
    throw_no_algorithm(planned.plan);
  else if (!args.accumulate)
    TENAX_CUDA_CHECK(cudaMemsetAsync(args.c.data, 0, args.c.bytes(), stream));
  if (has_inner)
    matmul(stream, {args.a, args.b, args.c, args.transpose_a, args.transpose_b, {}, true}, workspace);
}

bool CudaMatmul::linear_gelu_forward(cudaStream_t stream, const LinearGeluForwardArgs& args,
                                     Workspace& workspace) {
  if (args.y.size() == 0) return true;
  const PlannedMatmul planned = library_->plan(args);
  if (planned.plan.k == 0 || !can_fuse(planned.plan)) return false;
  const auto choice = library_->choice_for(stream, planned);
  if (choice) library_->run(stream, planned, *choice, workspace.take(kMatmulWorkspace_bytes));
  return choice.has_value();
}

bool CudaMatmul::linear_gelu_backward_input(cudaStream_t stream, const LinearGeluBackwardInputArgs& args,
                                            Workspace& workspace) {
  if (args.d_pre.size() == 0) return true;
  const PlannedMatmul planned = library_->plan(args, args.d_pre);
  if (planned.plan.k == 0 || !can_fuse(planned.plan)) return false;
  // An algorithm that was chosen for d_pre has to do for scratch.
  const bool in_place = args.d_pre.data == args.pre.data;
  if (in_place && alignment_of(args.scratch.data) < alignment_of(args.d_pre.data)) return false;
  const auto choice = library_->choice_for(stream, planned);
  if (!choice) return false;
  void* const memory = workspace.take(kMatmulWorkspace_bytes);
  if (!in_place || choice->aux_in_place) {
    library_->run(stream, planned, *choice, memory);
    return true;
  }
  library_->run(stream, library_->plan(args, args.scratch), *choice, memory);
  TENAX_CUDA_CHECK(cudaMemcpyAsync(args.d_pre.data, args.scratch.data, args.d_pre.bytes(),
                                   cudaMemcpyDeviceToDevice, stream));
  return true;
}

}  // namespace tenax::kernels::cuda
