-- stats: names of counts. Answers {now, paused, ends to report, when the oldest
-- queued job came}, states and their depths, and the counts, as three lists.
local states = {}
for _, s in ipairs({'queued', 'running', 'retrying', 'snoozed', 'done', 'dead', 'cancelled', 'superseded'}) do
  states[#states + 1] = s
  states[#states + 1] = call('ZCARD', base .. 'state:' .. s)
end
local names, totals = {'paused'}, {}
for i = 6, #ARGV do names[#names + 1] = 'n:' .. ARGV[i] end
learn(names)
for i = 6, #ARGV do
  totals[#totals + 1] = ARGV[i]
  totals[#totals + 1] = index['n:' .. ARGV[i]] or '0'
end
local oldest = call('ZRANGE', base .. 'state:queued', 0, 0, 'WITHSCORES')
return {{stamp, index.paused or '0', call('ZCARD', base .. 'reports'), oldest[2] or '0'}, states, totals}
