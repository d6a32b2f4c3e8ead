-- cancel: id, reason. Answers the state before and after.
local id = ARGV[6]
local h = get(id)
if not h.state then return {'none'} end
local before = h.state
if not terminal[before] then stop(id, h, 'cancelled', ARGV[7]) end
return {'ok', before, h.state}
