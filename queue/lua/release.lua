-- release: id, fence, worker. The job goes back to its old place in the line.
local h, answer = held(ARGV[6], ARGV[7], ARGV[8], 'release')
if not h then return answer end
local to = 'queued'
if h.stop then
  to = h.stop
  finish(h, to, h.reason)
else
  count('released')
  move(h, to, nil, 'given back by ' .. h.worker)
end
return close(h, 'release', to)
