-- stats: answers {now, paused, ends to report, turns..., counts...} as four lists.
local states = {}
for _, s in ipairs({'queued', 'running', 'retrying', 'snoozed', 'done', 'dead', 'cancelled', 'superseded'}) do
  states[#states + 1] = s
  states[#states + 1] = redis.call('ZCARD', base .. 'state:' .. s)
end
local oldest = redis.call('ZRANGE', base .. 'state:queued', 0, 0)[1]
return {
  {int(now), redis.call('EXISTS', base .. 'paused'), redis.call('ZCARD', base .. 'reports'),
   oldest and redis.call('HGET', base .. 'job:' .. oldest, 'enqueued') or '0'},
  states,
  redis.call('HGETALL', base .. 'count'),
}
