-- Appends a message to a stream, unless a repeated call finds it there.
-- KEYS: stream. ARGV: mark of the message, message, '1' if the call is a repetition, how many entries to look through.
if ARGV[3] == '1' then
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[4])) do
    local fields = entry[2]
    for i = 1, #fields, 2 do
      if fields[i] == 'n' and fields[i + 1] == ARGV[1] then
        return 0
      end
    end
  end
end
redis.call('XADD', KEYS[1], '*', 'n', ARGV[1], 'm', ARGV[2])
return 1
