-- fail: id, fence, worker, reason, delay (us, -1: permanent), most attempts.
local reason, delay, most = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])
local h, answer = held(ARGV[6], ARGV[7], ARGV[8], 'fail')
if not h then return answer end
local n = tonumber(h.attempt or 0) + 1
put(h, 'attempt', n)
count('failed')
local to = 'retrying'
if h.stop then
  to = h.stop
  finish(h, to, h.reason)
elseif delay < 0 or n >= most then
  to = 'dead'
  finish(h, to, reason)
else
  put(h, 'reason', reason)
  move(h, to, int(now + delay), reason)
end
return close(h, 'fail', to)
