-- checkpoint: id, fence, worker, lease (us), bytes. Renews the lease.
local id, lease, bytes = ARGV[6], tonumber(ARGV[9]), ARGV[10]
local h, answer = held(id, ARGV[7], ARGV[8], 'checkpoint')
if not h then return answer end
renew(id, h, lease)
redis.call('SET', base .. 'checkpoint:' .. id, bytes)
return {'ok', h.stop or ''}
