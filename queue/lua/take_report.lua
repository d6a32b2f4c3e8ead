-- take_report: token, lease (us). Leases the next end to be told.
local token, lease = ARGV[6], tonumber(ARGV[7])
local id, h
repeat
  id = call('ZRANGEBYSCORE', base .. 'reports', '-inf', stamp, 'LIMIT', 0, 1)[1]
  if not id then return {} end
  h = get(id)
  if not h.state then evicted(id, 'reports') end
until h.state
call('ZADD', base .. 'reports', int(now + lease), id)
put(h, 'reporter', token)
put(h, 'reports', tonumber(h.reports or 0) + 1)
flush()
return all(id)
