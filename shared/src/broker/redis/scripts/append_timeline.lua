-- Appends records to the timeline of a job that is there, unless a repeated call finds them at its end.
-- KEYS: job, timeline. ARGV: '1' if the call is a repetition, then the records.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local count = #ARGV - 1
if ARGV[1] == '1' then
  local last = redis.call('LRANGE', KEYS[2], -count, -1)
  local same = #last == count
  for i = 1, #last do
    same = same and last[i] == ARGV[i + 1]
  end
  if same then
    return 0
  end
end
for i = 2, #ARGV do
  redis.call('RPUSH', KEYS[2], ARGV[i])
end
local left = redis.call('PTTL', KEYS[1])
if left > 0 then
  redis.call('PEXPIRE', KEYS[2], left)
end
return count
