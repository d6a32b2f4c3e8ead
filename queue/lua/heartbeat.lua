-- heartbeat: id, fence, worker, lease (us), progress. Renews the lease.
local id, lease, progress = ARGV[6], tonumber(ARGV[9]), ARGV[10]
local h, answer = held(id, ARGV[7], ARGV[8], 'heartbeat')
if not h then return answer end
renew(id, h, lease)
if progress ~= '' then set(id, h, {progress = progress}) end
return {'ok', h.stop or ''}
