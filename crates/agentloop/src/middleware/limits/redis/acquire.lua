-- Both buckets of an account (GCRA, in microseconds of the server's clock), taken from at once or not at all.
--   KEYS  when the bucket of requests will be full, when that of tokens will
--   ARGV  burst in microseconds, tokens used beyond what was taken,
--         requests per minute (0: any number), requests, tokens per minute (0: any number), tokens
-- Returns how many microseconds to wait; 0 when the call may go.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local burst = tonumber(ARGV[1])
local settled = { 0, tonumber(ARGV[2]) }
local wait = 0
local buckets = {}
for i = 1, 2 do
  local rate = tonumber(ARGV[1 + 2 * i])
  local units = tonumber(ARGV[2 + 2 * i])
  if rate > 0 then
    local full = math.max(tonumber(redis.call('GET', KEYS[i]) or now), now)
    full = math.max(full + settled[i] * 60000000 / rate, now)
    local time = units * 60000000 / rate
    if units > 0 then
      wait = math.max(wait, full - now + math.min(time, burst) - burst)
    end
    buckets[i] = { full, time }
  end
end
for i, bucket in pairs(buckets) do
  local full = bucket[1]
  if wait <= 0 then
    full = full + bucket[2]
  end
  -- A full bucket is no key, so that an account that is not used leaves nothing behind.
  local left = math.ceil((full - now) / 1000)
  if left > 0 then
    redis.call('SET', KEYS[i], string.format('%.0f', math.ceil(full)), 'PX', left)
  else
    redis.call('DEL', KEYS[i])
  end
end
return math.ceil(wait)
