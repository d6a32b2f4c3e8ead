-- line: whose turn it is. After core.
local ageing = tonumber(ARGV[2])
local limit = {repository = tonumber(ARGV[3]), installation = tonumber(ARGV[4]), total = tonumber(ARGV[5])}

-- A line says how a group (g:<group>) or an installation (i:<inst>) stands. The
-- index keeps one as long as there are jobs that wait or run.
--   running  jobs
--   placed   of an installation: its groups that have a place
--   served   tick of the last claim, 0 for none
--   at       its place in groups:<inst> or insts, nil: it has none
--   head, turn  of a group: member and score of the first of ready:<group>,
--            nil: none of its jobs waits
local lines, unsettled = {}, {}

-- opened maps groups and installations that have a place since this script to
-- their installation: of their jobs one may be claimed that could not be before.
local opened = {}

local function line(name)
  local l = lines[name]
  if l then return l end
  local text = known(name)
  if text then
    local running, placed, served, at, turn, head = string.match(text, '^(%d+) (%d+) (%d+) (%-?%d*) (%-?%d*) (.*)$')
    l = {
      running = tonumber(running), placed = tonumber(placed), served = tonumber(served), at = tonumber(at), turn = tonumber(turn),
      head = head ~= '' and head or nil, dirty = false,
    }
  else
    l = {running = 0, placed = 0, served = 0, at = nil, turn = nil, head = nil, dirty = false}
  end
  lines[name] = l
  return l
end

-- A job without repository or installation has no such limit.
local function group_full(group, g)
  return limit.repository >= 0 and g.running >= limit.repository and string.sub(group, -1) ~= '\t'
end

local function inst_full(inst, i)
  return limit.installation >= 0 and i.running >= limit.installation and inst ~= ''
end

-- turn_at is when somebody is served who was served last at the given tick and
-- whose next job is head, with this turn.
local function turn_at(served, head, turn)
  local at = served - (string.byte(head) - 48) * ageing
  if at > turn then return at end
  return turn
end

-- settle_inst puts an installation where it belongs in the line. first is the
-- first of its groups that have a place, if that is known.
local function settle_inst(inst, i, first)
  local at
  if i.placed > 0 and not inst_full(inst, i) then
    first = first or call('ZRANGE', base .. 'groups:' .. inst, '0', '0')[1]
    local g = line('g:' .. first)
    at = turn_at(i.served, g.head, g.at)
  end
  if at == i.at then return end
  if at then
    call('ZADD', base .. 'insts', int(at), inst)
    if not i.at then opened[i] = i end
  else
    call('ZREM', base .. 'insts', inst)
  end
  i.at, i.dirty = at, true
end

-- settle puts a group and its installation where they belong in the lines,
-- after anything that changes its jobs or how many of them run. second is a
-- group of the same installation that is before all others but this one, false
-- if there is no other; nil: it is not known.
local function settle(group, second)
  unsettled[group] = nil
  local inst = string.match(group, '^[^\t]*')
  local g, i = line('g:' .. group), line('i:' .. inst)
  local at
  if g.head and not group_full(group, g) then at = turn_at(g.served, g.head, g.turn) end
  if at ~= g.at then
    if at then
      call('ZADD', base .. 'groups:' .. inst, int(at), group)
    else
      call('ZREM', base .. 'groups:' .. inst, group)
    end
    if not g.at then
      i.placed, i.dirty, opened[g] = i.placed + 1, true, i
    elseif not at then
      i.placed, i.dirty = i.placed - 1, true
    end
    g.at, g.dirty = at, true
  end
  local first
  if at and i.placed == 1 then
    first = group
  elseif second then
    first = second
    local other = line('g:' .. second)
    if at and (at < other.at or at == other.at and group < second) then first = group end
  end
  settle_inst(inst, i, first)
end

-- settle_all settles the groups of all jobs that were moved.
local function settle_all()
  for group in pairs(unsettled) do settle(group) end
end

-- join and leave are about a job that waits. One behind others changes nothing
-- in the line.
local function join(h, g)
  local turn, member = tonumber(h.enqueued) - tonumber(h.prio) * ageing, h.prio .. h.id
  call('ZADD', base .. 'ready:' .. h.group, int(turn), member)
  count('depth:' .. h.prio)
  if not g.head or turn < g.turn or turn == g.turn and member < g.head then
    g.head, g.turn, g.dirty = member, turn, true
    unsettled[h.group] = true
  elseif not g.at then
    unsettled[h.group] = true -- this process may have higher limits than who took it out
  end
end

local function leave(h, g)
  local member = h.prio .. h.id
  call('ZREM', base .. 'ready:' .. h.group, member)
  count('depth:' .. h.prio, -1)
  if g.head == member then
    local first = call('ZRANGE', base .. 'ready:' .. h.group, '0', '0', 'WITHSCORES')
    g.head, g.turn, g.dirty = first[1], tonumber(first[2]), true
    unsettled[h.group] = true
  end
end

-- run is about one job more or less that runs. Who has a place keeps it when a
-- job ends.
local freed = false
local function run(h, g, by)
  local i = line('i:' .. h.inst)
  g.running, g.dirty = g.running + by, true
  i.running, i.dirty = i.running + by, true
  running_by = running_by + by
  freed = freed or by < 0
  if by > 0 or g.head and not g.at or i.placed > 0 and not i.at then unsettled[h.group] = true end
end

local function total_full()
  return limit.total >= 0 and call('ZCARD', base .. 'state:running') + running_by >= limit.total
end

function flush_lines()
  settle_all()
  for l, i in pairs(opened) do
    if l.at and i.at then wake('job') end
  end
  opened = {}
  if freed and limit.total >= 0 and not total_full() then wake('job') end
  for name, l in pairs(lines) do
    if l.dirty then
      l.dirty = nil
      if l.running == 0 and l.placed == 0 and not l.head then
        note(name, false)
      else
        note(name, string.format('%d %d %d %s %s %s', l.running, l.placed, l.served, l.at and int(l.at) or '', l.turn and int(l.turn) or '', l.head or ''))
      end
    end
  end
end
