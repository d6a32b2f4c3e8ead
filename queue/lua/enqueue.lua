-- enqueue: id, keep deliveries (us), payload, then the job's fields as pairs.
-- Empty fields are left out by the caller.
local id, keep, payload = ARGV[6], tonumber(ARGV[7]), ARGV[8]

if redis.call('EXISTS', base .. 'job:' .. id) == 1 then
  return {'enqueued', id} -- sent again after a lost answer
end

local job = {}
for i = 9, #ARGV, 2 do job[ARGV[i]] = ARGV[i + 1] end
local checkpoint = job.checkpoint
job.checkpoint = nil
job.asked = job.asked or int(now)

local old = redis.call('ZRANGEBYSCORE', base .. 'deliveries', '-inf', int(now - keep), 'LIMIT', 0, 100)
for _, guid in ipairs(old) do
  redis.call('ZREM', base .. 'deliveries', guid)
  redis.call('HDEL', base .. 'delivery', guid)
end

if job.delivery then
  local seen = redis.call('HGET', base .. 'delivery', job.delivery)
  if seen then
    count('duplicate')
    return {'duplicate', seen}
  end
end

local function remember(at)
  if job.delivery then
    redis.call('ZADD', base .. 'deliveries', int(now), job.delivery)
    redis.call('HSET', base .. 'delivery', job.delivery, at)
  end
end

local twin = job.key and redis.call('HGET', base .. 'keys', job.key)
if twin then
  local h = get(twin)
  local prio = h.prio
  local asked = math.max(tonumber(job.asked), tonumber(h.asked or h.enqueued))
  set(twin, h, {merges = tonumber(h.merges or '0') + 1, asked = int(asked)})
  -- The newest request of the greatest urgency says what is to be done, as long
  -- as nobody works on it.
  if h.state ~= 'running' and job.prio >= prio then
    if payload == '' then
      redis.call('DEL', base .. 'payload:' .. twin)
    else
      redis.call('SET', base .. 'payload:' .. twin, payload)
    end
  end
  if job.prio > prio then
    if h.state == 'queued' then
      redis.call('ZREM', base .. 'ready:' .. group_of(h), prio .. twin)
      count('depth:' .. prio, -1)
      set(twin, h, {prio = job.prio})
      count('depth:' .. job.prio)
      redis.call('ZADD', base .. 'ready:' .. group_of(h), int(turn_of(h)), job.prio .. twin)
      moved[group_of(h)] = 'waits'
    else
      set(twin, h, {prio = job.prio})
    end
  end
  if h.state == 'snoozed' then move(twin, h, 'queued', nil, 'woken by another request') end
  remember(twin)
  count('merged')
  return {'merged', twin}
end

local answer = {'enqueued', id}
if job.ref then
  local older = {}
  for _, other in ipairs(redis.call('SMEMBERS', base .. 'ref:' .. job.ref)) do
    local h = get(other)
    if h.sha ~= job.sha then
      if job.reftime and h.reftime and tonumber(job.reftime) < tonumber(h.reftime) then
        remember(other)
        count('stale')
        return {'stale', other}
      end
      older[#older + 1] = {other, h}
    end
  end
  for _, o in ipairs(older) do
    set(o[1], o[2], {by = id})
    stop(o[1], o[2], 'superseded', 'superseded by job ' .. id)
    answer[#answer + 1] = o[1]
  end
end

job.enqueued = int(tick())
local h = {}
set(id, h, job)
if payload ~= '' then redis.call('SET', base .. 'payload:' .. id, payload) end
if checkpoint then redis.call('SET', base .. 'checkpoint:' .. id, checkpoint) end
link(id, h)
remember(id)
count('enqueued')
move(id, h, 'queued')
return answer
