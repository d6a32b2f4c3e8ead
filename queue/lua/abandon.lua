-- abandon: id, fence, most crashes. The worker with this fence is known to be
-- dead: nobody has to wait for its lease.
local id = ARGV[6]
local h, answer = held(id, ARGV[7], nil, 'abandon')
if not h then return answer end
count('abandoned')
return close(id, h, 'abandon', crashed(id, h, 'worker ' .. h.worker .. ' died', tonumber(ARGV[8])))
