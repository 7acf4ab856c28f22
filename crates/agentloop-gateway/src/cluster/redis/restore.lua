-- Puts back what the ledger has of a window after Redis has lost its data. What a gateway has reported since then stays if it
-- is more: it includes what the ledger does not have yet.
--   KEYS  generation, the hash of the window
--   ARGV  the generation that was lost, the least age of the generation and the time to live of the window in milliseconds;
--         then nodes with their amounts
-- Returns 1; or 0 if the generation is too young, so that gateways may not have reported yet, or is another one.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local generation = redis.call('HMGET', KEYS[1], 'id', 'since')
if generation[1] ~= ARGV[1] or now - (tonumber(generation[2]) or now) < tonumber(ARGV[2]) then
  return 0
end
for i = 4, #ARGV, 2 do
  local column = tonumber(redis.call('HGET', KEYS[2], 'n:' .. ARGV[i]) or 0) or 0
  if tonumber(ARGV[i + 1]) > column then
    redis.call('HSET', KEYS[2], 'n:' .. ARGV[i], ARGV[i + 1])
  end
end
redis.call('HSET', KEYS[2], 'ready', 1)
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
