# In a guest with two links: messages that rxe_a* and rxe_b* exchange (carry_messages.cpp) while one of the links fails and heals. To be
# sourced after checks.sh.
modprobe -a sch_ingress cls_u32 act_gact
silence_ms=500

# carry MIB [auto]: begins; until carried. With auto there is TCP too.
carry() {
  rm -f orders said
  mkfifo orders said
  : >said.log
  lines=()
  "$CARRY_MESSAGES" "$1" $silence_ms "$GUEST_LINKS" "${@:2}" <orders >said 2>&1 &
  carrier=$!
  exec 7>orders 8<said
  hear 60 carrying
  sleep 0.5
}
# hear SECONDS PATTERN …: within so much each is a line among those after what was heard before. The last one's is then $heard,
# its time $heard_s. Nothing is started for it: to start a program takes some 0.1 s here.
hear() {
  local end=$((SECONDS + $1 + 1)) pattern line
  for pattern in "${@:2}"; do
    until is_said "$pattern"; do
      [ $SECONDS -lt $end ] && read -r -t $((end - SECONDS)) -u 8 line ||
        { cat said.log; fail "nothing like '$pattern' in $1 s"; }
      echo "$line" >>said.log
      lines+=("$line")
    done
  done
  lines=()
}
is_said() {
  local pattern="^[0-9.]+ $1"
  for heard in "${lines[@]}"; do
    heard_s=${heard%% *}
    [[ ! $heard =~ $pattern ]] || return 0
  done
  return 1
}
# ask WORD: what carry_messages answers.
ask() { echo "$1" >&7; hear 20 "$1 "; answer=${heard##* }; }
# carried: all bytes were as they were sent.
carried() {
  exec 7>&-
  cat <&8 >>said.log
  wait $carrier || { cat said.log; fail "messages were not carried"; }
}
now_s() { cut -d ' ' -f 1 /proc/uptime; }

lose_all() { local side; for side in "$@"; do tc qdisc add dev "$side" root netem loss 100%; done; }
lose_nothing() { local side; for side in "$@"; do tc qdisc del dev "$side" root; done; }

# bridge SECONDS: the first link loses all for so long; $made_again: connections that were made because of it.
bridge() {
  local before
  ask made
  before=$answer
  {
    echo qdisc add dev a0 root netem loss 100%
    read -rt "$1" <> <(:) || true  # to start `sleep` takes as long again here
    echo qdisc del dev a0 root
  } | tc -batch -
  sleep 1
  ask made
  made_again=$((answer - before))
}

# What fails on the first link, and heals. The events that follow: moved KIND, returned KIND.
fail_down_here() { ip link set a0 down; }
heal_down_here() { link_up a 0; }
fail_down_there() { ip link set b0 down; }
heal_down_there() { link_up b 0; }
fail_removed() { rdma link delete rxe_a0 & }  # which ends when all have let go of it
heal_removed() { rdma link add rxe_a0 type rxe netdev a0; }
fail_silent() { lose_all a0 b0; }
heal_silent() { lose_nothing a0 b0; }
fail_silent_one_way() { lose_all a0; }
heal_silent_one_way() { lose_nothing a0; }
# Acknowledgements are packets of UDP whose first byte, behind 28 of other headers, is 17.
fail_unacknowledged() {
  tc qdisc add dev b0 clsact
  tc filter add dev b0 egress protocol ip u32 match ip protocol 17 0xff match u8 17 0xff at 28 action drop
}
heal_unacknowledged() { tc qdisc del dev b0 clsact; }
fail_both_down() { ip link set a0 down; ip link set a1 down; }
heal_both_down() { link_up a 0; link_up a 1; }
# Rank 1 has messages of which rank 0 does not hear until it has sent one again. Which link they took is not known.
fail_withheld() { echo withhold >&7; hear 20 withheld; fail_both_down; }
heal_withheld() { heal_both_down; }

first='verbs rxe_a0:1 - rxe_b0:1' second='verbs rxe_a1:1 - rxe_b1:1'
moved() {
  case $1 in
    both_down | withheld) echo "reroute verbs .* -> tcp: (peer_)?port_down" ;;
    removed) echo "reroute $first -> $second: (device_lost|(peer_)?port_down)" ;;
    down_*) echo "reroute $first -> $second: (peer_)?port_down" ;;
    *) echo "reroute $first -> $second: no_answer" ;;
  esac
}
returned() {
  case $1 in
    both_down | withheld) echo "reroute tcp -> verbs .*: healed" ;;
    *) echo "reroute $second -> $first: healed" ;;
  esac
}

# endure KIND: it fails and heals; $gap: the longest wait for a message; $again: seconds from its healing until messages go
# there as before; $resent: messages that were sent again.
endure() {
  local healed_s before
  ask resent
  before=$answer
  ask gap
  fail_$1
  hear 20 "$(moved "$1")"
  sleep 0.3
  ask gap
  gap=$answer
  healed_s=$(now_s)
  heal_$1
  hear 30 "$(returned "$1")"
  again=$(awk "BEGIN { printf \"%.2f\", $heard_s - $healed_s }")
  ask resent
  resent=$((answer - before))
}
