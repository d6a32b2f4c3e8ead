-- retry: id. Runs an ended job again from its checkpoint with fresh counts, or
-- a waiting one now.
local id = ARGV[6]
local h = get(id)
if not h.state then return {'none'} end
if h.state == 'queued' then return {'ok', 'queued'} end
if h.state == 'running' then return {'state', 'running', ''} end
if terminal[h.state] then
  local twin = h.key and redis.call('HGET', base .. 'keys', h.key)
  if twin then return {'state', h.state, 'job ' .. twin .. ' is on the same already'} end
  redis.call('ZREM', base .. 'reports', id)
  redis.call('ZREM', base .. 'expiring', id)
  clear(id, h, 'attempt', 'crashes', 'row', 'step', 'ended', 'stop', 'by', 'reported', 'reporter', 'reports', 'summary', 'reason')
  link(id, h)
  set(id, h, {enqueued = int(tick()), asked = int(now)})
end
count('retried')
move(id, h, 'queued', nil, 'retried by a person')
return {'ok', 'queued'}
