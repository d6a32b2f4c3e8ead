-- cancel: id, reason. Answers the state before and after.
local h = get(ARGV[6])
if not h.state then return {'none'} end
local before = h.state
if not terminal[before] then stop(h, 'cancelled', ARGV[7]) end
return {'ok', before, h.state}
