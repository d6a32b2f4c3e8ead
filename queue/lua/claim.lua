-- claim: worker, token, lease (us). Answers {'job', checkpoint, fields...} or
-- {'empty', us until something is due, -1 for nothing}.
local worker, token, lease = ARGV[6], ARGV[7], tonumber(ARGV[8])

local function answer(id)
  return {'job', redis.call('GET', base .. 'checkpoint:' .. id) or '', unpack(all(id))}
end

local before = redis.call('HGET', base .. 'claims', token)
if before then return answer(before) end -- sent again after a lost answer

for _, state in ipairs({'retrying', 'snoozed'}) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'state:' .. state, '-inf', int(now), 'LIMIT', 0, 50)) do
    move(id, get(id), 'queued', nil, 'due')
  end
end

settle_moved()

local function empty()
  local due
  for _, state in ipairs({'retrying', 'snoozed', 'running'}) do
    local first = redis.call('ZRANGE', base .. 'state:' .. state, 0, 0, 'WITHSCORES')
    if #first > 0 and (not due or tonumber(first[2]) < due) then due = tonumber(first[2]) end
  end
  if not due then return {'empty', '-1'} end
  return {'empty', int(math.max(0, due - now))}
end

if redis.call('EXISTS', base .. 'paused') == 1 then return {'empty', '-1'} end
if limit.total >= 0 and busy('all') >= limit.total then return empty() end

while true do
  local inst = redis.call('ZRANGE', base .. 'insts', 0, 0)[1]
  if not inst then return empty() end
  local group = redis.call('ZRANGE', base .. 'groups:' .. inst, 0, 0)[1]
  -- A worker with lower limits than the one that put it in the line takes it
  -- out; each round takes one out, so this ends.
  if inst_full(inst) then
    settle_inst(inst)
  elseif group_full(group) then
    settle(group)
  else
    local member = redis.call('ZRANGE', base .. 'ready:' .. group, 0, 0)[1]
    local id = string.sub(member, 2)
    local h = get(id)
    if h.state ~= 'queued' then
      -- Its hash was evicted: CheckServer refuses such servers. One lost job
      -- must not block all others.
      redis.call('ZREM', base .. 'ready:' .. group, member)
      redis.call('ZREM', base .. 'state:queued', id)
      count('evicted')
      settle(group)
    else
      local fence = int(tick())
      redis.call('HSET', base .. 'served', 'g:' .. group, fence, 'i:' .. inst, fence)
      turns['g:' .. group], turns['i:' .. inst] = fence, fence
      redis.call('HSET', base .. 'claims', token, id)
      local waited = int(math.max(0, now - tonumber(h.since)))
      set(id, h, {fence = fence, worker = worker, token = token, started = h.started or int(now), waited = waited})
      count('claimed')
      count('waited', waited)
      move(id, h, 'running', now + lease, worker)
      return answer(id)
    end
  end
end
