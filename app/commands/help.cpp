#include "app/commands/help.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "io/deck/deck_suggest.hpp"
#include "kernels/error.hpp"
#include "parallel/policies/schedule_policy.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

struct Entry {
  std::string_view name, usage, text;
};

constexpr std::array<Entry, 17> kCommands = {{
    {"plan", "tenax plan DECK [section.key=value ...] [--json]",
     "Says what a run would be, without training: parameters, memory per rank, bytes sent per kind of\n"
     "link and step, pipeline schedule, predicted iteration time, bubble rate, delay tolerance of each "
     "link,\nwhat can be done in this layout against what becomes slow ([mitigate]).\n"
     "With device.kind=cuda where there is no GPU, memory is that of ranks on H200s, times are this "
     "CPU's.\n"},
    {"ports", "tenax ports [section.key=value ...] [--json]",
     "Lists this host's RDMA ports: state, link layer, MTU, speed, NUMA node, the address that would be "
     "used,\n"
     "whether the port is usable or why not; then how much memory may be locked. Keys of [verbs] and "
     "[comm] count\n"
     "as in a deck. Starts no MPI. Status 0 where a port is usable, else 1.\n"},
    {"schedule",
     "tenax schedule INSTANCE.json --policy {policies} --out FILE.json [--svg FILE]\n"
     "               [--budget-ms 100 | --budget-evaluations N] [--seed S] [--json]\n"
     "       tenax schedule INSTANCE.json --evaluate FILE.json [--send-queue Q] [--svg FILE] [--json]",
     "Plans the order of a pipeline's passes, or says how long a given order takes. The first three\n"
     "policies are planned for links without delay, adaptive for the instance's: within the budget, and for\n"
     "a seed and a budget in evaluations always the same. --svg draws the result. --send-queue Q: messages\n"
     "pass through one in-order queue of Q places a stage, one at a time; a full queue blocks the stage.\n"
     "INSTANCE.json: {\"stages\": S, \"microbatches\": N, \"forward\": [S times in ms],\n"
     "\"backward_input\": [S], \"backward_weight\": [S], \"link_delay\": [S - 1],\n"
     "\"activation_limit\": null or [S], \"weight_share\": 0}\n"},
    {"tokenize",
     "tenax tokenize TEXT... --out FILE.h5|FILE.bin [--tokenizer bytes|gpt2 --vocab DIR] [--threads N]\n"
     "               [--shard-tokens N]\n"
     "       tenax tokenize --decode FILE --out TEXT [--tokenizer bytes|gpt2 --vocab DIR]",
     "Makes a token file of texts, by all cores (or --threads N). A TEXT with * ? [ ] { } in quotes stands\n"
     "for the files that match. DIR holds GPT-2's encoder.json and vocab.bpe. Each file is a document; with "
     "gpt2,\n"
     "<|endoftext|> is put between files, and where it stands in a text it is that token and ends a "
     "document.\n"
     ".h5 holds tokens, documents and vocabulary, .bin raw little-endian uint16. --shard-tokens N makes\n"
     "FILE-00000.h5, FILE-00001.h5, ... of at most N tokens each; a document is cut only if it alone has\n"
     "more, and is held in memory while it is made (4 bytes a token). --decode gives the texts back,\n"
     "byte for byte, as one, with <|endoftext|> between those of gpt2; only a .bin needs to be told the\n"
     "tokenizer then. A TEXT may be a pipe, as of <(zcat FILE): it is read until its writer closes it.\n"},
    {"generate",
     "tenax generate CKPT.h5|RUNDIR [--prompt TEXT | --prompt-file FILE] [--tokens N] [--temperature T] "
     "[--top-k K]\n"
     "               [--top-p P] [--samples M] [--seed S] [--tokenizer bytes|gpt2] [--vocab DIR]\n"
     "               [--device auto|cpu|cuda] [--dtype fp32|bf16] [--threads N]",
     "Continues the prompt by N (200) tokens and shows them as they come, tokens/s at the end. T = 0\n"
     "always takes the likeliest token; K > 0 keeps the K likeliest, P < 1 the likeliest that sum to P.\n"
     "FILE may be - for standard input. Of a run directory the newest complete checkpoint is taken. A sample "
     "ends at <|endoftext|>; a line --- stands between samples.\n"
     "Without a prompt it is <|endoftext|>, or a line end where tokens are bytes. The tokenizer is the one\n"
     "that the checkpoint names; that of an imported model has to be said. DIR holds GPT-2's encoder.json\n"
     "and vocab.bpe. Bytes that are no UTF-8 are shown as U+FFFD.\n"
     "The model sees its last seq_length tokens: up to there a token costs one row of work, beyond\n"
     "a window. It computes on a GPU where there is one (auto), in the type that the run computed in, else\n"
     "in fp32 on all cores that the process may use (or N). bf16 halves the memory that each token reads.\n"},
    {"evaluate",
     "tenax evaluate CKPT.h5|RUNDIR --data FILE [--batch N] [--tokenizer bytes|gpt2] [--vocab DIR] [--json]\n"
     "               [--device auto|cpu|cuda] [--dtype fp32|bf16] [--threads N]",
     "Scores every token of a .txt, .bin or .h5 but the first, once: mean loss in nats, perplexity, bits\n"
     "per byte of text, tokens/s. Windows are training's sequential ones of seq_length tokens, N at a time\n"
     "(as many as make 1024 tokens; 8192 on a GPU), and a shorter one for the rest; a token sees what is\n"
     "before it in its window. Device, type and threads are chosen as by generate. With the device, type\n"
     "and micro_batch_size (N) of a run, losses are those of its evaluation, by any number of threads.\n"
     "Bits per byte of a .bin need its tokenizer.\n"},
    {"import", "tenax import FILE.safetensors|DIR --out CKPT.h5 [--num-attention-heads N]",
     "Makes a checkpoint of a Hugging Face GPT-2: of its folder, of model.safetensors, or of the index of\n"
     "several (model.safetensors.index.json). The number of heads comes from config.json beside the file,\n"
     "else from the option.\n"},
    {"export",
     "tenax export CKPT.h5|RUNDIR --out FILE.safetensors [--dtype F32|F16|BF16] [--vocab DIR]\n"
     "               [--shard-size BYTES]",
     "Writes a checkpoint's weights under Hugging Face's names, and config.json beside them. Where the\n"
     "vocabulary is known, by the run's deck or by DIR with GPT-2's encoder.json and vocab.bpe, vocab.json,\n"
     "merges.txt, tokenizer_config.json and generation_config.json too: AutoTokenizer and pipeline() take "
     "the\n"
     "folder. Models of more than BYTES become FILE-00001-of-0000N.safetensors and an index. Texts of "
     "another\n"
     "model in the folder are not overwritten.\n"},
    {"inspect",
     "tenax inspect CKPT.h5 | RUNDIR | TOKENS.h5 | TOKENS.bin\n"
     "       tenax inspect CKPT.h5 --where NAME[I:J]",
     "Verifies a checkpoint's checksums and lists its step, model, tensors, and outliers: stretches of\n"
     "numbers that are beyond 1,000 times their tensor's median size (squares: their roots), as a machine\n"
     "leaves them that computes wrongly. Says how a run ended, who its replicas are, what became of them "
     "and\n"
     "where their time went; or verifies a token file's checksum and lists its tokenizer, tokens, documents\n"
     "and texts. --where says which ranks of the run that wrote the checkpoint held elements I to J - 1 of "
     "a\n"
     "tensor, flat as stored: stage, rank, host, if it says so (older ones do not).\n"},
    {"report", "tenax report RUNDIR ... [--out FILE.html]",
     "Draws runs as one page that opens from disk, RUNDIR/report.html by default (of the first of them):\n"
     "loss, learning rate, gradient norm, tokens/s, model FLOP/s, step times, events, the pipeline of the\n"
     "last profiled step beside the planned one, and the deck. Of a run of replicas, how many contribute, "
     "and\n"
     "where some were lost and joined. Several runs are drawn over each other.\n"},
    {"detect",
     "tenax detect FILE|RUNDIR ... [--min-change 0.10] [--hazard 250] [--warmup 5]\n"
     "               [--method bocd|window|raw]",
     "Tells where the iteration time has changed, one JSON object a line: file, iteration (the first of "
     "the\n"
     "new level), detected_at, event (onset: slower; relief: faster), ratio, probability, before_s, "
     "after_s.\n"
     "FILE: CSV with the columns iteration and seconds (and masked, 0 or 1), a metrics.jsonl, or the calls\n"
     "that libtenax_monitor.so has logged. Changes below --min-change are not told, nor what the first "
     "--warmup\n"
     "iterations take; --hazard is how many iterations are expected from one change to the next. window and\n"
     "raw are simpler methods, to compare with. No change: nothing is printed, and the status is 0. A file\n"
     "with a wrong line is left out, and the status is 1.\n"},
    {"launch", "tenax launch DECK [section.key=value ...]",
     "Trains parallel.replicas copies of the model, one MPI job each, and keeps them alive: one that dies "
     "is\n"
     "started again while the others train on. They agree on every step, and no sample is lost or trained\n"
     "twice (tenax audit). SIGUSR1, SIGTERM or Ctrl-C: all stop at one step with one checkpoint, status 0; "
     "a\n"
     "second Ctrl-C ends them at once. Called again on a run whose supervisor was killed, it takes the "
     "living\n"
     "replicas over.\n"},
    {"audit", "tenax audit RUNDIR [--json]",
     "Proves from the ledger of a run of replicas, its checkpoints and metrics.jsonl that no step is "
     "missing\n"
     "or done twice and that each sample was trained once, in order; else says the first contradiction,\n"
     "and exits with 1. --json: ok, steps and samples (those that count), voids, epochs, replicas_lost,\n"
     "contradiction.\n"},
    {"blame", "tenax blame RUNDIR|DUMP.json [--json]",
     "Names the ranks that are to blame that a run stood still, most likely first, at most three: of the "
     "last hang\n"
     "of a run, or of one that is given (replica-K/hang-N.json), which says what each rank did and waited "
     "for.\n"
     "--json: culprits = [{replica, rank, host, operation}], operation (what the others wait for),\n"
     "waiting_ranks, seconds.\n"},
    {"simulate",
     "tenax simulate DECK [--replicas R] [--ranks N] [--failure-minutes F] [--repair-minutes M] [--spares "
     "K]\n"
     "               [--hours H] [--seeds S] [--costs RUNDIR] [--svg FILE] [--json]",
     "Plays the deck's run with R replicas of N ranks in virtual time, with the membership service, members\n"
     "and restarts of tenax launch: hosts fail at random, one in F minutes, and are back after M; K "
     "replicas\n"
     "wait as warm spares. Says which share of the time was useful and to what the rest was lost, in the\n"
     "median and the worst of S seeds; what one synchronous job would make of the same hosts; and what one\n"
     "more replica, one more spare, half the repair time or fail-slows (Greyhound, ATC 2025) would change.\n"
     "What is left out the deck says; F and M are FT-HSDP's, for N ranks: 18 minutes at 98304, 10. Losses,\n"
     "joins and steps take what FT-HSDP tells, or what the run in RUNDIR has recorded (--costs). --svg "
     "draws\n"
     "it. --json: effective_percent, lost_seconds, worst_..., synchronous, variants.\n"},
    {"replay",
     "tenax replay CKPT.h5|RUNDIR --steps N [--on HOST[:SLOTS],...] [--json] [section.key=value ...]",
     "Does the N steps that follow a checkpoint twice, with deterministic kernels and in the layout of the "
     "run "
     "that\n"
     "wrote it, and compares every tensor of every rank (weights, moments, gradients) before and after each "
     "update,\n"
     "to find a machine that computes wrongly now and then. Status 0: all equal. Status 1: not, and the "
     "first "
     "that\n"
     "differs is named: step, tensor, layer, stage, rank, host. Without --on both runs are on this machine, "
     "or "
     "in the\n"
     "allocation; with one host both are there, with two one on each (of more, half of them each), which are "
     "reached\n"
     "as those of tenax launch are (replicas.remote_shell) and must share the checkpoint's folder. Of two "
     "hosts "
     "that\n"
     "differ a third one tells which is wrong. Keys are those of the checkpoint's deck. The run's own files "
     "are not\n"
     "touched. Relative files that keys name are in the working directory. --json: equal, first_step, "
     "steps,\n"
     "ranks, hosts; where not equal step, tensor, part, layer, stage, rank, host (of the second run),\n"
     "first_host, is_updated, differing_tensors, differing_ranks.\n"},
    {"trace", "tenax trace RUNDIR --csv",
     "Prints the last profiled step, one row an op: step,stage,dp_rank,tp_rank,optype,microbatch,start_us,\n"
     "duration_us. optype: forward-compute, backward-compute (B, BW), backward-weight-compute (W),\n"
     "forward-send, forward-recv, backward-send, backward-recv. RUNDIR/trace.json opens in Perfetto.\n"},
}};

const std::vector<std::string> kOptions = {"--help", "--deck-help", "--version", "--completion"};

/// That of `names` which was probably meant; empty if none is near.
std::string meant_by(const std::string& word, const std::vector<std::string>& names) {
  const std::string nearest = io::nearest_name(word, names);
  const int far = std::max(2, static_cast<int>(word.size()) / 2);
  return nearest.empty() || io::distance_from_meant(word, nearest) > far ? std::string() : nearest;
}

/// A usage line with the names that --policy knows.
std::string with_policies(std::string usage) {
  constexpr std::string_view kPlaceholder = "{policies}";
  const std::size_t at = usage.find(kPlaceholder);
  if (at == std::string::npos) return usage;
  std::string names;
  for (const parallel::SchedulePolicy& policy : parallel::schedule_policies())
    names += (names.empty() ? "" : "|") + policy.name;
  return usage.replace(at, kPlaceholder.size(), names);
}

}  // namespace

std::span<const CommandHelp> command_helps() {
  static const std::vector<CommandHelp> helps = [] {
    std::vector<CommandHelp> all;
    for (const Entry& entry : kCommands)
      all.push_back({entry.name, with_policies(std::string(entry.usage)), entry.text});
    return all;
  }();
  return helps;
}

std::string general_help() {
  std::string text =
      "usage: mpirun -n N tenax DECK [section.key=value ...]\n"
      "       trains the GPT of a TOML deck on N = tensor x pipeline x data ranks; bash app/run.sh DECK "
      "works N out\n\n";
  for (const CommandHelp& command : command_helps()) text += "       " + command.usage + "\n";
  text +=
      "       tenax --help | CMD --help | help CMD | --deck-help | --version | --completion bash|zsh\n\n"
      "SIGUSR1 (mpirun forwards it) or SIGTERM to the ranks: checkpoint at the next step, then exit 0.\n"
      "Exit status: 0 done or stopped on request; 3 stopped to be started again elsewhere\n"
      "(mitigate.restart); 2 wrong deck or command line; 1 anything else.\n";
  return text;
}

std::string command_help(const std::string& command) {
  const std::span<const CommandHelp> helps = command_helps();
  const auto entry =
      std::find_if(helps.begin(), helps.end(), [&](const auto& c) { return c.name == command; });
  if (entry == helps.end()) return {};
  return "usage: " + entry->usage + "\n\n" + std::string(entry->text);
}

bool may_be_deck(const std::string& first_argument) {
  return !first_argument.starts_with("-") && first_argument != "help" && command_help(first_argument).empty();
}

void check_is_deck(const std::string& first_argument) {
  if (first_argument.starts_with("-"))
    throw Error(Scope::usage, "unknown option " + first_argument +
                                  io::did_you_mean(meant_by(first_argument, kOptions)) +
                                  " (see tenax --help)");
  std::error_code none;
  const bool is_word = first_argument.find_first_of("./") == std::string::npos;
  if (is_word && !std::filesystem::exists(first_argument, none)) fail_unknown_command(first_argument);
}

void fail_unknown_command(const std::string& word) {
  std::vector<std::string> names = {"train", "help"};
  for (const Entry& command : kCommands) names.emplace_back(command.name);
  const std::string meant = meant_by(word, names);
  throw Error(Scope::usage,
              "unknown command '" + word + "'" +
                  (meant == "train" ? "; to train, leave it out: tenax DECK" : io::did_you_mean(meant)) +
                  " (see tenax --help)");
}

}  // namespace tenax::app
