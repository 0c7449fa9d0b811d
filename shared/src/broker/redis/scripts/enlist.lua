-- Lists a worker.
-- KEYS: index of workers. ARGV: worker.
return redis.call('SADD', KEYS[1], ARGV[1])
