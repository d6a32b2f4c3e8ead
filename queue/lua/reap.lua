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
  local last, hold = unpack(call('HMGET', base .. 'reaper', 'last', 'hold'))
  last, hold = tonumber(last or 0), tonumber(hold or 0)
  if now - last > lease * 2 / 3 and now > hold + lease then hold = now + lease end
  call('HSET', base .. 'reaper', 'last', stamp, 'hold', int(hold))
  if now < hold then return {} end
end
local ids = call('ZRANGEBYSCORE', base .. 'state:running', '-inf', int(now - 1), 'LIMIT', 0, n)
for _, id in ipairs(ids) do
  local h = get(id)
  crashed(h, 'worker ' .. h.worker .. ' stopped renewing its lease', most)
  count('reaped')
end
flush()
local answer = {}
for i, id in ipairs(ids) do answer[i] = all(id) end
return answer
