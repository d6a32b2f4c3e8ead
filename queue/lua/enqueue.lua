-- enqueue: keep deliveries (us), then for each job: id, priority, when it was
-- asked for (us, empty: now), spec, payload, checkpoint. Answers a line for each:
-- outcome, ID and the IDs of superseded jobs, with spaces between.
local keep = tonumber(ARGV[6])

local batch, names = {}, {'tick', 'oldest', 'n:enqueued'}
local function also(name) names[#names + 1] = name end
for i = 7, #ARGV, 6 do
  local h = {id = ARGV[i], prio = ARGV[i + 1], asked = ARGV[i + 2], spec = ARGV[i + 3], payload = ARGV[i + 4], checkpoint = ARGV[i + 5]}
  understand(h)
  batch[#batch + 1] = h
  also('d:' .. h.delivery)
  also('k:' .. h.key)
  also('r:' .. h.ref)
  also('g:' .. h.group)
  also('n:depth:' .. h.prio)
end
learn(names)

-- Deliveries are forgotten some at a time.
if index.oldest and tonumber(index.oldest) <= now - keep then
  local gone, oldest = 0, false
  for _, entry in ipairs(call('LRANGE', base .. 'deliveries', 0, 100 + #batch)) do
    local at, guid = string.match(entry, '^(%d+) (.*)$')
    if tonumber(at) > now - keep or gone == 100 + #batch then
      oldest = at
      break
    end
    gone = gone + 1
    note('d:' .. guid, false)
  end
  call('LTRIM', base .. 'deliveries', gone, -1)
  note('oldest', oldest)
end

local deliveries = {}
local function remember(job, id)
  if job.delivery == '' then return end
  note('d:' .. job.delivery, id)
  deliveries[#deliveries + 1] = stamp .. ' ' .. job.delivery
  if not index.oldest then note('oldest', stamp) end
end

-- merge takes a job along in one of the same Key that has not ended.
local function merge(job, h)
  local asked = job.asked ~= '' and job.asked or stamp
  put(h, 'merges', tonumber(h.merges or 0) + 1)
  if tonumber(asked) > tonumber(h.asked or h.enqueued) then put(h, 'asked', asked) end
  -- The newest request of the greatest urgency says what is to be done, as long
  -- as nobody works on it.
  if h.state ~= 'running' and job.prio >= h.prio then
    if job.payload == '' then
      h.payload = h.payload or ''
      clear(h, 'payload')
    else
      put(h, 'payload', job.payload)
    end
  end
  if job.prio > h.prio then
    if h.state == 'queued' then
      local g = line('g:' .. h.group)
      leave(h, g)
      put(h, 'prio', job.prio)
      join(h, g)
    else
      put(h, 'prio', job.prio)
    end
  end
  if h.state == 'snoozed' then move(h, 'queued', nil, 'woken by another request') end
  remember(job, h.id)
  count('merged')
  return 'merged ' .. h.id
end

local function enqueue(job)
  local id = job.id
  local seen = job.delivery ~= '' and known('d:' .. job.delivery)
  if seen == id or job.delivery == '' and call('EXISTS', base .. 'job:' .. id) == 1 then
    return 'enqueued ' .. id -- sent again after a lost answer
  end
  if seen then
    count('duplicate')
    return 'duplicate ' .. seen
  end
  local same = twin(job.key)
  if same then return merge(job, same) end

  local answer = 'enqueued ' .. id
  if job.ref ~= '' then
    local older = {}
    for other in string.gmatch(known('r:' .. job.ref) or '', '%S+') do
      local h = get(other)
      if not h.state then
        without('r:' .. job.ref, other) -- evicted
      elseif h.sha ~= job.sha then
        if job.reftime ~= '' and h.reftime ~= '' and tonumber(job.reftime) < tonumber(h.reftime) then
          remember(job, other)
          count('stale')
          return 'stale ' .. other
        end
        older[#older + 1] = h
      end
    end
    for _, h in ipairs(older) do
      put(h, 'by', id)
      stop(h, 'superseded', 'superseded by job ' .. id)
      answer = answer .. ' ' .. h.id
    end
  end

  local asked, checkpoint, payload = job.asked, job.checkpoint, job.payload
  job.asked, job.checkpoint, job.payload = nil, nil, nil
  jobs[id] = job
  put(job, 'spec', job.spec)
  put(job, 'prio', job.prio)
  put(job, 'enqueued', int(tick()))
  if payload ~= '' then put(job, 'payload', payload) end
  if asked ~= '' then
    put(job, 'asked', asked)
  elseif job.enqueued ~= stamp then
    put(job, 'asked', stamp)
  end
  if checkpoint ~= '' then
    call('SET', base .. 'checkpoint:' .. id, checkpoint)
    put(job, 'saved', 1)
  end
  link(job)
  remember(job, id)
  count('enqueued')
  move(job, 'queued')
  return answer
end

local answers = {}
for i, job in ipairs(batch) do answers[i] = enqueue(job) end
if #deliveries > 0 then call('RPUSH', base .. 'deliveries', unpack(deliveries)) end
return table.concat(answers, '\n')
