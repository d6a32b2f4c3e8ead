-- end_report: id, token, delay (us, -1: it was told).
local id, delay = ARGV[6], tonumber(ARGV[8])
local h = get(id)
if h.reporter ~= ARGV[7] then return {'lost'} end
if h.reported then return {'ok'} end -- sent again after a lost answer
if delay < 0 then
  call('ZREM', base .. 'reports', id)
  put(h, 'reported', 1)
else
  call('ZADD', base .. 'reports', int(now + delay), id)
end
return {'ok'}
