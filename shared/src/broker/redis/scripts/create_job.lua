-- Writes a job for the first time and makes its input permanent.
-- KEYS: job, input. ARGV: leader, fingerprint, record.
local found = redis.call('HMGET', KEYS[1], 'version', 'fingerprint')
if found[1] then
  if found[1] == '1' and found[2] == ARGV[2] then
    return {'committed', '1'}
  end
  return {'conflict', found[1]}
end
redis.call('HSET', KEYS[1], 'version', '1', 'leader', ARGV[1], 'fingerprint', ARGV[2], 'record', ARGV[3])
redis.call('PERSIST', KEYS[2])
return {'committed', '1'}
