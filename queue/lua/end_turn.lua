-- end_turn: task, holder, us until the next turn is due.
local key = base .. 'turn:' .. ARGV[6]
if call('HGET', key, 'holder') ~= ARGV[7] then return {'lost'} end
call('HDEL', key, 'holder', 'till')
call('HSET', key, 'due', int(now + tonumber(ARGV[8])))
return {'ok'}
