-- Removes a worker's record, unless another life of the worker wrote a newer one.
-- KEYS: worker. ARGV: the record as this life wrote it last.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('UNLINK', KEYS[1])
  return 1
end
return 0
