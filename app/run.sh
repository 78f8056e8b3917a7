#!/usr/bin/env bash
# Trains a deck: installs and builds what is missing, then starts as many MPI ranks as the deck asks for.
#
#   bash app/run.sh DECK [section.key=value …]
#
# SIGTERM, SIGUSR1 or Ctrl-C: checkpoint at the next step boundary, then exit 0; a second Ctrl-C ends it at once.
# In a Slurm allocation hosts that exclude_hosts.txt in the run directory names are left out, where the others suffice; a
# run that ends to be started again without some (mitigate.restart) is.
# Status: 0 done, or stopped on request; 3 to be started again elsewhere, which cannot be done here; 2 wrong deck or
# command line; 1 anything else.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
source "$(dirname "${BASH_SOURCE[0]}")/excluded_hosts.sh"

prepare() {
  ensure_packages "${run_packages[@]}"
  local fresh=()
  [ -e "$tenax_build/build.ninja" ] || fresh=(-DTENAX_TESTS=OFF)
  configure "${fresh[@]}"
  build_target tenax
}

# Prints the cores that this process may use, not counting a core's further hardware threads.
cores() {
  local usable physical
  usable=$(nproc)
  physical=$(lscpu -p=SOCKET,CORE 2>/dev/null | grep -v '^#' | sort -u | wc -l)
  echo $((physical > 0 && physical < usable ? physical : usable))
}

# Sets `launcher` to the command that starts $1 ranks of $threads threads. Fails where too few hosts are left for them: then
# it uses all. Where there are cores enough, a rank of several threads has its own; mpirun stops if it cannot bind.
choose_launcher() {
  if [ -n "${SLURM_JOB_ID:-}" ] && command -v srun >/dev/null; then
    leave_hosts_out "$run_directory" "$1"
    local left_out=$?
    launcher=(srun --mpi=pmix -n "$1" "${exclusion[@]}")
    [ "$threads" = 1 ] || launcher+=("--cpus-per-task=$threads")
    return $left_out
  fi
  launcher=(mpirun -n "$1")
  [ "$threads" = 1 ] || [ $(($1 * threads)) -gt "$(cores)" ] || launcher+=(--map-by "slot:PE=$threads" --bind-to core)
}

# Whether there are hosts for another start, other ones than before; then `launcher` uses them.
starts_elsewhere() {
  local before=${launcher[*]}
  choose_launcher "$ranks" && [ "${launcher[*]}" != "$before" ]
}

# Ranks that are still starting miss a signal, so it is sent again; more than one does no harm.
request_stop() {
  requested=1
  kill -${1:-USR1} $job
  { for pause in 1 2 4 8; do sleep $pause; kill -USR1 $job || break; done; } >/dev/null 2>&1 &
  reminder=$!
}

# Runs "$@" and sets `status`. The job has a session of its own, so that Ctrl-C reaches this script alone, which
# turns it into `interrupt`, and a second one into `quit`: signals. If this script is killed, the job ends too.
run_job() {
  local guard=() again
  setpriv --pdeathsig TERM true 2>/dev/null && guard=(setpriv --pdeathsig TERM)
  setsid "${guard[@]}" "$@" </dev/null &
  job=$! requested=0 reminder=
  trap request_stop TERM USR1 HUP
  trap '[ $requested = 0 ] && request_stop $interrupt || kill -$quit $job' INT
  while :; do  # a trapped signal ends `wait` early
    wait $job; status=$?
    kill -0 $job 2>/dev/null || break
  done
  wait $job 2>/dev/null; again=$?  # 127: the first wait already had the job's status
  [ $again = 127 ] || status=$again
  trap - TERM USR1 HUP INT
  [ -z "$reminder" ] || kill $reminder 2>/dev/null
}

# How far the run's records are.
records() { stat -c '%i %s' "$run_directory/events.jsonl" 2>/dev/null; }

# Trains, by `launcher`. Slurm's PMIx may let ranks out of MPI_Init while another one still waits in it; what they send then
# crashes that one in Open MPI 4.1's TCP layer (once in some 600 starts on a loaded host). Nothing has been touched by then.
train() {
  local try before
  for try in 1 2 3; do
    before=$(records)
    run_job "${launcher[@]}" "$tenax_build/tenax" "$@"
    [ $try -lt 3 ] && [ $status = 139 ] && [ $requested = 0 ] && [ "$(records)" = "$before" ] || return
    say "a rank crashed before the run began: it is started again"
  done
}

# A signal's status becomes 0 (stopped in order) or 1.
explain_signal() {
  [ $status -gt 128 ] || return
  local signal=$((status - 128))
  if [ $requested = 1 ] && [ "$(kill -l $signal)" = USR1 ]; then
    say "stopped before training began"
    status=0
  else
    say "a rank ended by signal $signal ($(kill -l $signal))"
    status=1
  fi
}

usage='usage: bash app/run.sh DECK [section.key=value …]'
case "${1:-}" in
  -h | --help) echo "$usage"; exit 0 ;;
  '') echo "$usage" >&2; exit 2 ;;
esac
with_build_lock prepare
export_mpi_environment

# The plan checks deck and overrides first, so their errors come once and before any MPI.
plan=$("$tenax_build/tenax" plan "$@" --ranks) || exit $?
{ read -r ranks; read -r run_directory; read -r replicas; read -r threads; } <<<"$plan"
interrupt=USR1 quit=TERM
if [ "$replicas" -gt 1 ]; then
  interrupt=INT quit=INT  # tenax launch ends at once at its second SIGINT
  run_job "$tenax_build/tenax" launch "$@"
else
  choose_launcher "$ranks" || say "without the hosts in exclude_hosts.txt too few are left: all are used"
  train "$@"
  while [ $status = 3 ] && starts_elsewhere; do train "$@" run.resume=auto; done
fi
explain_signal
[ ! -d "$run_directory" ] || echo "run directory: $run_directory"
exit $status
