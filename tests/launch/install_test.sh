#!/usr/bin/env bash
# `cmake --install` and the Debian package: what they bring works from any folder. BUILD is the build folder.
set -eu
fail() { echo "FAILED: $*"; exit 1; }
work=$PWD

# completes PREFIX: bash's completion is where bash looks for it, and offers commands, options, their values and a deck's keys.
completes() {
  local script=$1/share/bash-completion/completions/tenax
  offers() {
    local expected=$1
    shift
    bash -c 'compopt() { :; }; . "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenax; echo "${COMPREPLY[*]}"' \
      - "$script" "$@" | grep -qw -e "$expected" || fail "no completion $expected of: $*"
  }
  offers evaluate tenax eval
  offers --tokenizer tenax tokenize --tok
  offers gpt2 tenax tokenize --tokenizer g
  offers zero_bubble tenax schedule --policy z
  offers run.train_steps= tenax my.toml run.tr
  offers bf16 tenax my.toml model.compute_dtype = b
  [ -s "$1/share/zsh/site-functions/_tenax" ] || fail "no completion for zsh"
  ! command -v zsh >/dev/null || zsh -n "$1/share/zsh/site-functions/_tenax" || fail "zsh does not read its completion"
}

# starts CALL PREFIX SCRIPT override…: the words (a pattern) that an installed batch script trains the quickstart by; stand-ins show them.
starts() {
  local expected=$1 decks=$2/share/tenax/inputs script=$3 called
  mkdir -p bin
  printf '#!/bin/sh\n[ "$1" != plan ] || exec "%s" "$@"\necho "tenax $*"\n' "$2/bin/tenax" >bin/tenax
  printf '#!/bin/sh\necho "srun $*"\n' >bin/srun
  chmod +x bin/tenax bin/srun
  called=$(PATH=$PWD/bin:$PATH bash "$decks/slurm/$script" "$decks/quickstart.toml" "${@:4}" 2>err) || true
  [[ $called == $expected ]] || fail "$script ${*:4} says '$called', not '$expected': $(cat err)"
}

# submits PREFIX: installed batch scripts start replicas by tenax launch, and ranks as many as there are.
submits() {
  local script
  for script in one-node.sh several-nodes.sh requeue.sh replicas.sh; do
    starts "srun --mpi=pmix -n 4 --cpus-per-task=3 tenax *quickstart.toml device.threads=3" "$1" $script device.threads=3
    starts "tenax launch *quickstart.toml parallel.replicas=2" "$1" $script parallel.replicas=2
    starts '' "$1" $script no.such=key
    [ "$(grep -c . err)" = 1 ] || fail "$script: not one line on a wrong deck: $(cat err)"
  done
}

# says PREFIX DECK: the commands in the head of an installed deck.
says() { sed -n 's/^#   //p' "$1/share/tenax/inputs/$2" | sed "s|PREFIX|'$1'|"; }

# follows PREFIX: who does what the heads of decks say trains, and writes nothing to PREFIX.
follows() {
  local tiny=tinyshakespeare.toml before
  before=$(find "$1" | sort)
  PATH=$1/bin:$PATH timeout 200 bash -euc "$(says "$1" quickstart.toml) run.train_steps=2 run.eval_interval=0 optimizer.lr_warmup_steps=0" \
    >out 2>err </dev/null || fail "the installed quickstart: $(cat err)"
  [ "$(grep -c '"loss"' inputs/runs/quickstart/metrics.jsonl)" = 2 ] || fail "the installed quickstart does not train"
  seq 1000 >input.txt
  bash -euc "$(says "$1" $tiny | sed 's|input\.txt|../&|; /^mpirun /d')" >out 2>err || fail "the installed $tiny: $(cat err)"
  [ -s inputs/data/tinyshakespeare/train.txt ] || fail "no data for the installed $tiny"
  [ "$(find "$1" | sort)" = "$before" ] || fail "who runs installed decks writes to $1"
}

# check PREFIX: the program trains the installed quickstart deck, and its manual page is complete.
check() {
  local tenax=$1/bin/tenax decks=$1/share/tenax/inputs page=$1/share/man/man1/tenax.1 command
  "$tenax" --version | grep -q '^tenax [0-9]' || fail "$tenax does not start"
  ! objdump -p "$tenax" | grep -iE 'NEEDED +lib(cu|nccl)[^r]' || fail "$tenax does not start without CUDA's libraries"
  [ -s "$page" ] && [ -s "$1/share/doc/tenax/copyright" ] || fail "no manual page, or no licence"
  for command in plan generate import export inspect; do
    grep -qx "\.SS $command" "$page" || fail "$page does not explain tenax $command"
  done
  for section in NAME SYNOPSIS DESCRIPTION COMMANDS OPTIONS FILES ENVIRONMENT 'EXIT STATUS' SIGNALS EXAMPLES; do
    grep -qx "\.SH $section" "$page" || fail "$page has no section $section"
  done
  ! grep -q '^usage:' "$page" || fail "$page says usage: where a page has its synopsis"
  completes "$1"
  ! command -v man >/dev/null || [ -z "$(man --warnings -l "$page" 2>&1 >/dev/null)" ] || fail "$page is not a manual page"
  for deck in quickstart gpt2-124m tinyshakespeare pipemorph/7b; do
    [ -s "$decks/$deck.toml" ] || fail "no deck $deck"
  done
  [ -z "$(find "$1/share/tenax" ! -perm -o=r -o -type d ! -perm -o=x)" ] || fail "users cannot read all decks in $1"
  ! grep -rlF -e "$TENAX_SOURCE" -e "$BUILD" "$decks" || fail "installed decks name the folder they were built in"
  ! grep -rnE 'app/run\.sh|build/|SLURM_SUBMIT_DIR' "$decks" --include=*.toml --include=*.md --include=*.sh ||
    fail "installed texts speak of what is not installed"
  "$tenax" plan "$decks/pipemorph/7b-trace-a.toml" >/dev/null || fail "an installed deck lacks its files"
  mkdir elsewhere && cd elsewhere
  follows "$1"
  submits "$1"
  cd "$work" && rm -rf elsewhere
}

# Whoever builds, installs and packs keeps files from others: all may read the decks.
chmod -R go= "$BUILD/inputs/installed"
umask 077
cmake --install "$BUILD" --prefix "$work/prefix" >install.log || fail "cmake --install"
check "$work/prefix"
echo "ok cmake --install"

for program in cpack dpkg-shlibdeps dpkg-deb file; do
  command -v $program >/dev/null || { echo "skipped: the package: no $program here"; exit 77; }
done
cpack --config "$BUILD/CPackConfig.cmake" -B "$work/package" >cpack.log 2>&1 || { cat cpack.log; fail "cpack"; }
package=$(ls package/tenax*.deb)
depends=$(dpkg-deb --field "$package" Depends)
for needed in openmpi-bin libopenmpi libhdf5-openmpi libdnnl libssl3 libc6; do
  grep -q "$needed" <<<"$depends" || fail "$package does not depend on $needed: $depends"
done
apt-get install --simulate "./$package" >apt.log 2>&1 || { cat apt.log; fail "apt-get cannot install $package"; }
dpkg-deb -x "$package" "$work/root"
check "$work/root/usr"
echo "ok $package"
