-- release: id, fence, worker. The job goes back to its old place in the line.
local id = ARGV[6]
local h, answer = held(id, ARGV[7], ARGV[8], 'release')
if not h then return answer end
local to = 'queued'
if h.stop then
  to = h.stop
  finish(id, h, to, h.reason)
else
  count('released')
  move(id, h, to, nil, 'given back by ' .. h.worker)
end
return close(id, h, 'release', to)
