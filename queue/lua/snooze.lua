-- snooze: id, fence, worker, reason, until (us).
local id, reason, till = ARGV[6], ARGV[9], tonumber(ARGV[10])
local h, answer = held(id, ARGV[7], ARGV[8], 'snooze')
if not h then return answer end
local to = 'snoozed'
if h.stop then
  to = h.stop
  finish(id, h, to, h.reason)
else
  set(id, h, {reason = reason})
  move(id, h, to, till, reason)
end
return close(id, h, 'snooze', to)
