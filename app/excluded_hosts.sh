# Hosts of a Slurm allocation that a run is not to be started on: exclude_hosts.txt in its run directory. To be sourced.

# excluded_hosts RUN_DIRECTORY: prints them as Slurm calls its nodes, one a line.
excluded_hosts() { [ ! -e "$1/exclude_hosts.txt" ] || sed 's/\..*//' "$1/exclude_hosts.txt" | sort -u; }

# Prints the hosts of the allocation, each with the tasks it has room for, as in "n1 2". Slurm says "2(x3),1".
tasks_of_hosts() {
  local tasks times
  paste -d' ' <(scontrol show hostnames "$SLURM_JOB_NODELIST") <(
    tr ',' '\n' <<<"$SLURM_TASKS_PER_NODE" | tr '(x)' ' ' | while read -r tasks times; do
      yes "$tasks" | head -n "${times:-1}"
    done)
}

# leave_hosts_out RUN_DIRECTORY RANKS: sets `exclusion` to the options of srun that leave excluded hosts out. Fails, and
# leaves it empty, where the others have no room for so many ranks.
leave_hosts_out() {
  local host tasks room=0 hosts=0 excluded=()
  while read -r host tasks; do
    if excluded_hosts "$1" | grep -qxF "$host"; then
      excluded+=("$host")
    else
      room=$((room + tasks)) hosts=$((hosts + 1))
    fi
  done < <(tasks_of_hosts)
  exclusion=()
  [ ${#excluded[@]} -gt 0 ] || return 0
  [ $room -ge "$2" ] || return 1
  exclusion=("--exclude=$(IFS=,; echo "${excluded[*]}")" "--nodes=1-$hosts")
}
