-- reap: most crashes, most jobs. Takes jobs from workers whose lease ran out.
-- Answers {{fields...}, ...}; the fields tell where each job went.
local most, n = tonumber(ARGV[6]), ARGV[7]
local answer = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'state:running', '-inf', int(now - 1), 'LIMIT', 0, n)) do
  local h = get(id)
  crashed(id, h, 'worker ' .. h.worker .. ' stopped renewing its lease', most)
  count('reaped')
  answer[#answer + 1] = all(id)
end
return answer
