-- Writes a worker's mark on a unit, if its token is the current one.
-- KEYS: unit. ARGV: token, field of the current token, field of the mark, then further fields and values.
local current = redis.call('HGET', KEYS[1], ARGV[2]) or '0'
if current == '0' or current ~= ARGV[1] then
  return {'stale', current}
end
redis.call('HSET', KEYS[1], ARGV[3], ARGV[1])
for i = 4, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
return {'accepted', current}
