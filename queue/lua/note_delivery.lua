-- note_delivery: GUID, 1 if it is settled, when it happened (us). Answers how
-- often it was tried.
local guid, settled, at = ARGV[6], ARGV[7] == '1', ARGV[8]
local tries = tonumber(string.match(call('HGET', base .. 'tried', guid) or '0', '^%d+')) + 1
call('HSET', base .. 'tried', guid, tries .. (settled and ':settled:' or ':failed:') .. stamp)
call('ZADD', base .. 'tries', at, guid)
return tries
