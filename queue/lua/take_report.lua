-- take_report: token, lease (us). Leases the next end to be told.
local token, lease = ARGV[6], tonumber(ARGV[7])
local id = redis.call('ZRANGEBYSCORE', base .. 'reports', '-inf', int(now), 'LIMIT', 0, 1)[1]
if not id then return {} end
local h = get(id)
redis.call('ZADD', base .. 'reports', int(now + lease), id)
set(id, h, {reporter = token, reports = tonumber(h.reports or '0') + 1})
return all(id)
