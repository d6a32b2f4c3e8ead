-- unclaim: token. Gives back what a claim took whose answer was lost.
for id in string.gmatch(known('c:' .. ARGV[6]) or '', '%S+') do
  local h = get(id)
  if not h.state then
    without('c:' .. ARGV[6], id) -- evicted; reap does the rest
  elseif h.stop then
    finish(h, h.stop, h.reason)
  else
    move(h, 'queued', nil, 'the claim was not answered')
  end
end
return {'ok'}
