#!/usr/bin/env bash
# GPT-2's tokenizer: `tenax tokenize` beside tiktoken and Hugging Face's tokenizers, on the same text, in turn.
#
#   bash tests/bench/tokenize.sh --vocab DIR [--text FILE] [--mib 100] [--rounds 3] [--python PYTHON] [--check]
#
# DIR holds encoder.json and vocab.bpe; of FILE at most so many MiB are read, nothing is repeated (default: the English of
# /usr/share/doc, changelogs among it, and of Perl's manuals, each file that has the same bytes as another one once). PYTHON must import tiktoken, tokenizers or both. For one thread and for all: MB of text a second of wall
# clock, and a second of processor time (which a busy machine disturbs less); medians over the rounds. Then the peak memory
# of tenax with the text once and four times.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

vocab="" text="" mib=100 rounds=3 python=python3
take_options "vocab text mib rounds python" "" "$@"
[ -e "$vocab/encoder.json" ] || die "--vocab DIR must name the folder with GPT-2's encoder.json and vocab.bpe"
tenax=${TENAX:-$tenax_build/tenax}
[ -x "$tenax" ] || prepare_bench
mkdir -p "$bench_work"
corpus=$bench_work/corpus.txt

english() {
  if [ -n "$text" ]; then cat "$text"; return; fi
  find /usr/share/doc /usr/share/perl* /usr/share/common-licenses /usr/lib/python3 -type f -size +1k \
    \( -name copyright -o -name '*.txt' -o -name '*.pod' -o -name 'GPL*' -o -name '*.gz' \) -print0 | sort -z |
    xargs -0 md5sum | awk '!seen[$1]++ { print substr($0, 35) }' | xargs -d '\n' zcat -f 2>/dev/null
}
english | LC_ALL=C tr -d '\200-\377' | head -c "${mib}M" >"$corpus"
mib=$(awk "BEGIN { printf \"%.1f\", $(stat -c %s "$corpus") / 1048576 }")
echo "$mib MiB of text"

# measure NAME COMMAND…: "NAME wall cpu" in MB/s to the list of results
measure() {
  local name=$1 seconds
  shift
  TIMEFORMAT='%R %U %S'
  seconds=$( { time "$@" >/dev/null 2>&1; } 2>&1) || return
  echo "$name $(echo "$seconds" | awk -v mb="$mib" '{ printf "%.2f %.2f", mb * 1.048576 / $1, mb * 1.048576 / ($2 + $3) }')"
}

# One process for loading and one for the whole, so that neither the vocabulary nor the interpreter's start count.
others=$bench_work/tokenize_others.py
cat >"$others" <<'EOF'
import os, resource, sys, time
which, threads, vocab, path = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
os.environ["RAYON_NUM_THREADS"], os.environ["TOKENIZERS_PARALLELISM"] = str(threads), "true" if threads > 1 else "false"
with open(path) as file:
    text = file.read()
pieces, at = [], 0
while at < len(text):  # a MiB each, cut at line ends
    end = text.find("\n", at + (1 << 20)) + 1 or len(text)
    pieces.append(text[at:end])
    at = end
if which == "tiktoken":
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    ranks = data_gym_to_mergeable_bpe_ranks(f"{vocab}/vocab.bpe", f"{vocab}/encoder.json")
    encoding = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    encode = lambda: encoding.encode_ordinary_batch(pieces, num_threads=threads)
else:
    import tokenizers
    tokenizer = tokenizers.ByteLevelBPETokenizer(f"{vocab}/encoder.json", f"{vocab}/vocab.bpe")
    group = 4 * threads  # its results are large: a few pieces at a time
    encode = lambda: [len(tokenizer.encode_batch(pieces[at:at + group])) for at in range(0, len(pieces), group)]
processor = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
begin, begin_processor = time.perf_counter(), processor()
encode()
megabytes = len(text) / 1e6
print(f"{which}-{threads} {megabytes / (time.perf_counter() - begin):.2f} {megabytes / (processor() - begin_processor):.2f}")
EOF

warn_if_busy
all=$(nproc)
for round in $(seq "$rounds"); do
  for threads in $(printf '%s\n' 1 "$all" | sort -un); do
    measure "tenax-$threads" "$tenax" tokenize "$corpus" --out "$bench_work/corpus.h5" --tokenizer gpt2 --vocab "$vocab" --threads "$threads"
    for other in tiktoken tokenizers; do
      "$python" -c "import $other" 2>/dev/null && "$python" "$others" "$other" "$threads" "$vocab" "$corpus"
    done
  done
done | tee "$bench_work/tokenize.results"
echo
printf '%-16s %12s %22s\n' "" "MB/s" "MB/s of processor time"
cut -d' ' -f1 "$bench_work/tokenize.results" | sort -u | while read -r name; do
  printf '%-16s %12.1f %22.1f\n' "$name" $(for field in 2 3; do
    grep "^$name " "$bench_work/tokenize.results" | cut -d' ' -f$field | median; done)
done
meets tokenize.megabytes_per_s "$(grep '^tenax-1 ' "$bench_work/tokenize.results" | cut -d' ' -f2 | median)"
for copies in 1 4; do
  texts=$(yes "$corpus" | head -n $copies)
  "$tenax" tokenize $texts --out "$bench_work/corpus.h5" --tokenizer gpt2 --vocab "$vocab" >/dev/null &
  echo "peak memory with $copies times that text: $(pss_peak_mib $!) MiB"
  wait
done
end_with_goals
