# In a guest with two links: whatever fails on one, all messages arrive as they were sent, in their order.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/carry.sh"

for kinds in "down_here down_there silent" "unacknowledged silent_one_way removed"; do
  carry 64
  for kind in $kinds; do
    endure "$kind"
    # Whether a message has come unacknowledged when the path is given up is left to chance.
    for _ in 1 2 3 4; do
      [ $kind = unacknowledged ] && [ "$resent" = 0 ] || break
      endure "$kind"
    done
    [ $kind != unacknowledged ] || [ "$resent" -gt 0 ] || fail "nothing was sent again that had arrived"
    ok "$kind: $gap s without a message, used again after $again s, $resent messages sent again"
  done
  carried
  ok "$(tail -n 1 said.log)"
done

carry 64 auto
endure both_down
carried
ok "both links down: TCP goes on, $gap s without a message, used again after $again s; $(tail -n 1 said.log)"

# The adapters' retries bridge a short loss.
carry 64
bridge 0.2
carried
claim "a short loss breaks no connection" [ "$made_again" = 0 ]
