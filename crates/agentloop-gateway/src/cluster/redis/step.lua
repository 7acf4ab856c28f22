-- One step of a gateway: it reports what it uses, and asks for more. All numbers that a gateway reports are the whole
-- amounts of that gateway, so a step that is lost or repeated does no harm.
--   KEYS  generation, nodes; a hash for each window; requests, tokens and running for each scope
--   ARGV  node, epoch, number of the step, 1 to introduce the node, a new generation,
--         lease in milliseconds, burst in microseconds, windows, scopes, claims, entries;
--         each window: start in milliseconds, 1 to report (0: to read), own amount, known, time to live in milliseconds;
--         each scope: requests per minute, tokens per minute, concurrency (0: any), correction of tokens, own running;
--         each claim: amount, budgets, and for each of them its window and its limit;
--         each entry: tokens, scopes, and each of them
-- Returns 0 and the results, 1 if the node is not known, or 2 if the step is older than another; and the generation.
local SKEW = 3600000
local DAY = 86400000
local HOUR = 3600000
local node, epoch, step = ARGV[1], ARGV[2], tonumber(ARGV[3])
local clock = redis.call('TIME')
local micros = clock[1] * 1000000 + clock[2]
local now = math.floor(micros / 1000)
local function text(number) return string.format('%.0f', number) end

local generation = redis.call('HGET', KEYS[1], 'id')
if not generation then
  generation = ARGV[5]
  redis.call('HSET', KEYS[1], 'id', generation, 'since', text(now))
end
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or now) or now

-- The nodes, each as epoch:step:time.
local before, alive, nodes, silent = -1, {}, 0, 0
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  local of, number, beat = string.match(all[i + 1], '^(%w+):(%d+):(%d+)$')
  if all[i] == node then
    if of == epoch then
      before = tonumber(number)
      if step <= before then return { 2, generation, {} } end
    elseif ARGV[4] == '0' then
      return { 1, generation, {} }
    end
  elseif not beat or now - tonumber(beat) > DAY then
    redis.call('HDEL', KEYS[2], all[i])
  else
    silent = math.max(silent, now - tonumber(beat))
    if now - tonumber(beat) <= tonumber(ARGV[6]) then
      alive[of] = true
      nodes = nodes + 1
    end
  end
end
if before < 0 and ARGV[4] == '0' then return { 1, generation, {} } end
redis.call('HSET', KEYS[2], node, epoch .. ':' .. ARGV[3] .. ':' .. text(now))
local results = { before, nodes + 1, math.max(now - since, 0), silent }

local at = 11
local function argument()
  at = at + 1
  return tonumber(ARGV[at])
end
local counts = { tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]) }

local mine = 'n:' .. node
local windows = {}
for i = 1, counts[1] do
  local key = KEYS[2 + i]
  local start, report, own, known, life =
    argument(), argument(), argument(), argument(), argument()
  local fields = redis.call('HGETALL', key)
  local others, column, ready = 0, -1, 0
  for f = 1, #fields, 2 do
    if fields[f] == 'ready' then
      ready = 1
    elseif string.match(fields[f + 1], '^%d+$') then
      if fields[f] == mine then
        column = tonumber(fields[f + 1])
      else
        others = others + tonumber(fields[f + 1])
      end
    end
  end
  -- Nothing can be lost of a window that began after this generation.
  if #fields == 0 and known == 0 and start > since + SKEW then
    ready = 1
    redis.call('HSET', key, 'ready', 1)
    redis.call('PEXPIRE', key, life)
  end
  windows[i] = { key = key, report = report == 1, own = own, others = others, life = life }
  results[#results + 1] = ready
  results[#results + 1] = others
  results[#results + 1] = column
end

-- Buckets as times at which they will be full (GCRA, in microseconds of the server's clock), as in the library's acquire.lua.
local burst = tonumber(ARGV[7])
local scopes = {}
for i = 1, counts[2] do
  local first = 3 + counts[1] + 3 * (i - 1)
  local scope = { buckets = {}, running = KEYS[first + 2], others = 0 }
  local rates = { argument(), argument() }
  scope.most = argument()
  local settled = { 0, argument() }
  scope.own = argument()
  for b = 1, 2 do
    if rates[b] > 0 then
      local full = math.max(tonumber(redis.call('GET', KEYS[first + b - 1]) or micros) or micros, micros)
      full = math.max(full + settled[b] * 60000000 / rates[b], micros)
      scope.buckets[b] = { key = KEYS[first + b - 1], full = full, unit = 60000000 / rates[b] }
    end
  end
  if scope.most > 0 then
    local running = redis.call('HGETALL', scope.running)
    for r = 1, #running, 2 do
      -- Counted by process: the requests of one that is gone are gone too.
      if alive[running[r]] then
        scope.others = scope.others + (tonumber(running[r + 1]) or 0)
      elseif running[r] ~= epoch then
        redis.call('HDEL', scope.running, running[r])
      end
    end
  end
  scopes[i] = scope
end

for _ = 1, counts[3] do
  local amount, budgets = argument(), argument()
  local parts, refused = {}, 0
  for p = 1, budgets do
    local window, limit = windows[argument()], argument()
    parts[p] = window
    if refused == 0 and window.others + window.own + amount > limit then refused = p end
  end
  if refused == 0 then
    for _, window in ipairs(parts) do window.own = window.own + amount end
  end
  results[#results + 1] = refused
end

for _ = 1, counts[4] do
  local tokens, number = argument(), argument()
  local parts, kind, wait, place = {}, 0, 0, 0
  for p = 1, number do
    local scope = scopes[argument()]
    parts[p] = scope
    for b, bucket in pairs(scope.buckets) do
      local units = b == 1 and 1 or tokens
      local missing = bucket.full - micros + math.min(units * bucket.unit, burst) - burst
      if units > 0 and missing > wait then kind, wait, place = b, missing, p end
    end
    if kind == 0 and scope.most > 0 and scope.others + scope.own + 1 > scope.most then kind, place = 3, p end
  end
  if kind == 0 then
    for _, scope in ipairs(parts) do
      scope.own = scope.own + 1
      for b, bucket in pairs(scope.buckets) do
        bucket.full = bucket.full + (b == 1 and 1 or tokens) * bucket.unit
      end
    end
  end
  results[#results + 1] = kind
  results[#results + 1] = math.ceil(wait)
  results[#results + 1] = place
end

for _, window in ipairs(windows) do
  if window.report then
    redis.call('HSET', window.key, mine, text(window.own))
    redis.call('PEXPIRE', window.key, window.life)
  end
end
for _, scope in ipairs(scopes) do
  for _, bucket in pairs(scope.buckets) do
    -- A full bucket has no key, so a scope that is not used leaves nothing behind.
    local left = math.ceil((bucket.full - micros) / 1000)
    if left > 0 then
      redis.call('SET', bucket.key, text(math.ceil(bucket.full)), 'PX', left)
    else
      redis.call('DEL', bucket.key)
    end
  end
  if scope.most > 0 then
    if scope.own > 0 then
      redis.call('HSET', scope.running, epoch, text(scope.own))
      redis.call('PEXPIRE', scope.running, HOUR)
    else
      redis.call('HDEL', scope.running, epoch)
    end
  end
end
return { 0, generation, results }
