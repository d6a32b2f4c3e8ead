-- end_turn: task, holder, us until the next turn is due.
local key = base .. 'turn:' .. ARGV[6]
if redis.call('HGET', key, 'holder') ~= ARGV[7] then return {'lost'} end
redis.call('HDEL', key, 'holder', 'till')
redis.call('HSET', key, 'due', int(now + tonumber(ARGV[8])))
return {'ok'}
