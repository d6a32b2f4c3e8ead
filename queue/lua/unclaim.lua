-- unclaim: token. Gives back what a claim took whose answer was lost.
local id = redis.call('HGET', base .. 'claims', ARGV[6])
if not id then return {'none'} end
local h = get(id)
if h.stop then
  finish(id, h, h.stop, h.reason)
else
  move(id, h, 'queued', nil, 'the claim was not answered')
end
return {'ok', id}
