-- reap: most crashes, most jobs, lease (us, 0: at once). Takes jobs from workers
-- whose lease ran out. Answers {{fields...}, ...}; the fields tell where each job
-- went.
--
-- Whoever reaps regularly gives the lease and comes three times in it. If nobody
-- came for most of a lease, Redis itself was away, hung or restarted, and the
-- living could not renew: they get one lease to do it. Not twice in a row, so
-- that reapers that are slow for good still reap.
local most, n, lease = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
if lease > 0 then
  local last, hold = unpack(call('HMGET', base .. 'reaper', 'last', 'hold'))
  last, hold = tonumber(last or 0), tonumber(hold or 0)
  if now - last > lease * 2 / 3 and now > hold + lease then hold = now + lease end
  call('HSET', base .. 'reaper', 'last', stamp, 'hold', int(hold))
  if now < hold then return {} end
end
local ids = call('ZRANGEBYSCORE', base .. 'state:running', '-inf', int(now - 1), 'LIMIT', 0, n)
local reaped, counts_hold = {}, true
for _, id in ipairs(ids) do
  local h = get(id)
  if h.state then
    crashed(h, 'worker ' .. h.worker .. ' stopped renewing its lease', most)
    count('reaped')
    reaped[#reaped + 1] = id
  else
    evicted(id, 'state:running')
    counts_hold = false
  end
end
flush()

-- recount corrects what is noted of jobs that run: nobody knows in which line the
-- job ran whose hash is gone, and it would keep its place for ever.
local function recount()
  local runs = {}
  local function add(name) runs[name] = (runs[name] or 0) + 1 end
  for _, id in ipairs(call('ZRANGE', base .. 'state:running', '0', '-1')) do
    local h = get(id)
    if h.state then
      add('g:' .. h.group)
      add('i:' .. h.inst)
    end
  end
  local fields = call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    local field = fields[i]
    local kind, name = string.match(field, '^([cgi]):(.*)$')
    if kind == 'c' then
      for id in string.gmatch(fields[i + 1], '%S+') do
        if not get(id).state then without(field, id) end
      end
    elseif kind then
      local l, n = line(field), runs[field] or 0
      if l.running ~= n then
        l.running, l.dirty = n, true
        if kind == 'g' then
          unsettled[name] = true
        else
          settle_inst(name, l)
        end
      end
    end
  end
end
if not counts_hold then recount() end

local answer = {}
for i, id in ipairs(reaped) do answer[i] = all(id) end
return answer
