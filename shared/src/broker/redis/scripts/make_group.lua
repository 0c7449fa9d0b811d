-- Makes a stream and its consumer group, unless they are there.
-- KEYS: stream. ARGV: group.
local answer = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if answer.err and not string.find(answer.err, 'BUSYGROUP', 1, true) then
  return answer
end
return 1
