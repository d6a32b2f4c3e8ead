-- heartbeat: id, fence, worker, lease (us), progress. Renews the lease.
local h, answer = held(ARGV[6], ARGV[7], ARGV[8], 'heartbeat', {'state', 'fence', 'worker', 'stop', 'closed'})
if not h then return answer end
renew(h, tonumber(ARGV[9]))
if ARGV[10] ~= '' then put(h, 'progress', ARGV[10]) end
return {'ok', h.stop or ''}
