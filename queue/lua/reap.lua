-- reap: most crashes, most jobs, lease (us, 0: at once). Takes jobs from workers
-- whose lease ran out. Answers {{fields...}, ...}; the fields tell where each job
-- went.
--
-- Whoever reaps regularly gives the lease and comes three times in it. If nobody
-- came for most of a lease, Redis itself was away, hung or restarted, and the
-- living could not renew: they get one lease to do it. Not twice in a row, so
-- that reapers that are slow for good still reap.
local most, n, lease = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
if lease > 0 then
  local last = tonumber(redis.call('HGET', base .. 'reaper', 'last') or '0')
  local hold = tonumber(redis.call('HGET', base .. 'reaper', 'hold') or '0')
  if now - last > lease * 2 / 3 and now > hold + lease then hold = now + lease end
  redis.call('HSET', base .. 'reaper', 'last', int(now), 'hold', int(hold))
  if now < hold then return {} end
end
local answer = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'state:running', '-inf', int(now - 1), 'LIMIT', 0, n)) do
  local h = get(id)
  crashed(id, h, 'worker ' .. h.worker .. ' stopped renewing its lease', most)
  count('reaped')
  answer[#answer + 1] = all(id)
end
return answer
