-- Reads a job with its units in one step.
-- KEYS: job. ARGV: stem of unit keys.
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then
  return false
end
local version, record, units = '0', '', {}
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if name == 'version' then
    version = value
  elseif name == 'record' then
    record = value
  elseif string.sub(name, 1, 2) == 'u:' then
    local unit = string.sub(name, 3)
    local found = redis.call('HMGET', ARGV[1] .. unit, 'record', 'synth_token', 'prove_token', 'synth_started',
      'prove_started', 'shipped', 'has_result')
    units[#units + 1] = {unit, found[1] or '', found[2] or '0', found[3] or '0', found[4] or '0', found[5] or '0',
      found[6] or '0', found[7] or '0'}
  end
end
return {version, record, units}
