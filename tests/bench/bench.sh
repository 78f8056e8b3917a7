# Functions shared by the scripts of this folder. To be sourced.

bench_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$bench_folder/../../app/setup.sh"
source "$bench_folder/goals.sh"
bench_work=$tenax_build/bench

# take_options "NAME …" "WORD …" ARGUMENT …: `--NAME VALUE` sets the variable of that name, --check sets check, and each WORD joins parts.
take_options() {
  local names=" $1 " words=" $2 "
  shift 2
  while [ $# -gt 0 ]; do
    if [ "$1" = --check ]; then
      check=1
    elif [[ $1 == --* && $names == *" ${1#--} "* && $# -gt 1 ]]; then
      printf -v "${1#--}" %s "$2"
      shift
    elif [[ -n $1 && $words == *" $1 "* ]]; then
      parts+=("$1")
    else
      die "unknown option $1, or no value for it (the head of $0 lists them)"
    fi
    shift
  done
}

# prepare_bench [-Dname=value …]: builds build/tenax and writes the random tokens that the decks of this folder read. Where
# shared/tools/bundle.sh's folder brings what Debian's packages would (its env.sh sets BUNDLE), none is installed.
prepare_bench() {
  if [ -n "${BUNDLE:-}" ]; then
    check_site_tools "the packages are those of $BUNDLE"
  else
    ensure_packages "${run_packages[@]}"
  fi
  configure "$@"
  build_target tenax
  make_random_tokens
}
make_random_tokens() {
  mkdir -p "$bench_work"
  local vocab
  for vocab in 256 8192 50257 50304; do
    [ -e "$bench_work/random-$vocab.bin" ] || python3 -c 'import array, random, sys
random.seed(int(sys.argv[1]))
array.array("H", (random.randrange(int(sys.argv[1])) for _ in range(1000000))).tofile(open(sys.argv[2], "wb"))' \
      $vocab "$bench_work/random-$vocab.bin"
  done
}

# tinyshakespeare: the checkout's neighbour, or carried in the repository's root.
shakespeare() {
  local file
  for file in "$tenax_root"/{../shared/data,shared/data,.data}/tinyshakespeare.txt; do
    [ -e "$file" ] && { echo "$file"; return; }
  done
  die "tinyshakespeare.txt is not there: carry it as .data/tinyshakespeare.txt"
}

median() { sort -g | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'; }

# Per cent of all cores that are busy right now.
busy_percent() {
  local before after
  read -ra before < <(grep '^cpu ' /proc/stat); sleep 1; read -ra after < <(grep '^cpu ' /proc/stat)
  local total=0 i
  for i in 1 2 3 4 5 6 7 8; do total=$((total + after[i] - before[i])); done
  echo $((100 - 100 * (after[4] + after[5] - before[4] - before[5]) / (total > 0 ? total : 1)))
}

warn_if_busy() {
  local busy
  busy=$(busy_percent)
  [ "$busy" -lt 5 ] || say "warning: the machine is not idle ($busy % busy); figures will be low and uneven"
}

# keep_awake: until this script ends, loops at idle priority keep virtual processors from halting, as idle=poll does. A host
# takes its time to end a halt: 16 ranks that sleep and wake lost a third of two processors' time so.
keep_awake() {
  grep -qm 1 '^flags.* hypervisor' /proc/cpuinfo || return 0
  local core
  for core in $(python3 -c 'import os; print(*os.sched_getaffinity(0))'); do
    taskset -c "$core" chrt --idle 0 bash -c "while kill -0 $$; do for ((i = 0; i < 100000; ++i)); do :; done; done" >/dev/null 2>&1 &
  done
  say "processors are kept from halting by loops at idle priority"
}

descendants() {
  local child
  echo "$1"
  for child in $(pgrep -P "$1"); do descendants "$child"; done
}

# pss_peak_mib PID: until that process ends, samples the proportional set size (a page shared by n processes counts
# 1/n in each) of it and all its descendants, and prints the largest sum in MiB.
pss_peak_mib() {
  local peak=0 sum pid
  while kill -0 "$1" 2>/dev/null; do
    sum=$(for pid in $(descendants "$1"); do cat "/proc/$pid/smaps_rollup"; done 2>/dev/null |
      awk '/^Pss:/ { sum += $2 } END { print int(sum / 1024) }')
    [ "$sum" -le "$peak" ] || peak=$sum
    sleep 0.3
  done
  echo "$peak"
}

# tenax_command RANKS DECK [section.key=value ...]: the words of one run in build/bench/run.
tenax_command() {
  local ranks=$1 deck=$2
  shift 2
  echo "mpirun -n $ranks $tenax_build/tenax $bench_folder/$deck.toml run.output_dir=$bench_work/run run.resume=never $*"
}

# tenax_rate RANKS DECK [section.key=value ...]: the median tokens/s over the last two thirds of its steps.
# `prefix` (words) goes before mpirun; build/bench/run.log holds what the run printed.
prefix=
tenax_rate() {
  rm -rf "$bench_work/run"
  $prefix $(tenax_command "$@") >"$bench_work/run.log" 2>&1 ||
    { cat "$bench_work/run.log" >&2; die "tenax failed: $*"; }
  sed -n 's/.*"tokens_per_second": *\([0-9.e+]*\).*/\1/p' "$bench_work/run/metrics.jsonl" >"$bench_work/rates"
  tail -n +$(($(wc -l <"$bench_work/rates") / 3 + 1)) "$bench_work/rates" | median
}

# stub_shell: a remote shell in `shell`, to hosts that are all this one.
stub_shell() {
  shell=$bench_work/here
  printf '#!/bin/sh\nshift\nexec sh -c "$1"\n' >"$shell"
  chmod +x "$shell"
}

# ends NAME COMMAND…: runs it on a fresh run directory.
ends() {
  local name=$1
  shift
  rm -rf "$bench_work/$name"
  "$@" run.output_dir="$bench_work/$name" >"$bench_work/$name.log" 2>&1 </dev/null ||
    { cat "$bench_work/$name.log" >&2; die "$name failed"; }
}
read -r core_0 core_1 < <(python3 -c 'import os; cores = sorted(os.sched_getaffinity(0)); print(cores[0], cores[-1])')
# pinned NAME override…: two ranks of tiny.toml on the CPU, one a core.
pinned() {
  local name=$1 program=("$tenax_build/tenax" "$bench_folder/tiny.toml" run.output_dir="$bench_work/$1" "${@:2}")
  ends "$name" mpirun -n 1 taskset -c "$core_0" "${program[@]}" : -n 1 taskset -c "$core_1" "${program[@]}"
}

# Bursts of two compilers and pauses, of 1 to 4 s each.
compiles() {
  local source=$bench_work/neighbour.cpp end
  printf '#include <%s>\n' algorithm filesystem functional regex >"$source"
  echo 'bool f(const char* s) { return std::regex_match(s, std::regex("a+")); }' >>"$source"
  while true; do
    end=$((SECONDS + 1 + RANDOM % 4))
    while [ $SECONDS -lt $end ]; do
      c++ -std=c++20 -O2 -c "$source" -o /dev/null &
      c++ -std=c++20 -O2 -c "$source" -o /dev/null
      wait $!
    done
    sleep $((1 + RANDOM % 4))
  done
}
