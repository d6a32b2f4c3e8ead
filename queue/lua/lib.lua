-- Shared by all operations: each other file in this folder is the body of the
-- function that runs after it.
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

-- Each call of Redis from a script costs more than what it does. So jobs, counts
-- and the numbers of running jobs are read once and written once: the functions
-- below change tables, and flush, which runs after the operation, writes them.
local jobs, changed, cleared = {}, {}, {} -- by job ID
local counts = {}
local running, running_changed = {}, {} -- of the hash busy
local turns = {}                        -- of the hash served; false: none
local moved = {}                        -- group -> what happened to its jobs: waits, claimed, ended

local function count(name, by) counts[name] = (counts[name] or 0) + (by or 1) end

local function get(id)
  if not jobs[id] then
    local flat = redis.call('HGETALL', base .. 'job:' .. id)
    local h = {}
    for i = 1, #flat, 2 do h[flat[i]] = flat[i + 1] end
    jobs[id] = h
  end
  return jobs[id]
end

-- set changes fields of the table that get returned, or that is a new job.
local function set(id, h, fields)
  jobs[id] = h
  changed[id] = changed[id] or {}
  for k, v in pairs(fields) do
    h[k] = v
    changed[id][k] = v
  end
end

local function clear(id, h, ...)
  cleared[id] = cleared[id] or {}
  for _, field in ipairs({...}) do
    if h[field] ~= nil then cleared[id][field] = true end
    h[field] = nil
    if changed[id] then changed[id][field] = nil end
  end
end

-- wake tells subscribers: 'job' one may be claimed, 'report' an end is to be
-- told, 'stop <id>' the worker of this job is asked to stop. Nobody relies on it.
local function wake(text) redis.call('PUBLISH', base .. 'wake', text) end

local function group_of(h) return (h.inst or '') .. '\t' .. (h.repo or '') end

-- read makes fields of a hash known in a table.
local function read(key, known, names)
  local missing = {}
  for _, name in ipairs(names) do
    if known[name] == nil then missing[#missing + 1] = name end
  end
  if #missing == 0 then return end
  local values = redis.call('HMGET', base .. key, unpack(missing))
  for i, name in ipairs(missing) do known[name] = values[i] end
end

local function busy(name)
  read('busy', running, {name})
  return tonumber(running[name] or 0)
end

local function add_busy(group, inst, by)
  local names = {'g:' .. group, 'i:' .. inst, 'all'}
  read('busy', running, names)
  for _, name in ipairs(names) do
    running[name] = tonumber(running[name] or 0) + by
    running_changed[name] = true
  end
end

local function served(name)
  read('served', turns, {name})
  return turns[name]
end

local function forget_served(name)
  if served(name) then
    redis.call('HDEL', base .. 'served', name)
    turns[name] = false
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

-- settle_inst puts an installation where it belongs in the line. group and head
-- are one of its groups and the first job of that, if they are known.
local function settle_inst(inst, group, head)
  local first = redis.call('ZRANGE', base .. 'groups:' .. inst, 0, 0, 'WITHSCORES')
  if #first == 0 or inst_full(inst) then
    redis.call('ZREM', base .. 'insts', inst)
    if #first == 0 and busy('i:' .. inst) == 0 then forget_served('i:' .. inst) end
    return false
  end
  if first[1] ~= group then head = redis.call('ZRANGE', base .. 'ready:' .. first[1], 0, 0) end
  local at = turn(served('i:' .. inst), {head[1], first[2]})
  redis.call('ZADD', base .. 'insts', int(at), inst)
  return true
end

-- settle puts a group and its installation where they belong in the lines,
-- after anything that changes its jobs or how many of them run. It reports
-- whether a job of the installation can be claimed.
local function settle(group)
  moved[group] = nil
  local inst = string.match(group, '^(.-)\t')
  read('busy', running, {'g:' .. group, 'i:' .. inst})
  read('served', turns, {'g:' .. group, 'i:' .. inst})
  local head = redis.call('ZRANGE', base .. 'ready:' .. group, 0, 0, 'WITHSCORES')
  if #head == 0 or group_full(group) then
    redis.call('ZREM', base .. 'groups:' .. inst, group)
    if #head == 0 and busy('g:' .. group) == 0 then forget_served('g:' .. group) end
    return settle_inst(inst)
  end
  redis.call('ZADD', base .. 'groups:' .. inst, int(turn(served('g:' .. group), head)), group)
  return settle_inst(inst, group, head)
end

-- in_line reports whether a group and its installation have their places. When a
-- job has only stopped running, they then keep them.
local function in_line(group)
  local inst = string.match(group, '^(.-)\t')
  return redis.call('ZSCORE', base .. 'groups:' .. inst, group) and redis.call('ZSCORE', base .. 'insts', inst)
end

-- settle_moved settles the groups of all jobs that were moved, and wakes workers
-- if a job may be claimed that could not be before.
local function settle_moved()
  local claimable = false
  for group, how in pairs(moved) do
    if how == 'ended' and in_line(group) then
      moved[group] = nil
      claimable = claimable or limit.total >= 0
    else
      claimable = settle(group) and how ~= 'claimed' or claimable
    end
  end
  if claimable then wake('job') end
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
    add_busy(group, inst, -1)
    redis.call('HDEL', base .. 'claims', h.token)
  end
  if to == 'queued' then
    redis.call('ZADD', base .. 'ready:' .. group, int(turn_of(h)), h.prio .. id)
    count('depth:' .. h.prio)
  elseif to == 'running' then
    add_busy(group, inst, 1)
  end
  redis.call('ZADD', base .. 'state:' .. to, int(score), id)
  set(id, h, {state = to, due = int(score), since = int(now), history = past(h, to, why)})
  local how = 'waits'
  if to == 'running' then
    how = 'claimed'
  elseif from == 'running' and to ~= 'queued' then
    how = 'ended'
  end
  if not moved[group] or moved[group] == 'ended' or how == 'waits' then moved[group] = how end
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
  local flat = {}
  for k, v in pairs(get(id)) do
    flat[#flat + 1] = k
    flat[#flat + 1] = tostring(v)
  end
  flat[#flat + 1] = 'id'
  flat[#flat + 1] = id
  flat[#flat + 1] = 'payload'
  flat[#flat + 1] = redis.call('GET', base .. 'payload:' .. id) or ''
  return flat
end

-- flush writes what the operation changed.
local function flush()
  settle_moved()
  for id, fields in pairs(changed) do
    local args = {}
    for k, v in pairs(fields) do
      args[#args + 1] = k
      args[#args + 1] = v
    end
    if #args > 0 then redis.call('HSET', base .. 'job:' .. id, unpack(args)) end
  end
  for id, fields in pairs(cleared) do
    local args = {}
    for k in pairs(fields) do
      if jobs[id][k] == nil then args[#args + 1] = k end
    end
    if #args > 0 then redis.call('HDEL', base .. 'job:' .. id, unpack(args)) end
  end
  for name, by in pairs(counts) do redis.call('HINCRBY', base .. 'count', name, by) end
  local some, none = {}, {}
  for name in pairs(running_changed) do
    if running[name] > 0 then
      some[#some + 1] = name
      some[#some + 1] = int(running[name])
    else
      none[#none + 1] = name
    end
  end
  if #some > 0 then redis.call('HSET', base .. 'busy', unpack(some)) end
  if #none > 0 then redis.call('HDEL', base .. 'busy', unpack(none)) end
end
