-- abandon: id, fence, most crashes. The worker with this fence is known to be
-- dead: nobody has to wait for its lease.
local h, answer = held(ARGV[6], ARGV[7], nil, 'abandon')
if not h then return answer end
count('abandoned')
return close(h, 'abandon', crashed(h, 'worker ' .. h.worker .. ' died', tonumber(ARGV[8])))
