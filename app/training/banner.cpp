#include "app/training/banner.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "app/console.hpp"
#include "app/inference/generator.hpp"
#include "app/options.hpp"
#include "app/training/start_elsewhere.hpp"
#include "app/units.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

namespace {

constexpr std::size_t kColumns = 80;
const std::string kIndent(9, ' ');

/// `line` in lines of at most kColumns, where blanks allow, broken after commas rather than elsewhere.
std::string folded(std::string line) {
  std::string lines;
  while (line.size() > kColumns) {
    std::size_t end = line.rfind(", ", kColumns - 1);
    end = end == std::string::npos || end < kIndent.size() ? line.rfind(' ', kColumns) : end + 1;
    if (end == std::string::npos || end <= kIndent.size()) end = line.find(' ', kColumns);
    if (end == std::string::npos) break;
    lines += line.substr(0, end) + "\n";
    line = kIndent + line.substr(end + 1);
  }
  return lines + line;
}

std::string grid_text(const parallel::GridShape& grid) {
  return format("tensor %d x pipeline %d x data %d", grid.tensor, grid.pipeline, grid.data);
}

std::string step_text(const io::Deck& deck) {
  return format("%lld sequences of %lld tokens a step", static_cast<long long>(deck.batch.global_batch_size),
                static_cast<long long>(deck.model.seq_length));
}

// While all replicas are there.
std::string replica_lines(const parallel::Layout& layout, const io::Deck& deck) {
  const std::int64_t unit = deck.batch.micro_batch_size * layout.grid.data, replicas = deck.parallel.replicas;
  const std::int64_t units = deck.batch.global_batch_size / unit, least = units / replicas * unit;
  std::string share = format("%lld", static_cast<long long>(least));
  if (units % replicas != 0) share = format("%lld or ", static_cast<long long>(least + unit)) + share;
  const int ranks = layout.grid.ranks();
  return format("replicas %lld, of %d rank%s each; of ", static_cast<long long>(replicas), ranks,
                ranks == 1 ? "" : "s") +
         step_text(deck) + " each computes " + share + "; gradients travel in " +
         deck.replicas.wire_dtype.word() + "\nlayout   " + grid_text(layout.grid) +
         format(" in a replica, microbatches of %lld", static_cast<long long>(deck.batch.micro_batch_size));
}

std::string layout_line(const parallel::Layout& layout, const io::Deck& deck) {
  if (deck.parallel.replicas > 1) return replica_lines(layout, deck);
  const int ranks = layout.grid.ranks();
  return format("layout   %d rank%s = ", ranks, ranks == 1 ? "" : "s") + grid_text(layout.grid) + ", " +
         step_text(deck) +
         format(" in %d microbatch%s of %lld", layout.schedule.microbatches(),
                layout.schedule.microbatches() == 1 ? "" : "es",
                static_cast<long long>(deck.batch.micro_batch_size));
}

std::string pipeline_line(const parallel::Layout& layout, const io::Deck& deck) {
  std::string blocks;
  for (const model::StageSpan& span : layout.spans)
    blocks += (blocks.empty() ? "" : "+") + std::to_string(span.end_layer - span.first_layer);
  const parallel::Timeline timeline =
      parallel::simulate(layout.schedule, layout.costs, healthy_transfers(deck, layout));
  const double bubble = *std::max_element(timeline.bubble_rate.begin(), timeline.bubble_rate.end());
  return format("pipeline %s, blocks %s, predicted bubble %.1f%%", deck.pipeline.schedule.word().c_str(),
                blocks.c_str(), 100 * bubble);
}

std::string emulated_lines(const io::Deck& deck, const parallel::Layout& layout,
                           const kernels::Device& device) {
  const parallel::Timeline timeline =
      parallel::simulate(layout.schedule, layout.costs, healthy_transfers(deck, layout));
  std::string text = layout_line(layout, deck) + "\n";
  if (layout.grid.pipeline > 1) text += pipeline_line(layout, deck) + "\n";
  text += format("predicted %.4g ms an iteration where no link is slow\n", 1e3 * timeline.makespan_s);
  return text + format("device   %s: passes take their time and compute nothing", device.name().c_str());
}

}  // namespace

std::string folded_lines(const std::string& text) {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) all += (all.empty() ? "" : "\n") + folded(line);
  return all;
}

std::string banner(const io::Deck& deck, const parallel::Layout& layout, const kernels::Device& device,
                   double machine_flop_per_second, std::size_t spare) {
  const model::GptConfig& c = layout.config;
  const auto largest = std::max_element(layout.memory_of_stage.begin(), layout.memory_of_stage.end(),
                                        [](const auto& a, const auto& b) { return a.total() < b.total(); });
  std::string text = format("tenax    %s\n", deck.run.name.c_str());
  if (!layout.has_data) return folded_lines(text + emulated_lines(deck, layout, device));
  text += format(
      "model    GPT-2, %lld layers, %lld heads, width %lld, T %lld, vocabulary %lld: %s parameters, %s\n",
      static_cast<long long>(c.num_layers), static_cast<long long>(c.num_attention_heads),
      static_cast<long long>(c.hidden_size), static_cast<long long>(c.seq_length),
      static_cast<long long>(c.vocab_size), count_text(static_cast<double>(c.parameters())).c_str(),
      deck.model.compute_dtype.word().c_str());
  text += layout_line(layout, deck) + "\n";
  if (layout.grid.pipeline > 1) text += pipeline_line(layout, deck) + "\n";
  text +=
      format("memory   up to %s a rank: weights %s, gradients %s, optimizer %s, activations %s, scratch %s",
             bytes_text(static_cast<double>(largest->total() + spare)).c_str(),
             bytes_text(static_cast<double>(largest->state.weights)).c_str(),
             bytes_text(static_cast<double>(largest->state.gradients)).c_str(),
             bytes_text(static_cast<double>(largest->state.optimizer)).c_str(),
             bytes_text(static_cast<double>(largest->activations)).c_str(),
             bytes_text(static_cast<double>(largest->scratch)).c_str());
  if (largest->workspace > 0) text += ", workspace " + bytes_text(static_cast<double>(largest->workspace));
  if (largest->probe > 0) text += ", probe " + bytes_text(static_cast<double>(largest->probe));
  if (spare > 0) text += ", kept for a change of places " + bytes_text(static_cast<double>(spare));
  text += "\n";
  if (largest->host_state > 0)
    text += format("         and %s of host memory that checkpoints are written from%s\n",
                   bytes_text(static_cast<double>(largest->host_state)).c_str(),
                   layout.offloads_optimizer ? " and the optimizer's state is kept in" : "");
  if (largest->host_activations > 0)
    text += format("         and up to %s of host memory for activations that the device has no room for\n",
                   bytes_text(static_cast<double>(largest->host_activations)).c_str());
  const std::string threads =
      device.threads() > 1 ? format(", %d threads a rank", device.threads()) : std::string();
  text += format("device   %s%s\n         matrix products measured at %s over all ranks",
                 device.name().c_str(), threads.c_str(), rate_text(machine_flop_per_second).c_str());
  return folded_lines(text);
}

namespace {

bool saves(const io::Deck& deck) {
  return deck.checkpoint.interval >= 0 && deck.device.kind != io::DeviceKind::emulated;
}

const char* words_of_end(const std::string& reason) {
  if (reason == kRestart) return "to be started again without the hosts in exclude_hosts.txt";
  return reason == "signal" ? "a signal" : "run.max_minutes";
}

}  // namespace

// Whether another run.name makes another directory, the resolved deck does not tell.
std::string finished_line(const io::Deck& deck, std::int64_t steps_done) {
  const bool is_beside = std::filesystem::path(deck.checkpoint.dir).parent_path() == deck.run.output_dir;
  return format(
      "the run in %s is finished (%lld steps done); to go on, give it more run.train_steps; to begin "
      "another, "
      "give it another run.output_dir%s, or run.resume=never",
      deck.run.output_dir.c_str(), static_cast<long long>(steps_done),
      is_beside ? "" : " and checkpoint.dir");
}

std::string closing_line(const io::Deck& deck, std::int64_t steps_done, const std::string& reason) {
  const auto steps = static_cast<long long>(steps_done);
  const auto checkpoint = resilience::checkpoint_name(deck.checkpoint.dir, steps_done);
  if (reason != "completed" && saves(deck))
    return format("stopped after %lld steps (%s); checkpoint: %s; the same command%s goes on from there",
                  steps, words_of_end(reason), checkpoint.c_str(),
                  deck.run.resumes_newest() ? "" : " with run.resume=auto");
  return format("%s after %lld steps; files are in %s", reason == "completed" ? "finished" : "stopped", steps,
                deck.run.output_dir.c_str());
}

void write_closing_lines(const io::Deck& deck, std::int64_t steps_done, const std::string& reason) {
  Console console(true);
  console.say(closing_line(deck, steps_done, reason));
  if (reason != "completed" || !saves(deck)) return;
  const auto checkpoint = resilience::checkpoint_name(deck.checkpoint.dir, steps_done);
  console.say("checkpoint: " + checkpoint.string());
  if (!writes_text(deck)) return;
  console.say("a sample of what it writes (tenax generate " + checkpoint.string() + " for more):");
  console.say(sample_text(deck, checkpoint));
}

}  // namespace tenax::app
