-- One step of the ledger. KEYS[1] is the call, the rest are the scopes that it
-- counts in. A scope is a hash of tokens and micros (millionths of the
-- currency's unit). What is reserved counts as used until it is settled.
--
-- reserve: tokens micros spareTokens spareMicros keepCall, then for each scope
--   its limits of tokens and micros (0: none) and how long it is kept (s).
--   Returns {} when it fits, else {scope, unit, used, limit}; nothing is
--   counted then.
-- settle: tokens micros. Returns {}.
local call, op = KEYS[1], ARGV[1]

-- add counts an amount in a scope.
local function add(scope, unit, amount)
  local used = tonumber(redis.call('HGET', scope, unit) or '0')
  redis.call('HSET', scope, unit, string.format('%.0f', used + amount))
end

if op == 'settle' then
  local held = redis.call('GET', call)
  if not held then return {} end
  redis.call('DEL', call)
  local tokens, micros = held:match('^(%d+) (%d+)$')
  for i = 2, #KEYS do
    -- A scope whose time is over is not brought back.
    if redis.call('EXISTS', KEYS[i]) == 1 then
      add(KEYS[i], 'tokens', tonumber(ARGV[2]) - tonumber(tokens))
      add(KEYS[i], 'micros', tonumber(ARGV[3]) - tonumber(micros))
    end
  end
  return {}
end

if redis.call('EXISTS', call) == 1 then return {} end
local want = {tokens = tonumber(ARGV[2]), micros = tonumber(ARGV[3])}
local spare = {tokens = tonumber(ARGV[4]), micros = tonumber(ARGV[5])}
for i = 2, #KEYS do
  for n, unit in ipairs({'tokens', 'micros'}) do
    local limit = tonumber(ARGV[6 + (i - 2) * 3 + n])
    local used = tonumber(redis.call('HGET', KEYS[i], unit) or '0')
    if limit > 0 and used + want[unit] + spare[unit] > limit then
      return {i - 1, n, used, limit}
    end
  end
end
for i = 2, #KEYS do
  add(KEYS[i], 'tokens', want.tokens)
  add(KEYS[i], 'micros', want.micros)
  redis.call('EXPIRE', KEYS[i], ARGV[6 + (i - 2) * 3 + 3])
end
redis.call('SET', call, ARGV[2] .. ' ' .. ARGV[3], 'EX', ARGV[6])
return {}
