# In a guest with two links: whatever fails on one, all messages arrive as they were sent, in their order.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/carry.sh"

# told KIND: endures it.
told() {
  endure "$1"
  ok "$1: $gap s without a message, used again after $again s, $resent messages sent again"
}

carry 64
for kind in down_here down_there removed silent silent_one_way; do told $kind; done
carried
carry 64
told unacknowledged
carried
carry 64 auto
told withheld
ask repeated
claim "messages were sent again that had arrived" [ "$answer" -gt 0 ]
told both_down
carried

# The adapters' retries bridge a short loss. A slow machine makes it longer: silence is told late.
silence_ms=2000 carry 64
bridge 0.2
carried
claim "a short loss breaks no connection" [ "$made_again" = 0 ]
