-- Writes a job, its changed units and their tokens, if nobody else did since.
-- KEYS: job, input, timeline.
-- ARGV: stem of unit keys, stem of result keys, expected version, leader, fingerprint, record,
--       retention in ms ('' while the job is active), '1' to drop the input,
--       then for each unit: name, record, synthesis token, proving token.
local found = redis.call('HMGET', KEYS[1], 'version', 'leader', 'fingerprint')
if not found[1] then
  return {'missing', '0'}
end
local expected = tonumber(ARGV[3])
local version = tonumber(found[1])
if version == expected + 1 and found[3] == ARGV[5] then
  return {'committed', found[1]}
end
if tonumber(found[2]) > tonumber(ARGV[4]) then
  return {'deposed', found[2]}
end
if version ~= expected then
  return {'conflict', found[1]}
end
local next = string.format('%d', expected + 1)
redis.call('HSET', KEYS[1], 'version', next, 'leader', ARGV[4], 'fingerprint', ARGV[5], 'record', ARGV[6])
for i = 9, #ARGV, 4 do
  redis.call('HSET', KEYS[1], 'u:' .. ARGV[i], '1')
  redis.call('HSET', ARGV[1] .. ARGV[i], 'record', ARGV[i + 1], 'synth_token', ARGV[i + 2], 'prove_token', ARGV[i + 3])
end
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[1], 'ended', '1')
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 2) == 'u:' then
      local unit = string.sub(field, 3)
      redis.call('PEXPIRE', ARGV[1] .. unit, ARGV[7])
      redis.call('PEXPIRE', ARGV[2] .. unit, ARGV[7])
    end
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
  if ARGV[8] == '1' then
    redis.call('UNLINK', KEYS[2])
  else
    redis.call('PEXPIRE', KEYS[2], ARGV[7])
  end
end
return {'committed', next}
