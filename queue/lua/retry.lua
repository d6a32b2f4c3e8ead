-- retry: id. Runs an ended job again from its checkpoint with fresh counts, or
-- a waiting one now.
local id = ARGV[6]
local h = get(id)
if not h.state then return {'none'} end
if h.state == 'queued' then return {'ok', 'queued'} end
if h.state == 'running' then return {'state', 'running', ''} end
if terminal[h.state] then
  local same = twin(h.key)
  if same then return {'state', h.state, 'job ' .. same.id .. ' is on the same already'} end
  call('ZREM', base .. 'reports', id)
  call('ZREM', base .. 'expiring', id)
  clear(h, 'attempt', 'crashes', 'row', 'step', 'stop', 'by', 'reported', 'reporter', 'reports', 'summary', 'reason')
  link(h)
  put(h, 'enqueued', int(tick()))
  put(h, 'asked', stamp)
end
count('retried')
move(h, 'queued', nil, 'retried by a person')
return {'ok', 'queued'}
