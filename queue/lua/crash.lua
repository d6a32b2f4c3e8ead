-- crash: id, fence, worker, why, most crashes. The handler panicked.
local h, answer = held(ARGV[6], ARGV[7], ARGV[8], 'crash')
if not h then return answer end
return close(h, 'crash', crashed(h, ARGV[9], tonumber(ARGV[10])))
