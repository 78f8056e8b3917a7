# A Slurm of this test's own, on this machine's loopback: one controller and the nodes n1 and n2, all of one user, with
# ports, sockets, keys and logs of its own. To be sourced. Slurm 22.05's daemons need no systemd.
#
#   start_slurm DIRECTORY     exports SLURM_CONF; sbatch, srun, scontrol then talk to that cluster
#   stop_slurm                ends every job and daemon of it; nothing else
slurm_programs=(munged mungekey slurmctld slurmd sbatch srun scancel scontrol sinfo squeue)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

slurm_lacks() { local name; for name in "${slurm_programs[@]}"; do command -v "$name" >/dev/null || echo "$name"; done; }

# within SECONDS COMMAND …: repeats the command until it succeeds; 1 if it did not in that time.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}

port_is_free() { ! (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_ports() {  # three of them, below those that the system hands out
  local port found=0
  for ((port = 10000 + RANDOM % 15000; found < 3; ++port)); do
    port_is_free $port && echo $port && found=$((found + 1))
  done
}

# The nodes claim `cpus_of_node` processors each (2 unless it is set), whatever the machine has. A credential of 5 s, as a
# job that is requeued waits until the old one has expired. What does not obey SIGTERM is killed late (Slurm's default: 30 s), so that
# nobody passes a test by it. The two slurmd tell their files apart by %n.
write_slurm_conf() {  # DIRECTORY CONTROLLER_PORT PORT_OF_N1 PORT_OF_N2
  cat <<END
ClusterName=tenax-test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$1/munge.socket,cred_expire=5
SlurmctldPort=$2
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$1/state
SlurmctldPidFile=$1/slurmctld.pid
SlurmdSpoolDir=$1/spool-%n
SlurmdPidFile=$1/slurmd-%n.pid
TmpFS=$1/tmp-%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
KillWait=100
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2
NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$3 CPUs=${cpus_of_node:-2}
NodeName=n2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$4 CPUs=${cpus_of_node:-2}
PartitionName=test Nodes=n1,n2 Default=YES State=UP MaxTime=UNLIMITED
END
}

start_daemon() {  # NAME COMMAND …
  "${@:2}" >"$slurm_directory/$1.out" 2>&1 </dev/null &
  slurm_daemons+=($!)
}
munge_answers() { munge -n --socket="$slurm_directory/munge.socket" >/dev/null 2>&1; }
nodes_are_idle() { [ "$(timeout 10 sinfo -h -N -o %t 2>/dev/null | grep -cx idle)" = 2 ]; }

start_slurm() {
  slurm_directory=$1 slurm_daemons=()
  unset "${!SLURM_@}" "${!SBATCH_@}" "${!SRUN_@}"  # this test may itself run in a job
  export SLURM_CONF=$slurm_directory/slurm.conf
  mkdir -p "$slurm_directory"/{state,spool-n1,spool-n2,tmp-n1,tmp-n2}
  mungekey --create --keyfile="$slurm_directory/munge.key" || return 1
  write_slurm_conf "$slurm_directory" $(free_ports) >"$SLURM_CONF"
  start_daemon munged munged --foreground --force --key-file="$slurm_directory/munge.key" --num-threads=2 \
    --socket="$slurm_directory/munge.socket" --pid-file="$slurm_directory/munged.pid" \
    --log-file="$slurm_directory/munged.log" --seed-file="$slurm_directory/munged.seed"
  within 20 munge_answers || return 1
  start_daemon slurmctld slurmctld -D
  start_daemon n1 slurmd -D -N n1
  start_daemon n2 slurmd -D -N n2
  within 60 nodes_are_idle
}

# Processes that have this cluster's configuration in their environment: daemons, steps, tasks and clients, not this shell.
processes_of_cluster() {
  local file
  for file in $(grep -lzsxF -e "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ); do
    file=${file%/environ}
    [ ! -e "$file" ] || echo "${file#/proc/}"  # the grep that looked is gone
  done | grep -vx -e $$ -e $BASHPID
}

no_jobs() { [ -z "$(timeout 10 squeue -h 2>/dev/null)" ]; }
none_left() { [ -z "$(processes_of_cluster)" ]; }

stop_slurm() {
  [ -n "${slurm_directory:-}" ] || return 0
  timeout 10 scancel --user="$(id -un)" 2>/dev/null
  within 15 no_jobs
  kill "${slurm_daemons[@]}" 2>/dev/null
  within 10 none_left || kill -KILL $(processes_of_cluster) 2>/dev/null
  wait "${slurm_daemons[@]}" 2>/dev/null
}
