-- purge: keep ended (us), keep checkpoints (us), most of each. Forgets jobs that
-- ended long ago; dead ones are kept 4 times as long, because people look at
-- them, and ends that nobody managed to tell at most as long.
local keep, keep_checkpoints, n = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local gone = 0
for state in pairs(terminal) do
  local age = keep
  if state == 'dead' then age = keep * 4 end
  local old = call('ZRANGEBYSCORE', base .. 'state:' .. state, '-inf', int(now - age), 'WITHSCORES', 'LIMIT', 0, n)
  for i = 1, #old, 2 do
    local id = old[i]
    if not call('ZSCORE', base .. 'reports', id) or tonumber(old[i + 1]) < now - keep * 4 then
      call('DEL', base .. 'job:' .. id, base .. 'checkpoint:' .. id)
      call('ZREM', base .. 'state:' .. state, id)
      call('ZREM', base .. 'reports', id)
      call('ZREM', base .. 'expiring', id)
      gone = gone + 1
    end
  end
end
for _, id in ipairs(call('ZRANGEBYSCORE', base .. 'expiring', '-inf', int(now - keep_checkpoints), 'LIMIT', 0, n)) do
  call('DEL', base .. 'checkpoint:' .. id)
  clear(get(id), 'saved')
  call('ZREM', base .. 'expiring', id)
end
return gone
