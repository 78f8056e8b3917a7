// trace.json, in Chrome's trace event format: a process a rank, its thread 0 the passes ("X" slices) and the optimizer, further
// threads what the rank did beside them, its collectives and its transfers. Slices of one thread may not overlap, so those that
// do are dealt out over threads. Names are those of the NVTX ranges. A message is one flow, from the pass that made it ("s") to the pass that used it ("f"), each bound to the slice
// around its time stamp. Clock and temperature of a rank's device, where it tells them, are counters ("C"), read once in the step.
// `process_name` also holds the rank's coordinates and planned order, for io/trace_file; viewers pass over them.
#include "app/training/profile.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/units.hpp"
#include "io/whole_file.hpp"

namespace tenax::app {

namespace {

using parallel::GridCoordinates;
using parallel::PassRecord;
using parallel::PhaseRecord;
using parallel::TransferKind;
using parallel::TransferRecord;

/// Whole nanoseconds, so that rounding makes no slices overlap.
struct Slice {
  std::int64_t begin_ns = 0, end_ns = 0;
};

std::int64_t nanoseconds(double seconds) {
  constexpr double kNanoseconds = 1e9;
  return std::llround(seconds * kNanoseconds);
}

template <class Record>
Slice slice_of(const Record& record) {
  const std::int64_t begin = nanoseconds(record.begin_s);
  return {begin, std::max(begin + 1, nanoseconds(record.end_s))};
}

std::string microseconds(std::int64_t ns) {
  return format("%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
}

bool is_activation(TransferKind kind) {
  return kind == TransferKind::send_activation || kind == TransferKind::receive_activation;
}

/// The same at both ends. Below 2^53, so that viewers' doubles hold it; huge layouts may share numbers, and arrows.
std::int64_t message_id(const TransferRecord& t, const GridCoordinates& c) {
  constexpr std::int64_t kData = 1 << 12, kTensor = 1 << 10, kLinks = 1 << 10;
  const bool down = is_activation(t.kind);
  const int link = is_send(t.kind) == down ? c.pipeline : c.pipeline - 1;
  const std::int64_t message = 2 * std::int64_t{t.microbatch} + (down ? 0 : 1);
  return ((message * kLinks + link) * kTensor + c.tensor) * kData + c.data;
}

/// Writes the events of one rank.
class EventText {
 public:
  EventText(int rank, const GridCoordinates& coordinates) : rank_(rank), c_(coordinates) {}

  void metadata(const char* name, int thread, const std::string& arguments) {
    add(format(R"({"name":"%s","ph":"M","pid":%d,"tid":%d,"args":{)", name, rank_, thread) + arguments +
        "}}");
  }
  void slice(const std::string& name, const char* category, int thread, const Slice& slice,
             const std::string& arguments) {
    add(R"({"name":")" + name +
        format(R"(","cat":"%s","ph":"X","pid":%d,"tid":%d,"ts":)", category, rank_, thread) +
        microseconds(slice.begin_ns) + ",\"dur\":" + microseconds(slice.end_ns - slice.begin_ns) +
        ",\"args\":{" + arguments + "}}");
  }
  /// A sent message's arrow leaves from the end of `pass`, a received one's arrives at its beginning.
  void flow(const TransferRecord& t, const Slice& pass) {
    const bool leaves = is_send(t.kind);
    add(format(R"({"name":"message","cat":"message","id":%lld,%s,"pid":%d,"tid":0,"ts":)",
               static_cast<long long>(message_id(t, c_)), leaves ? R"("ph":"s")" : R"("ph":"f","bp":"e")",
               rank_) +
        microseconds(leaves ? pass.end_ns - 1 : pass.begin_ns) + "}");
  }
  /// Nothing where the device does not tell it.
  void counter(const char* name, const char* unit, double time_s, double value) {
    if (value <= 0) return;
    add(format(R"({"name":"%s","cat":"device","ph":"C","pid":%d,"tid":0,"ts":)", name, rank_) +
        microseconds(nanoseconds(time_s)) + format(R"(,"args":{"%s":%.0f}})", unit, value));
  }
  const std::string& text() const { return text_; }

 private:
  void add(const std::string& event) { text_ += (text_.empty() ? "" : ",\n") + event; }

  int rank_;
  const GridCoordinates& c_;
  std::string text_;
};

/// Threads for slices that may overlap: the lowest that is free.
class ThreadRows {
 public:
  explicit ThreadRows(int first_thread) : first_thread_(first_thread) {}
  int add(const Slice& slice) {
    for (std::size_t i = 0; i < end_ns_.size(); ++i)
      if (end_ns_[i] <= slice.begin_ns) {
        end_ns_[i] = slice.end_ns;
        return first_thread_ + static_cast<int>(i);
      }
    end_ns_.push_back(slice.end_ns);
    return end_thread() - 1;
  }
  int end_thread() const { return first_thread_ + static_cast<int>(end_ns_.size()); }

 private:
  int first_thread_;
  std::vector<std::int64_t> end_ns_;
};

/// The rows of one rank below its passes, from thread 1 on.
class Rows {
 public:
  explicit Rows(EventText& events) : events_(events) {}

  /// Adds rows called `name` with a slice for each of `records`, which `write(record, slice, thread)` writes.
  template <class Record, class Write>
  void add(const char* name, std::vector<Record> records, Write write) {
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.begin_s < b.begin_s; });
    ThreadRows rows(next_thread_);
    for (const Record& record : records) {
      const Slice slice = slice_of(record);
      write(record, slice, rows.add(slice));
    }
    for (; next_thread_ < rows.end_thread(); ++next_thread_)
      events_.metadata("thread_name", next_thread_, format(R"("name":"%s")", name));
  }

 private:
  EventText& events_;
  int next_thread_ = 1;
};

/// The pass that made what is sent, or used what was received; null if it was not recorded.
const PassRecord* pass_of(const TransferRecord& t, const std::vector<PassRecord>& passes) {
  const auto found = std::find_if(passes.begin(), passes.end(), [&](const PassRecord& pass) {
    return pass.op.microbatch == t.microbatch &&
           (is_activation(t.kind) ? pass.op.pass == parallel::Pass::forward
                                  : gives_input_gradient(pass.op.pass));
  });
  return found == passes.end() ? nullptr : &*found;
}

std::string row_text(const std::vector<parallel::PipelineOp>& row) {
  std::string text;
  for (const parallel::PipelineOp& op : row) text += (text.empty() ? "" : " ") + to_string(op);
  return text;
}

/// "F 1.2 ms, B 2.3 ms, W 1.1 ms".
std::string label_of(const resilience::PassMeasurement& times) {
  return format("F %.4g ms, B %.4g ms, W %.4g ms", times.forward_s * kMsPerSecond,
                times.backward_input_s * kMsPerSecond, times.backward_weight_s * kMsPerSecond);
}

/// ", SM clock 1755 of 1980 MHz, 61 °C, power_cap"; nothing of a device that tells nothing.
std::string label_of(const std::optional<TimedReading>& told) {
  if (!told) return "";
  const kernels::DeviceReading& reading = told->reading;
  std::string label;
  if (reading.sm_clock_mhz > 0)
    label += format(", SM clock %.0f of %.0f MHz", reading.sm_clock_mhz, reading.max_sm_clock_mhz);
  if (reading.temperature_c > 0) label += format(", %.0f °C", reading.temperature_c);
  for (const kernels::Throttle reason : kernels::kThrottles)
    if (reading.throttled_by.has(reason)) label += std::string(", ") + kernels::name_of(reason);
  return label;
}

std::vector<PhaseRecord> phases_at(PhaseRecord::Where where, const std::vector<PhaseRecord>& phases) {
  std::vector<PhaseRecord> found;
  std::copy_if(phases.begin(), phases.end(), std::back_inserter(found),
               [where](const PhaseRecord& phase) { return phase.where == where; });
  return found;
}

}  // namespace

std::string StepProfile::trace_events(int rank, const GridCoordinates& c) const {
  EventText events(rank, c);
  const std::string label =
      format("rank %d (stage %d, data %d, tensor %d)", rank, c.pipeline, c.data, c.tensor);
  events.metadata("process_name", 0,
                  format(R"("name":"%s","stage":%d,"data":%d,"tensor":%d,"planned":"%s")", label.c_str(),
                         c.pipeline, c.data, c.tensor, row_text(planned_).c_str()));
  events.metadata("process_sort_index", 0, format(R"("sort_index":%d)", rank));
  events.metadata("process_labels", 0,
                  format(R"("labels":"%s")", (label_of(pass_times_) + label_of(reading_)).c_str()));
  if (reading_) {
    events.counter("SM clock", "MHz", reading_->time_s, reading_->reading.sm_clock_mhz);
    events.counter("temperature", "°C", reading_->time_s, reading_->reading.temperature_c);
  }
  events.metadata("thread_name", 0, R"("name":"passes, optimizer")");
  const auto write_phase = [&](const PhaseRecord& phase, const Slice& slice, int thread) {
    events.slice(phase.name, "phase", thread, slice, "");
  };
  for (const PassRecord& pass : passes_)
    events.slice(to_string(pass.op), code_of(pass.op.pass), 0, slice_of(pass),
                 format(R"("microbatch":%d,"stage":%d)", pass.op.microbatch, c.pipeline));
  for (const PhaseRecord& phase : phases_at(PhaseRecord::Where::stream, phases_))
    write_phase(phase, slice_of(phase), 0);
  Rows rows(events);
  rows.add("step", phases_at(PhaseRecord::Where::host, phases_), write_phase);
  rows.add("background", phases_at(PhaseRecord::Where::background, phases_), write_phase);
  rows.add("collectives", collectives_, [&](const comm::CollectiveRecord& r, const Slice& slice, int thread) {
    events.slice(std::string(comm::name_of(r.kind)) + " " + r.group, "collective", thread, slice,
                 format(R"("group":"%s","ranks":%d,"bytes":%zu)", r.group.c_str(), r.ranks, r.bytes));
  });
  rows.add("transfers", transfers_, [&](const TransferRecord& t, const Slice& slice, int thread) {
    events.slice(parallel::name_of(t.kind, t.microbatch), "transfer", thread, slice,
                 format(R"("microbatch":%d,"bytes":%zu)", t.microbatch, t.bytes));
    if (const PassRecord* pass = pass_of(t, passes_)) events.flow(t, slice_of(*pass));
  });
  return events.text();
}

std::string write_trace(const std::filesystem::path& file, std::int64_t step, const StepProfile& profile,
                        const parallel::GridCoordinates& coordinates, comm::ControlGroup& control) {
  const std::vector<std::string> ranks =
      control.all_gather(profile.trace_events(control.rank(), coordinates));
  if (control.rank() != 0) return {};
  std::string text = format(R"({"displayTimeUnit":"ms","otherData":{"step":%lld},"traceEvents":[)",
                            static_cast<long long>(step));
  for (std::size_t r = 0; r < ranks.size(); ++r) text += (r ? ",\n" : "\n") + ranks[r];
  try {
    io::write_file_atomically(file, text + "\n]}\n");
  } catch (const kernels::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace tenax::app
