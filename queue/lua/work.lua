-- work: worker, token, lease (us), how many jobs to claim at most, then id, fence
-- and summary of each job whose result is published. Completes these and then
-- claims, so that a worker that goes from job to job asks once. Answers {us until
-- something is due (-1: nothing is), {'done' or 'lost', for each that was
-- completed}, {a claimed job}, ...}.
local worker, token, till, most = ARGV[6], ARGV[7], int(now + tonumber(ARGV[8])), tonumber(ARGV[9])

local ending = {'state', 'enqueued', 'spec', 'history', 'fence', 'worker', 'token', 'stop', 'closed', 'saved', 'reason'}
local beginning = {
  'state', 'spec', 'history', 'prio', 'enqueued', 'payload', 'asked', 'started', 'attempt', 'crashes', 'row', 'saved',
}
local begun = {'spec', 'prio', 'enqueued', 'payload', 'asked', 'started', 'attempt', 'crashes', 'row', 'saved', 'fence', 'waited'}

local told, done, names = {}, {}, {'tick', 'n:done'}
local function also(name) names[#names + 1] = name end
for i = 10, #ARGV, 3 do
  local h, before = held(ARGV[i], ARGV[i + 1], worker, 'complete', ending)
  if h then
    done[#done + 1], h.told = h, ARGV[i + 2]
    also('k:' .. h.key)
    also('r:' .. h.ref)
    also('c:' .. h.token)
    also('g:' .. h.group)
    also('i:' .. h.inst)
  end
  told[#told + 1] = before and (before[2] or 'lost') or 'done'
end
if most > 0 then
  also('c:' .. token)
  also('due')
  also('paused')
  also('n:claimed')
  also('n:waited')
  also('n:depth:0')
end
learn(names)
local answer = {'-1', told}

-- The result is published already, so it counts even if the job was asked to
-- stop meanwhile.
for _, h in ipairs(done) do
  if h.told ~= '' then put(h, 'summary', h.told) end
  if h.stop then clear(h, 'stop') end
  finish(h, 'done')
  close(h, 'complete', 'done')
end
if most == 0 then return answer end

local function give(h)
  -- A job that came due a moment ago was read without its payload.
  local payload = h.payload or call('HGET', base .. 'job:' .. h.id, 'payload') or ''
  answer[#answer + 1] = {
    h.id, h.fence, h.spec, payload, h.prio, h.attempt or '', h.crashes or '', h.row or '', h.enqueued, h.asked or h.enqueued,
    h.started, h.waited, h.saved and call('GET', base .. 'checkpoint:' .. h.id) or '',
  }
end

if index['c:' .. token] then -- sent again after a lost answer
  for id in string.gmatch(index['c:' .. token], '%S+') do give(get(id, begun)) end
  return answer
end

local function earliest(state, due)
  local first = call('ZRANGE', base .. 'state:' .. state, '0', '0', 'WITHSCORES')[2]
  if first and (not due or tonumber(first) < due) then return tonumber(first) end
  return due
end

-- bring_due puts jobs into the line that are due.
local function bring_due()
  for _, state in ipairs({'retrying', 'snoozed'}) do
    for _, id in ipairs(call('ZRANGEBYSCORE', base .. 'state:' .. state, '-inf', stamp, 'LIMIT', '0', '50')) do
      local h = get(id)
      if h.state then
        move(h, 'queued', nil, 'due')
      else
        evicted(id, 'state:' .. state)
      end
    end
  end
  flush_moves()
  local due = earliest('retrying', earliest('snoozed'))
  note('due', due and int(due))
end

-- take claims the first job of the group whose turn it is, in the installation
-- whose turn it is.
local function take()
  while not total_full() do
    local inst = call('ZRANGE', base .. 'insts', '0', '0')[1]
    if not inst then return nil end
    local group, second = unpack(call('ZRANGE', base .. 'groups:' .. inst, '0', '1'))
    learn({'i:' .. inst, 'g:' .. group, second and 'g:' .. second})
    local i, g = line('i:' .. inst), line('g:' .. group)
    -- A worker with lower limits than the one that put it in the line takes it
    -- out; each round takes one out, so this ends.
    if inst_full(inst, i) then
      settle_inst(inst, i)
    elseif group_full(group, g) then
      settle(group, second or false)
    else
      local h = get(string.sub(g.head, 2), beginning)
      -- One that came due in this script was read without it.
      h.payload = h.payload or h.state and call('HGET', base .. 'job:' .. h.id, 'payload') or nil
      if h.state == 'queued' then
        local fence = tick()
        g.served, i.served = fence, fence
        local since = h.history and string.match(h.history, '(%d+) [^\n]*$') or h.enqueued
        h.waited = int(math.max(0, now - tonumber(since)))
        put(h, 'fence', int(fence))
        put(h, 'worker', worker)
        put(h, 'token', token)
        put(h, 'waited', h.waited)
        if not h.started then put(h, 'started', stamp) end
        with('c:' .. token, h.id)
        count('claimed')
        count('waited', tonumber(h.waited))
        -- Written first, so that a Redis without memory refuses the claim.
        call('ZADD', base .. 'state:running', till, h.id)
        move(h, 'running', till, worker)
        h.score, running_by = nil, running_by - 1
        settle(group, second or false)
        return h
      end
      h.prio, h.group = string.sub(g.head, 1, 1), group
      leave(h, g)
      evicted(h.id, 'state:queued')
      settle(group, second or false)
    end
  end
end

if index.due and tonumber(index.due) <= now then bring_due() end
settle_all()
if index.paused then return answer end
for _ = 1, most do
  local h = take()
  if not h then break end
  give(h)
end
if #answer - 2 < most then
  flush_moves()
  local due = earliest('retrying', earliest('snoozed', earliest('running')))
  if due then answer[1] = int(math.max(0, due - now)) end
end
return answer
