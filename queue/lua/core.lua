-- core: what all operations begin with. Each operation is the body of a function
-- that runs after it; flush, which runs last, writes what the operation changed.
--
-- KEYS[1]  {prefix}:index. All other keys begin with {prefix}: too and are
--          derived here, so that one Cluster slot holds the queue.
-- ARGV     1 time in microseconds, 0 for the server's own
--          2 ageing: microseconds of waiting that outweigh one class of priority
--          3, 4, 5 limits of running jobs: repository, installation, all
--          6... those of the operation
--
-- index            hash of all that an operation may need beside its job, so
--                  that one call reads it and one writes it:
--   tick           the queue's clock, see tick
--   k:<key>        Key -> ID of the job that has not ended
--   r:<ref>        IDs that have not ended
--   d:<GUID>       delivery -> ID
--   c:<token>      claim -> IDs that run by it, for a claim that is sent again
--   g:<group>, i:<inst>  their place in the line, see line
--   n:<name>       depth:<priority>, and totals since the beginning
--   due            no retrying or snoozed job is due before this time
--   oldest         time of the first of deliveries
--   paused         no claims
--                  Lists of IDs have a space before each.
-- job:<id>         hash: the job
-- checkpoint:<id>  bytes; the job's field saved tells that there is one
-- state:<state>    zset of IDs, one for each state; its scores: queued =
--                  enqueued, running = end of the lease, retrying and
--                  snoozed = due, ended = when
-- ready:<group>    zset of queued jobs of a group as <priority><id>, by turn
-- groups:<inst>    zset of an installation's groups that may be served, by turn
-- insts            zset of installations that may be served, by turn
-- deliveries       list of '<time> <GUID>', oldest first
-- tried            hash: GUID -> tries:settled|failed:last, of failed deliveries
--                  that led to no job; tries: zset of these by when they happened
-- recovered        time before which all failed deliveries are settled
-- turn:<task>      hash: holder and till of the process whose turn it is, due
-- reports          zset of IDs whose end is still to be told, by when
-- expiring         zset of IDs of ended jobs with a checkpoint, by end
-- reaper           hash: when somebody last looked for dead workers (last), and
--                  until when they are spared (hold)

local call = redis.call
local base = string.sub(KEYS[1], 1, -6)

-- stamp is the time as text: Lua would write the number as 1.7e+15.
local stamp = ARGV[1]
if stamp == '0' then
  local t = call('TIME')
  stamp = t[1] .. string.sub('00000' .. t[2], -6)
end
local now = tonumber(stamp)

-- int writes a number in full. Redis does that too with a number that is an
-- argument of a call, by way of a float, which takes longer than a ZADD.
local function int(n) return string.format('%d', n) end

-- Each call of Redis from a script costs about as much as the work that it
-- does, and building tables costs more. So fields of the index and jobs are read
-- once and written once.
local index, index_changed = {}, {} -- false: not there

-- learn reads fields of the index that are not known yet.
local function learn(names)
  local missing = {}
  for _, name in ipairs(names) do
    if index[name] == nil then missing[#missing + 1] = name end
  end
  if #missing == 0 then return end
  local values = call('HMGET', KEYS[1], unpack(missing))
  for i = 1, #missing do index[missing[i]] = values[i] or false end
end

local function known(name)
  if index[name] == nil then index[name] = call('HGET', KEYS[1], name) or false end
  return index[name]
end

-- note changes a field of the index; false: there is none.
local function note(name, value)
  index[name] = value
  index_changed[name] = true
end

local counts = {}
local function count(name, by)
  name = 'n:' .. name
  counts[name] = (counts[name] or 0) + (by or 1)
end

-- tick is the queue's clock: the time, but never twice the same value. It
-- numbers turns and fences. It follows the time so that a number given out
-- after a failover is higher than one that the failover lost.
local function tick()
  local t, last = now, tonumber(known('tick') or 0)
  if t <= last then t = last + 1 end
  note('tick', int(t))
  return t
end

-- with and without change a list of IDs of the index.
local function with(name, id) note(name, (known(name) or '') .. ' ' .. id) end

local function without(name, id)
  local list = known(name)
  local at = list and string.find(list, ' ' .. id, 1, true)
  if not at then return end
  list = string.sub(list, 1, at - 1) .. string.sub(list, at + #id + 1)
  note(name, list ~= '' and list)
end

-- all_fields are those that operations look at; one that needs few of them, and
-- often, says which.
local all_fields = {
  'state', 'prio', 'spec', 'enqueued', 'history', 'fence', 'worker', 'token', 'stop', 'closed',
  'started', 'attempt', 'crashes', 'row', 'step', 'merges', 'asked', 'reason', 'saved', 'by', 'summary', 'reporter', 'reports', 'reported',
}
local jobs, touched = {}, {}

-- understand splits what never changes of a job: texts without control
-- characters, empty if there is none.
local function understand(h)
  h.delivery, h.key, h.ref, h.sha, h.reftime, h.group = string.match(h.spec, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  h.inst = string.match(h.group, '^[^\t]*')
end

local function get(id, fields)
  local h = jobs[id]
  if h then return h end
  fields = fields or all_fields
  local v = call('HMGET', base .. 'job:' .. id, unpack(fields))
  -- Named here, so that the table has its size from the start.
  h = {
    id = id, state = nil, spec = nil, history = nil, fence = nil, worker = nil, token = nil, prio = nil, delivery = nil,
    key = nil, ref = nil, sha = nil, reftime = nil, group = nil, inst = nil, from = nil, score = nil, changed = nil, cleared = nil,
  }
  for i = 1, #fields do
    if v[i] then h[fields[i]] = v[i] end
  end
  if h.spec then understand(h) end
  jobs[id] = h
  return h
end

-- evicted takes a job whose hash Redis dropped out of a set. CheckServer refuses
-- servers that do so; on others one lost job must not stand in the way of those
-- that are there.
local function evicted(id, set)
  call('ZREM', base .. set, id)
  count('evicted')
end

local function touch(h)
  if not h.changed then
    h.changed, h.cleared = {}, {}
    touched[#touched + 1] = h
  end
end

local function put(h, field, value)
  touch(h)
  h[field] = value
  local c = h.changed
  c[#c + 1] = field
  c[#c + 1] = value
end

local function clear(h, ...)
  for _, field in ipairs({...}) do
    if h[field] ~= nil then
      touch(h)
      h[field] = nil
      h.cleared[#h.cleared + 1] = field
    end
  end
end

-- wake tells subscribers: 'job' one may be claimed, 'report' an end is to be
-- told, 'stop <id>' the worker of this job is asked to stop. Nobody relies on it.
local wakes = {}
local function wake(text) wakes[text] = true end

-- Sets of states are written together, and after that what belongs to an end. A
-- Redis without memory takes what follows the removal of a key: so ends go
-- through, and what needs room first is refused.
local moved, later = {}, {}
local running_by = 0 -- jobs more in moved that run

local function flush_moves()
  local left, came = {}, {}
  for _, h in ipairs(moved) do
    if h.from and h.from ~= h.state then
      left[h.from] = left[h.from] or {}
      table.insert(left[h.from], h.id)
    end
    if h.score then
      came[h.state] = came[h.state] or {}
      table.insert(came[h.state], h.score)
      table.insert(came[h.state], h.id)
    end
    h.from = nil
  end
  moved, running_by = {}, 0
  for state, ids in pairs(left) do call('ZREM', base .. 'state:' .. state, unpack(ids)) end
  for state, ids in pairs(came) do call('ZADD', base .. 'state:' .. state, unpack(ids)) end
  for _, args in ipairs(later) do call(unpack(args)) end
  later = {}
end

local function flush_jobs()
  for _, h in ipairs(touched) do
    if #h.changed > 0 then call('HSET', base .. 'job:' .. h.id, unpack(h.changed)) end
    local gone = {}
    for _, field in ipairs(h.cleared) do
      if h[field] == nil then gone[#gone + 1] = field end
    end
    if #gone > 0 then call('HDEL', base .. 'job:' .. h.id, unpack(gone)) end
    h.changed, h.cleared = nil, nil
  end
  touched = {}
end

local function flush_index()
  local names = {}
  for name in pairs(counts) do names[#names + 1] = name end
  learn(names)
  for name, by in pairs(counts) do note(name, int(tonumber(index[name] or 0) + by)) end
  counts = {}
  local some, none = {}, {}
  for name in pairs(index_changed) do
    if index[name] then
      some[#some + 1] = name
      some[#some + 1] = index[name]
    else
      none[#none + 1] = name
    end
  end
  index_changed = {}
  if #none > 0 then call('HDEL', KEYS[1], unpack(none)) end
  if #some > 0 then call('HSET', KEYS[1], unpack(some)) end
end

local flush_lines -- of line

-- flush writes what the operation changed.
local function flush()
  if flush_lines then flush_lines() end
  flush_moves()
  flush_jobs()
  flush_index()
  for text in pairs(wakes) do call('PUBLISH', base .. 'wake', text) end
  wakes = {}
end

-- all is a job as the caller wants it, after flush: names and values.
local function all(id)
  local flat = call('HGETALL', base .. 'job:' .. id)
  flat[#flat + 1] = 'id'
  flat[#flat + 1] = id
  return flat
end
