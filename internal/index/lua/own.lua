-- own: session, session whose failures count as nobody's, seconds to keep.
-- KEYS are the failures.
local id, instead, keep = ARGV[1], ARGV[2], ARGV[3]
local other, shared = nil, true
for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if not owner or owner == id or owner == instead then
    shared = false
  elseif other and other ~= owner then
    shared = false
  else
    other = owner
  end
end
if shared and other then
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, keep) end
  return other
end
for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if not owner or owner == id or owner == instead then redis.call('SET', key, id, 'EX', keep) end
end
return id
