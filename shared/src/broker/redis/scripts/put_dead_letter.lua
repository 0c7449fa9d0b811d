-- Files a dead letter, and forgets the oldest beyond a number.
-- KEYS: jobs by filing, letters. ARGV: job, letter, how many are kept.
local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%d%06d', now[1], now[2]), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for _, old in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1 - tonumber(ARGV[3]))) do
  redis.call('ZREM', KEYS[1], old)
  redis.call('HDEL', KEYS[2], old)
end
return 1
