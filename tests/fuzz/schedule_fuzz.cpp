// What `tenax schedule` and fault injection read: the first byte says which kind of file the rest is.
#include "io/deck/fault_trace.hpp"
#include "io/run/schedule_file.hpp"
#include "io/run/trace_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::fuzz {
namespace {

void read_stages(const std::filesystem::path& file) {
  const auto stages = io::read_schedule(file);
  const std::string json = io::schedule_stages_json(stages);
  io::write_text_file(file, "{\"stages\":" + json + "}");
  require(io::schedule_stages_json(io::read_schedule(file)) == json,
          "a schedule that was written reads back as the same");
}

void read_delays(const std::filesystem::path& file) {
  const io::FaultTrace trace = io::read_fault_trace(file, io::kTracedDelay);
  for (const auto& point : trace.points())
    require(trace.value_at(point.seconds) == point.value, "a delay holds from its own time on");
}

void read(char kind, const std::filesystem::path& file) {
  switch (kind) {
    case 'i':
      io::read_instance(file);
      return;
    case 's':
      return read_stages(file);
    case 'd':
      return read_delays(file);
    default:
      io::read_trace(file);
  }
}

}  // namespace

std::vector<std::string> seeds() {
  return {R"(i{"stages":2,"microbatches":3,"forward":[1,2],"backward_input":[1,2.5],"backward_weight":[0,1],)"
          R"("link_delay":[30],"activation_limit":[2,1],"weight_share":0.5})",
          R"(s{"stages":[{"ops":[["F",0],["B",0],["W",0]]},{"ops":[["F",0],["BW",0]]}],"makespan_ms":7})",
          "d# of a link\nseconds,delay_ms\n0,30\n1.5,0\n",
          R"(t{"otherData":{"step":9},"traceEvents":[)"
          R"({"ph":"M","name":"process_name","pid":0,)"
          R"("args":{"name":"rank 0","stage":0,"data":0,"tensor":0,"planned":"F0 B0"}},)"
          R"({"ph":"X","name":"F0","cat":"F","pid":0,"tid":0,"ts":1.5,"dur":2,"args":{"microbatch":0}}]})"};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data, size);
  const auto file = folder.write("file", std::string(text.substr(1)));
  fuzz::accepts([&] { fuzz::read(text.front(), file); });
  return 0;
}
