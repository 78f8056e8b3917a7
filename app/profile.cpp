#include "app/profile.hpp"

#include "app/units.hpp"
#include "io/run_files.hpp"

namespace tenax::app {

namespace {

constexpr double kMicroseconds = 1e6;

}  // namespace

std::string StepProfile::trace_events(int rank, const parallel::GridCoordinates& c) const {
  const std::string label =
      format("rank %d (stage %d, data %d, tensor %d)", rank, c.pipeline, c.data, c.tensor);
  std::string events = format(R"({"name":"process_name","ph":"M","pid":%d,"args":{"name":"%s"}},)"
                              R"({"name":"process_sort_index","ph":"M","pid":%d,"args":{"sort_index":%d}},)"
                              R"({"name":"thread_name","ph":"M","pid":%d,"tid":0,"args":{"name":"passes"}})",
                              rank, label.c_str(), rank, rank, rank);
  for (const parallel::PassRecord& pass : passes_)
    events += format(R"(,{"name":"%s","cat":"%s","ph":"X","pid":%d,"tid":0,"ts":%.3f,"dur":%.3f,)"
                     R"("args":{"microbatch":%d,"stage":%d}})",
                     parallel::to_string(pass.op).c_str(), parallel::code_of(pass.op.pass), rank,
                     pass.begin_s * kMicroseconds, (pass.end_s - pass.begin_s) * kMicroseconds,
                     pass.op.microbatch, c.pipeline);
  // Transfers overlap each other: asynchronous slices ("b", "e"), which a viewer stacks.
  int id = 0;
  for (const parallel::TransferRecord& t : transfers_) {
    const std::string identity = format(R"("name":"%s","cat":"transfer","id":"%d.%d","pid":%d,"tid":1)",
                                        parallel::name_of(t.kind, t.microbatch).c_str(), rank, id++, rank);
    events +=
        format(R"(,{%s,"ph":"b","ts":%.3f,"args":{"bytes":%zu}},{%s,"ph":"e","ts":%.3f})", identity.c_str(),
               t.begin_s * kMicroseconds, t.bytes, identity.c_str(), t.end_s * kMicroseconds);
  }
  return events;
}

void write_trace(const std::filesystem::path& file, std::int64_t step, const StepProfile& profile,
                 const parallel::GridCoordinates& coordinates, comm::ControlGroup& control) {
  const std::vector<std::string> ranks =
      control.all_gather(profile.trace_events(control.rank(), coordinates));
  if (control.rank() != 0) return;
  std::string text = format(R"({"displayTimeUnit":"ms","otherData":{"step":%lld},"traceEvents":[)",
                            static_cast<long long>(step));
  for (std::size_t r = 0; r < ranks.size(); ++r) text += (r ? ",\n" : "\n") + ranks[r];
  io::write_file_atomically(file, text + "\n]}\n");
}

}  // namespace tenax::app
