// A deck's sections as the options of the parts below: layout, pipelines, adaptation, faults,
// optimizer, devices. (Files, data and checkpoints: app/training.) Who calls one of these includes
// the header of what it returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenax::io {
struct Deck;
struct MitigateSection;
struct ModelSection;
struct ModelSizes;
struct OptimizerSection;
enum class TransportKind;
}  // namespace tenax::io
namespace tenax::kernels {
enum class DType;
enum class DeviceKind;
struct CudaOptions;
struct EmulatedOptions;
struct UpdateRule;
}  // namespace tenax::kernels
namespace tenax::comm {
struct FtarOptions;
struct NcclUse;
struct VerbsPortOptions;
struct VerbsSettings;
enum class TransportKind;
}  // namespace tenax::comm
namespace tenax::model {
struct GptConfig;
}
namespace tenax::parallel {
class BatchPlan;
struct EmulatedLoad;
struct Layout;
struct LayoutRequest;
struct MemoryRoom;
struct Optimizer;
struct PipelineOptions;
struct SampleRange;
struct TransferModel;
}  // namespace tenax::parallel
namespace tenax::resilience {
enum class Strategy;
struct AdaptationSettings;
}  // namespace tenax::resilience

namespace tenax::app {

model::GptConfig gpt_config(const io::ModelSizes& sizes, kernels::DType compute_dtype);
model::GptConfig gpt_config(const io::ModelSection& section);

/// The share of pipeline `data_rank` in `samples` that one replica computes.
parallel::BatchPlan batch_plan(const io::Deck& deck, parallel::SampleRange samples, int data_rank);
/// The samples of `step` where every step has the global batch.
parallel::SampleRange samples_of_step(const io::Deck& deck, std::int64_t step);
const parallel::Optimizer& optimizer_of(const io::Deck& deck);
parallel::LayoutRequest layout_request(const io::Deck& deck);
/// parallel::plan_layout of layout_request().
parallel::Layout plan_layout(const io::Deck& deck, double flop_per_second, const parallel::MemoryRoom& room);

parallel::PipelineOptions pipeline_options(const io::Deck& deck);
resilience::AdaptationSettings adaptation_settings(const io::Deck& deck);
/// How messages travel while no link is slower than the deck says.
parallel::TransferModel healthy_transfers(const io::Deck& deck, const parallel::Layout& layout);
/// What the deck allows against what is slow.
std::vector<resilience::Strategy> allowed_strategies(const io::MitigateSection& section);
/// Whether anything can be done against what is slow: not where there are several replicas.
bool may_mitigate(const io::Deck& deck);
/// Why nothing is done where may_mitigate() says no.
inline constexpr char kNoMitigation[] = "with parallel.replicas > 1";
/// Under `tenax launch`, also of one replica: a warning where the deck states strategies of its own; else empty.
std::string idle_strategies(const io::Deck& deck);
/// What each rank keeps for a change of places from the start on, bytes: 0 where the deck allows none, or
/// `swap_fits` (parallel::swap_bytes) says that there is no room for one.
std::size_t spare_bytes(const io::Deck& deck, const parallel::Layout& layout, bool swap_fits);

/// `learning_rate`: of this update, the `number`-th from 1. `tokens`: of the global batch.
kernels::UpdateRule update_rule(const io::OptimizerSection& section, double learning_rate, double tokens,
                                std::int64_t number);

/// How long ranks wait for one of them that a file system holds up: longer than for a peer.
double file_patience_s(const io::Deck& deck);
/// Likewise for one that reads what the run or the replica begins with.
double restore_patience_s(const io::Deck& deck);

comm::TransportKind transport_kind(io::TransportKind kind);
comm::VerbsPortOptions verbs_port_options(const io::Deck& deck);
/// For a rank, whose number on its host is still to be filled in.
comm::VerbsSettings verbs_settings(const io::Deck& deck);
/// How replicas exchange their sums, which lie on such a device, over a transport of these addresses.
comm::FtarOptions exchange_options(const io::Deck& deck, kernels::DeviceKind device,
                                   const std::vector<std::string>& addresses);
kernels::CudaOptions cuda_options(const io::Deck& deck, int index);
kernels::EmulatedOptions emulated_device_options(const io::Deck& deck, int rank);
comm::NcclUse nccl_use(const io::Deck& deck);
/// What the emulated device takes instead of computing.
parallel::EmulatedLoad emulated_load(const io::Deck& deck);

}  // namespace tenax::app
