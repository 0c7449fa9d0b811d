-- Registers a circuit program; the last writer wins.
-- KEYS: circuits. ARGV: id, record.
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
