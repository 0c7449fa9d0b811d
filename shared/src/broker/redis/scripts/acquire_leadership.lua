-- Takes the lead if nobody holds it; a repeated call finds what it was granted.
-- KEYS: leader, token. ARGV: holder, mark of the call, time to live in ms.
local found = redis.call('HMGET', KEYS[1], 'token', 'mark')
if found[1] then
  if found[2] == ARGV[2] then
    return found[1]
  end
  return false
end
local token = string.format('%d', redis.call('INCR', KEYS[2]))
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'token', token, 'mark', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return token
