-- Renews a worker's record.
-- KEYS: worker. ARGV: record, time to live in ms.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
