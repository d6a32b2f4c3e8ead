-- lease: who holds a job. After core.

-- held returns the job if the fence is that of its present lease. Otherwise it
-- returns nothing and the answer: what the same operation with the same fence
-- came to when it is sent again after a lost answer, or that the lease is lost.
-- Without a worker the fence alone counts.
local function held(id, fence, worker, op, fields)
  local h = get(id, fields)
  if h.state == 'running' and h.fence == fence and h.worker == (worker or h.worker) then return h end
  local before = h.closed and string.match(h.closed, '^' .. fence .. ':' .. op .. ':(%a+)$')
  if before then return nil, {'ok', before} end
  return nil, {'lost'}
end

-- close notes how the lease ended, and frees the job for its next one.
local function close(h, op, to)
  put(h, 'closed', h.fence .. ':' .. op .. ':' .. to)
  return {'ok', to}
end

local function renew(h, lease)
  local till = int(now + lease)
  call('ZADD', base .. 'state:running', till, h.id)
  put(h, 'due', till)
end
