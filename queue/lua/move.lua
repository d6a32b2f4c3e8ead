-- move: how jobs go from state to state. After core and line.
local terminal = {done = true, dead = true, cancelled = true, superseded = true}

-- past is a job's history with one more line: when, which state, and why or by
-- whom. Its first is not written as long as it is the only one: the job came when
-- it was enqueued. The oldest go first when there are many.
local function past(h, to, why)
  local text = stamp .. ' ' .. to
  if why and why ~= '' then
    if string.find(why, '%c') then why = string.gsub(why, '%c', ' ') end
    text = text .. ' ' .. string.sub(why, 1, 160)
  end
  local all = (h.history or h.enqueued .. ' queued') .. '\n' .. text
  while #all > 3000 do all = string.sub(all, string.find(all, '\n', 1, true) + 1) end
  return all
end

-- move is the only way from one state to another. score is that of the new
-- state's set, as text; a queued job keeps the age it has. why goes into its history.
local function move(h, to, score, why)
  local from, g = h.state, line('g:' .. h.group)
  if from == 'queued' then
    leave(h, g)
  elseif from == 'running' then
    run(h, g, -1)
    without('c:' .. h.token, h.id)
  end
  if to == 'queued' then
    score = h.enqueued
    join(h, g)
  elseif to == 'running' then
    run(h, g, 1)
  end
  if h.from == nil then
    h.from = from or false
    moved[#moved + 1] = h
  end
  h.score = score
  put(h, 'state', to)
  if from then put(h, 'history', past(h, to, why)) end
  if to == 'running' then
    put(h, 'due', score)
  elseif to == 'retrying' or to == 'snoozed' then
    put(h, 'due', score)
    local due = known('due')
    if not due or tonumber(score) < tonumber(due) then note('due', score) end
  end
end

-- twin returns the job of this Key that has not ended.
local function twin(key)
  local id = key ~= '' and known('k:' .. key)
  if not id then return nil end
  local h = get(id)
  if h.state then return h end
  note('k:' .. key, false) -- evicted
end

local function link(h)
  if h.key ~= '' then note('k:' .. h.key, h.id) end
  if h.ref ~= '' then with('r:' .. h.ref, h.id) end
end

-- unlink makes room for another job of the same Key.
local function unlink(h)
  if h.key ~= '' and known('k:' .. h.key) == h.id then note('k:' .. h.key, false) end
  if h.ref ~= '' then without('r:' .. h.ref, h.id) end
end

-- finish ends a job. A worker told the end of a done job; any other end goes on
-- the list of ends to report.
local function finish(h, to, reason)
  if reason and reason ~= '' then
    put(h, 'reason', reason)
  elseif h.reason then
    clear(h, 'reason')
  end
  unlink(h)
  if h.saved then later[#later + 1] = {'ZADD', base .. 'expiring', stamp, h.id} end
  count(to)
  move(h, to, stamp, reason)
  if to ~= 'done' then
    later[#later + 1] = {'ZADD', base .. 'reports', stamp, h.id}
    wake('report')
  end
end

-- stop ends a job that waits, and asks the worker of one that runs.
local function stop(h, signal, reason)
  if h.state ~= 'running' then
    finish(h, signal, reason)
  elseif not h.stop then
    put(h, 'stop', signal)
    put(h, 'reason', reason)
    unlink(h)
    wake('stop ' .. h.id)
  end
end

-- crashed takes a job from a worker that died, lost its lease or panicked. The
-- crashes in a row, without progress between them, bury it.
local function crashed(h, why, most)
  local row = tonumber(h.row or 0) + 1
  put(h, 'crashes', tonumber(h.crashes or 0) + 1)
  put(h, 'row', row)
  count('crashed')
  local to = 'queued'
  if h.stop then
    to = h.stop
    finish(h, to, h.reason)
  elseif row >= most then
    to = 'dead'
    finish(h, to, why .. ' (crash ' .. row .. ' in a row without progress)')
  else
    put(h, 'reason', why)
    move(h, to, nil, why)
  end
  return to
end
