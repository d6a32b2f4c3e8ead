-- Shared by all operations; each file in this folder is appended to it.
--
-- KEYS[1]  {prefix}:tick. All other keys begin with {prefix}: too and are
--          derived here, so that one Cluster slot holds the queue.
-- ARGV     1 time in microseconds, 0 for the server's own
--          2 ageing: microseconds of waiting that outweigh one class of priority
--          3, 4, 5 limits of running jobs: repository, installation, all
--          6... those of the operation
--
-- job:<id>         hash: the job without its payload
-- payload:<id>     bytes
-- checkpoint:<id>  bytes
-- state:<state>    zset of IDs, one for each state; its scores: queued =
--                  enqueued, running = end of the lease, retrying and
--                  snoozed = due, ended = when
-- ready:<group>    zset of queued jobs of a group as <priority><id>, by turn
-- groups:<inst>    zset of an installation's groups that may be served, by turn
-- insts            zset of installations that may be served, by turn
-- served           hash: turn of the last claim of g:<group> and i:<inst>
-- busy             hash: running jobs of g:<group>, i:<inst>, all
-- keys             hash: Key -> ID of the job that has not ended
-- ref:<ref>        set of IDs that have not ended
-- delivery         hash: GUID -> ID; deliveries: zset of GUIDs by time
-- tried            hash: GUID -> tries:settled|failed:last, of failed deliveries
--                  that led to no job; tries: zset of these by when they happened
-- recovered        time before which all failed deliveries are settled
-- turn:<task>      hash: holder and till of the process whose turn it is, due
-- claims           hash: token of a claim -> ID, for a claim that is sent again
-- reports          zset of IDs whose end is still to be told, by when
-- expiring         zset of IDs of ended jobs with a checkpoint, by end
-- reaper           hash: when somebody last looked for dead workers (last), and
--                  until when they are spared (hold)
-- count            hash: depth:<priority>, and totals since the beginning

local base = string.sub(KEYS[1], 1, -5)
local ageing = tonumber(ARGV[2])
local limit = {repository = tonumber(ARGV[3]), installation = tonumber(ARGV[4]), total = tonumber(ARGV[5])}

local now = tonumber(ARGV[1])
if now == 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end

local terminal = {done = true, dead = true, cancelled = true, superseded = true}

-- Lua would write 1.7e+15.
local function int(n) return string.format('%.0f', n) end

-- tick is the queue's clock: the time, but never twice the same value. It
-- numbers turns and fences. It follows the time so that a number given out
-- after a failover is higher than one that the failover lost.
local function tick()
  local t = now
  local last = tonumber(redis.call('GET', KEYS[1]) or '0')
  if t <= last then t = last + 1 end
  redis.call('SET', KEYS[1], int(t))
  return t
end

local function count(name, by) redis.call('HINCRBY', base .. 'count', name, by or 1) end

local function get(id)
  local flat = redis.call('HGETALL', base .. 'job:' .. id)
  local h = {}
  for i = 1, #flat, 2 do h[flat[i]] = flat[i + 1] end
  return h
end

-- set writes fields to Redis and to the table that get returned.
local function set(id, h, fields)
  local args = {'HSET', base .. 'job:' .. id}
  for k, v in pairs(fields) do
    h[k] = v
    args[#args + 1] = k
    args[#args + 1] = v
  end
  redis.call(unpack(args))
end

local function clear(id, h, ...)
  for _, k in ipairs({...}) do h[k] = nil end
  redis.call('HDEL', base .. 'job:' .. id, ...)
end

-- wake tells subscribers: 'job' one may be claimed, 'report' an end is to be
-- told, 'stop <id>' the worker of this job is asked to stop. Nobody relies on it.
local function wake(text) redis.call('PUBLISH', base .. 'wake', text) end

local function group_of(h) return (h.inst or '') .. '\t' .. (h.repo or '') end

local function busy(name) return tonumber(redis.call('HGET', base .. 'busy', name) or '0') end

local function add_busy(name, by)
  if redis.call('HINCRBY', base .. 'busy', name, by) <= 0 then
    redis.call('HDEL', base .. 'busy', name)
  end
end

-- A job without repository or installation has no such limit.
local function group_full(group)
  return limit.repository >= 0 and string.sub(group, -1) ~= '\t' and busy('g:' .. group) >= limit.repository
end

local function inst_full(inst)
  return limit.installation >= 0 and inst ~= '' and busy('i:' .. inst) >= limit.installation
end

-- turn is when somebody is served who was served last at the given tick and
-- whose next job is the head {member, turn} of a ready set.
local function turn(served, head)
  local t = tonumber(head[2])
  local line = tonumber(served or '0') - tonumber(string.sub(head[1], 1, 1)) * ageing
  if line > t then return line end
  return t
end

local function settle_inst(inst)
  local first = redis.call('ZRANGE', base .. 'groups:' .. inst, 0, 0, 'WITHSCORES')
  if #first == 0 or inst_full(inst) then
    redis.call('ZREM', base .. 'insts', inst)
    if #first == 0 and busy('i:' .. inst) == 0 then redis.call('HDEL', base .. 'served', 'i:' .. inst) end
    return false
  end
  local head = redis.call('ZRANGE', base .. 'ready:' .. first[1], 0, 0)
  local at = turn(redis.call('HGET', base .. 'served', 'i:' .. inst), {head[1], first[2]})
  redis.call('ZADD', base .. 'insts', int(at), inst)
  return true
end

-- settle puts a group and its installation where they belong in the lines,
-- after anything that changes its jobs or how many of them run. It reports
-- whether a job of the installation can be claimed.
local function settle(group)
  local inst = string.match(group, '^(.-)\t')
  local head = redis.call('ZRANGE', base .. 'ready:' .. group, 0, 0, 'WITHSCORES')
  if #head == 0 or group_full(group) then
    redis.call('ZREM', base .. 'groups:' .. inst, group)
    if #head == 0 and busy('g:' .. group) == 0 then redis.call('HDEL', base .. 'served', 'g:' .. group) end
  else
    local at = turn(redis.call('HGET', base .. 'served', 'g:' .. group), head)
    redis.call('ZADD', base .. 'groups:' .. inst, int(at), group)
  end
  return settle_inst(inst)
end

local function turn_of(h) return tonumber(h.enqueued) - tonumber(h.prio) * ageing end

-- past is a job's history with one more line: when, which state, and why or by
-- whom. The oldest lines go first when it grows long.
local function past(h, to, why)
  local line = int(now) .. ' ' .. to
  if why and why ~= '' then line = line .. ' ' .. string.sub(string.gsub(why, '%c', ' '), 1, 160) end
  if not h.history then return line end
  local all = h.history .. '\n' .. line
  while #all > 3000 do all = string.sub(all, string.find(all, '\n', 1, true) + 1) end
  return all
end

-- move is the only way from one state to another. score is that of the new
-- state's set; a queued job keeps the age it has. why goes into its history.
local function move(id, h, to, score, why)
  if to == 'queued' then score = tonumber(h.enqueued) end
  local from, group, inst = h.state, group_of(h), h.inst or ''
  if from then redis.call('ZREM', base .. 'state:' .. from, id) end
  if from == 'queued' then
    redis.call('ZREM', base .. 'ready:' .. group, h.prio .. id)
    count('depth:' .. h.prio, -1)
  elseif from == 'running' then
    add_busy('g:' .. group, -1)
    add_busy('i:' .. inst, -1)
    add_busy('all', -1)
    redis.call('HDEL', base .. 'claims', h.token)
  end
  if to == 'queued' then
    redis.call('ZADD', base .. 'ready:' .. group, int(turn_of(h)), h.prio .. id)
    count('depth:' .. h.prio)
  elseif to == 'running' then
    add_busy('g:' .. group, 1)
    add_busy('i:' .. inst, 1)
    add_busy('all', 1)
  end
  redis.call('ZADD', base .. 'state:' .. to, int(score), id)
  set(id, h, {state = to, due = int(score), since = int(now), history = past(h, to, why)})
  if settle(group) and to ~= 'running' then wake('job') end
end

local function link(id, h)
  if h.key then redis.call('HSET', base .. 'keys', h.key, id) end
  if h.ref then redis.call('SADD', base .. 'ref:' .. h.ref, id) end
end

-- unlink makes room for another job of the same Key.
local function unlink(id, h)
  if h.key and redis.call('HGET', base .. 'keys', h.key) == id then redis.call('HDEL', base .. 'keys', h.key) end
  if h.ref then redis.call('SREM', base .. 'ref:' .. h.ref, id) end
end

-- finish ends a job. A worker told the end of a done job; any other end goes on
-- the list of ends to report.
local function finish(id, h, to, reason)
  set(id, h, {ended = int(now), reason = reason or ''})
  unlink(id, h)
  if redis.call('EXISTS', base .. 'checkpoint:' .. id) == 1 then
    redis.call('ZADD', base .. 'expiring', int(now), id)
  end
  count(to)
  move(id, h, to, now, reason)
  if to ~= 'done' then
    redis.call('ZADD', base .. 'reports', int(now), id)
    wake('report')
  end
end

-- stop ends a job that waits, and asks the worker of one that runs.
local function stop(id, h, signal, reason)
  if h.state ~= 'running' then
    finish(id, h, signal, reason)
  elseif not h.stop then
    set(id, h, {stop = signal, reason = reason})
    unlink(id, h)
    wake('stop ' .. id)
  end
end

-- held returns the job if the fence is that of its present lease. Otherwise it
-- returns nothing and the answer: what the same operation with the same fence
-- came to when it is sent again after a lost answer, or that the lease is lost.
-- Without a worker the fence alone counts.
local function held(id, fence, worker, op)
  local h = get(id)
  if h.state == 'running' and h.fence == fence and h.worker == (worker or h.worker) then return h end
  local before = h.closed and string.match(h.closed, '^' .. fence .. ':' .. op .. ':(%a+)$')
  if before then return nil, {'ok', before} end
  return nil, {'lost'}
end

-- close notes how the lease ended, and frees the job for its next one.
local function close(id, h, op, to)
  set(id, h, {closed = h.fence .. ':' .. op .. ':' .. to})
  return {'ok', to}
end

local function renew(id, h, lease)
  local till = int(now + lease)
  redis.call('ZADD', base .. 'state:running', till, id)
  set(id, h, {due = till})
end

-- crashed takes a job from a worker that died, lost its lease or panicked. The
-- crashes in a row, without progress between them, bury it.
local function crashed(id, h, why, most)
  local row = tonumber(h.row or '0') + 1
  set(id, h, {crashes = tonumber(h.crashes or '0') + 1, row = row})
  count('crashed')
  local to = 'queued'
  if h.stop then
    to = h.stop
    finish(id, h, to, h.reason)
  elseif row >= most then
    to = 'dead'
    finish(id, h, to, why .. ' (crash ' .. row .. ' in a row without progress)')
  else
    set(id, h, {reason = why})
    move(id, h, to, nil, why)
  end
  return to
end

-- all is a job as the caller wants it: its fields, then its payload.
local function all(id)
  local flat = redis.call('HGETALL', base .. 'job:' .. id)
  flat[#flat + 1] = 'id'
  flat[#flat + 1] = id
  flat[#flat + 1] = 'payload'
  flat[#flat + 1] = redis.call('GET', base .. 'payload:' .. id) or ''
  return flat
end
