-- checkpoint: id, fence, worker, lease (us), step, bytes (empty: the one before
-- stays). Renews the lease. The work is further than ever with a higher step:
-- crashes before it do not count towards burying the job.
local id, lease, step, bytes = ARGV[6], tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]
local h, answer = held(id, ARGV[7], ARGV[8], 'checkpoint')
if not h then return answer end
renew(h, lease)
if bytes ~= '' then
  call('SET', base .. 'checkpoint:' .. id, bytes)
  put(h, 'saved', 1)
end
if step > tonumber(h.step or 0) then
  put(h, 'step', step)
  clear(h, 'row')
end
return {'ok', h.stop or ''}
