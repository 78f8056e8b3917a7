#include "resilience/replicas/gradient_exchange.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::resilience {
namespace {

/// The totals' bucket: no model has so many.
constexpr int kTotals = 1 << 30;
constexpr double kStreamDeadline_s = 600;  // the passes of a step may stand before a piece

/// Before the deadline; also where it failed.
bool is_over(comm::Transfer& transfer, kernels::Deadline deadline) try {
  transfer.wait(deadline);
  return true;
} catch (const comm::FtarError&) {
  return true;  // whoever finishes it tells of it
} catch (const kernels::Error& error) {
  if (error.scope() != kernels::Scope::link) throw;
  return false;
}

}  // namespace

GradientExchange::GradientExchange(comm::Transport& transport, kernels::Device& device,
                                   comm::FtarOptions options)
    : transport_(transport),
      device_(device),
      cpu_(device.has_data() ? nullptr : kernels::create_cpu_device()),
      options_(std::move(options)) {
  for (const auto& memory : options_.memory)
    registrations_.push_back(
        transport.register_memory({static_cast<std::byte*>(memory->data()), memory->bytes()}));
}

void GradientExchange::set_ring(comm::FtarRing ring) {
  give_up();
  group_.reset();
  failure_.reset();
  group_ = std::make_unique<comm::FtarGroup>(std::move(ring), transport_, device_, options_);
}

void GradientExchange::give_up() {
  pieces_.clear();
  gathering_.reset();
}

void GradientExchange::begin_step(std::int64_t step) {
  give_up();
  failure_.reset();
  step_ = step;
}

// The host moves the bytes, so it waits until the device has computed them.
void GradientExchange::start(kernels::Stream& stream, int bucket, const parallel::GradientPiece& piece) {
  stream.synchronize(kernels::Deadline::after_s(kStreamDeadline_s));
  pieces_.push_back(group_->start({.name = {step_, bucket}, .in = piece.own, .out = piece.sum}));
}

bool GradientExchange::wait(comm::Transfer& transfer, kernels::Deadline deadline) try {
  transfer.wait(deadline);
  return true;
} catch (const comm::FtarError& error) {
  if (!error.failure().is_recoverable()) throw;
  note(error.failure());
  return false;
} catch (const kernels::Error& error) {  // the deadline
  if (error.scope() != kernels::Scope::link) throw;
  note({.cause = comm::FtarFailure::Cause::timeout, .sentence = error.what()});
  return false;
}

void GradientExchange::note(const comm::FtarFailure& failure) {
  if (!failure_ || failure_->is_cancelled) failure_ = failure;
}

bool GradientExchange::are_over(kernels::Deadline deadline) {
  return std::all_of(pieces_.begin(), pieces_.end(),
                     [&](const comm::TransferPtr& piece) { return is_over(*piece, deadline); });
}

bool GradientExchange::finish(kernels::Deadline deadline) {
  for (const comm::TransferPtr& piece : pieces_) wait(*piece, deadline);
  pieces_.clear();
  return !failure_;
}

kernels::Tensor GradientExchange::totals(std::size_t of_each) {
  const std::size_t count = static_cast<std::size_t>(group_->size()) * of_each;
  if (const std::size_t bytes = count * sizeof(double); !totals_ || totals_->bytes() < bytes)
    totals_ = (cpu_ ? *cpu_ : device_).allocate(bytes, kernels::MemoryKind::pinned_host);
  return totals_->tensor(kernels::DType::f64, {static_cast<std::int64_t>(count)});
}

void GradientExchange::start_gather(std::span<const double> own, int round) {
  assert(!gathering_);
  gathered_ = own.size();
  const kernels::Tensor parts = totals(gathered_);
  std::copy(own.begin(), own.end(),
            parts.as<double>() + static_cast<std::size_t>(group_->index()) * own.size());
  gathering_ = group_->start_gather({step_, kTotals + round}, parts);
}

bool GradientExchange::is_gathered(kernels::Deadline deadline) {
  return !gathering_ || is_over(*gathering_, deadline);
}

std::optional<std::vector<double>> GradientExchange::finish_gather(kernels::Deadline deadline) {
  const bool is_there = wait(*gathering_, deadline);
  gathering_.reset();
  if (!is_there) return std::nullopt;
  const kernels::Tensor parts = totals(gathered_);
  return std::vector<double>(parts.as<double>(), parts.as<double>() + parts.size());
}

}  // namespace tenax::resilience
