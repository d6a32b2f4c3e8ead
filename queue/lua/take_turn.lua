-- take_turn: task, holder, lease (us), 1 to take it before it is due. Answers
-- {'taken'}, or {'wait', us until it may be taken}.
local key, holder, lease = base .. 'turn:' .. ARGV[6], ARGV[7], tonumber(ARGV[8])
local has, till, due = unpack(call('HMGET', key, 'holder', 'till', 'due'))
if has and has ~= holder and tonumber(till) > now then return {'wait', int(tonumber(till) - now)} end
if has ~= holder and ARGV[9] ~= '1' and due and tonumber(due) > now then return {'wait', int(tonumber(due) - now)} end
call('HSET', key, 'holder', holder, 'till', int(now + lease))
return {'taken'}
