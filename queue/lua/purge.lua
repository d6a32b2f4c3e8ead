-- purge: keep ended (us), keep checkpoints (us), most of each. Forgets jobs that
-- ended long ago; dead ones are kept 4 times as long, because people look at
-- them, and ends that nobody managed to tell at most as long.
local keep, keep_checkpoints, n = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local gone = 0
for state in pairs(terminal) do
  local age = keep
  if state == 'dead' then age = keep * 4 end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'state:' .. state, '-inf', int(now - age), 'LIMIT', 0, n)) do
    local untold = redis.call('ZSCORE', base .. 'reports', id)
    if not untold or tonumber(redis.call('HGET', base .. 'job:' .. id, 'ended')) < now - keep * 4 then
      redis.call('DEL', base .. 'job:' .. id, base .. 'payload:' .. id, base .. 'checkpoint:' .. id)
      redis.call('ZREM', base .. 'state:' .. state, id)
      redis.call('ZREM', base .. 'reports', id)
      redis.call('ZREM', base .. 'expiring', id)
      gone = gone + 1
    end
  end
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'expiring', '-inf', int(now - keep_checkpoints), 'LIMIT', 0, n)) do
  redis.call('DEL', base .. 'checkpoint:' .. id)
  redis.call('ZREM', base .. 'expiring', id)
end
return gone
