-- crash: id, fence, worker, why, most crashes. The handler panicked.
local id = ARGV[6]
local h, answer = held(id, ARGV[7], ARGV[8], 'crash')
if not h then return answer end
return close(id, h, 'crash', crashed(id, h, ARGV[9], tonumber(ARGV[10])))
