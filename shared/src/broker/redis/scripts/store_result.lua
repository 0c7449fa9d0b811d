-- Stores the result of a unit, once, if the writer's token is the current one.
-- KEYS: unit, result. ARGV: token, field of the current token, result.
local current = redis.call('HGET', KEYS[1], ARGV[2]) or '0'
if current == '0' or current ~= ARGV[1] then
  return {'stale', current}
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {'already', current}
end
redis.call('SET', KEYS[2], ARGV[3])
redis.call('HSET', KEYS[1], 'has_result', '1')
local left = redis.call('PTTL', KEYS[1])
if left > 0 then
  redis.call('PEXPIRE', KEYS[2], left)
end
return {'stored', current}
