-- fail: id, fence, worker, reason, delay (us, -1: permanent), most attempts.
local id, reason, delay, most = ARGV[6], ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])
local h, answer = held(id, ARGV[7], ARGV[8], 'fail')
if not h then return answer end
local n = tonumber(h.attempt or '0') + 1
set(id, h, {attempt = n})
count('failed')
local to = 'retrying'
if h.stop then
  to = h.stop
  finish(id, h, to, h.reason)
elseif delay < 0 or n >= most then
  to = 'dead'
  finish(id, h, to, reason)
else
  set(id, h, {reason = reason})
  move(id, h, to, now + delay, reason)
end
return close(id, h, 'fail', to)
