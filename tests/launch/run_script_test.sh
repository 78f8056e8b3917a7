#!/usr/bin/env bash
# app/run.sh with the quickstart deck in small: as a user calls it, from another folder and without MPI variables.
set -u
deck=$TENAX_SOURCE/inputs/quickstart.toml
directory=$PWD/run
options=(run.output_dir="$directory" run.eval_interval=0 optimizer.lr_decay_steps=10 batch.global_batch_size=4
         batch.micro_batch_size=2)

fail() { echo "FAILED: $*"; echo "--- stdout"; cat stdout; echo "--- stderr"; cat stderr; exit 1; }
# Open MPI 5 knows no -q.
mkdir bin
printf '#!/usr/bin/env bash\n[[ " $* " != *" -q "* ]] || { echo "Option: -q"; exit 213; }\nexec "%s" "$@"\n' "$(command -v mpirun)" >bin/mpirun
chmod +x bin/mpirun
run_script=(env -i PATH="$PWD/bin:$PATH" HOME="$HOME" bash "$TENAX_SOURCE/app/run.sh")
run() { "${run_script[@]}" "$@" >stdout 2>stderr; }
expect_status() { [ "$status" = "$1" ] || fail "status $status, not $1: $2"; }
training_steps() { cat "$directory/metrics.jsonl" 2>/dev/null | grep -c '"loss"'; }

# A wrong deck or command line: status 2 and one message, before any rank starts.
run no-such-deck.toml; status=$?
expect_status 2 "a deck that is not there"
run "$deck" "${options[@]}" model.num_layer=4; status=$?
expect_status 2 "an unknown key"
[ "$(wc -l <stderr)" = 1 ] && grep -q 'model.num_layers' stderr || fail "one line that names the nearest key"
[ ! -e "$directory" ] || fail "a refused run leaves no directory"

# Where packages are missing and cannot be installed, what is there is enough, and nobody who has it is asked for a password.
mkdir stand-ins
printf '#!/bin/sh\nexit 1\n' | tee stand-ins/apt-get stand-ins/dpkg-query >/dev/null
printf '#!/bin/sh\n[ "$1" = -n ] || touch "%s"\nexit 1\n' "$PWD/asked" >stand-ins/sudo
chmod +x stand-ins/*
without_packages=(env -i PATH="$PWD/stand-ins:$PATH" HOME="$HOME")
"${without_packages[@]}" bash "$TENAX_SOURCE/app/run.sh" no-such-deck.toml >stdout 2>stderr </dev/null; status=$?
expect_status 2 "no package can be installed, and all is there"
"${without_packages[@]}" CXX=false bash "$TENAX_SOURCE/app/run.sh" no-such-deck.toml >stdout 2>stderr </dev/null; status=$?
expect_status 1 "no package can be installed, and the compiler finds nothing"
grep -q 'oneDNN' stderr || fail "what is missing is named"
# A site's HDF5 is found by its prefix alone, whose headers are not where Debian has them.
mkdir -p hdf5/include && touch hdf5/include/hdf5.h
printf '#!/bin/sh\nexec c++ -nostdinc "$@"\n' >stand-ins/no-headers
chmod +x stand-ins/no-headers
without_wrappers='source "$0"; command() { [[ $2 != h5* ]] && builtin command "$@"; }; missing_tools'
"${without_packages[@]}" CXX=no-headers bash -uc "$without_wrappers" "$TENAX_SOURCE/app/setup.sh" >stdout 2>stderr
grep -q 'HDF5' stdout || fail "HDF5 is missing"
"${without_packages[@]}" CXX=no-headers HDF5_ROOT="$PWD/hdf5" bash -uc "$without_wrappers" "$TENAX_SOURCE/app/setup.sh" >stdout 2>stderr
grep -q 'oneDNN' stdout && ! grep -q 'HDF5' stdout || fail "an HDF5 in HDF5_ROOT is not found"
if command -v script >/dev/null; then  # at a terminal
  printf '#!/bin/sh\necho 1000\n' >stand-ins/id
  chmod +x stand-ins/id
  "${without_packages[@]}" script -qec "bash '$TENAX_SOURCE/app/run.sh' no-such-deck.toml" /dev/null >stdout 2>stderr </dev/null; status=$?
  expect_status 2 "a user who may not sudo has all"
  [ ! -e asked ] || fail "a password is asked for without need"
fi

# It builds tenax alone: that brings all that is installed.
grep -q '^build tenax: .*libtenax_monitor\.so' "$TENAX_SOURCE/build/build.ninja" || fail "no libtenax_monitor.so with tenax"

trains_for_ever() {  # until it has done two steps
  "${run_script[@]}" "$deck" "${options[@]}" run.train_steps=100000 >stdout 2>stderr &
  script=$!
  for _ in $(seq 600); do [ "$(training_steps)" -ge 2 ] && break; sleep 0.2; done
}
# A rank that dies ends the run: status 1, and the signal is named.
trains_for_ever
kill -KILL "$(pgrep -n -f "^[^ ]*/build/tenax .*run.output_dir=$directory ")"
wait $script; status=$?
expect_status 1 "a rank is killed"
# Open MPI says so too where another rank was just reading the dead one's memory, and version 5 in a frame of how it ended.
framed='/^-\{20,\}$/,/^-\{20,\}$/d'
[ "$(sed "$framed" stderr | grep -v -e '^\[.*\] Read -1, expected' -e '^ *$')" = "run.sh: a rank ended by signal 9 (KILL)" ] || fail "one line says so"
rm -rf "$directory"

# SIGTERM to the script: a checkpoint at the next step, then status 0.
trains_for_ever
kill -TERM $script
wait $script; status=$?
expect_status 0 "SIGTERM stops a run in good order"
grep '"end"' "$directory/events.jsonl" | grep -q '"signal"' || fail "the end's reason is a signal"
steps=$(training_steps)
[ -e "$directory/checkpoints/step-$(printf %06d "$steps").h5" ] || fail "a checkpoint of the last step"

# The same call goes on from there and finishes; once more, it says so and does nothing.
run "$deck" "${options[@]}" run.train_steps=$((steps + 2)); status=$?
expect_status 0 "resuming"
[ "$(training_steps)" = $((steps + 2)) ] || fail "every step once"
[ "$(tail -n 1 stdout)" = "run directory: $directory" ] || fail "the last line names the run directory"
[ ! -s stderr ] || fail "a good run has nothing to complain about"
before=$(cat "$directory/metrics.jsonl")
run "$deck" "${options[@]}" run.train_steps=$((steps + 2)); status=$?
expect_status 0 "a finished run"
[ "$(cat "$directory/metrics.jsonl")" = "$before" ] || fail "a finished run trains no more"
grep -qi 'finished' stdout stderr || fail "a finished run says so"
