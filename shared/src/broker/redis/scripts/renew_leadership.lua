-- Renews the lead, or gives it up if no time is asked for.
-- KEYS: leader. ARGV: holder, token, time to live in ms.
local found = redis.call('HMGET', KEYS[1], 'holder', 'token')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
