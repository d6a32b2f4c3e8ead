-- snooze: id, fence, worker, reason, until (us).
local reason, till = ARGV[9], ARGV[10]
local h, answer = held(ARGV[6], ARGV[7], ARGV[8], 'snooze')
if not h then return answer end
local to = 'snoozed'
if h.stop then
  to = h.stop
  finish(h, to, h.reason)
else
  put(h, 'reason', reason)
  move(h, to, till, reason)
end
return close(h, 'snooze', to)
