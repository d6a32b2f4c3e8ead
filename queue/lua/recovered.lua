-- recovered: all failed deliveries before this time (us) are settled. What is
-- known of those that are not looked at again is forgotten: those before the
-- second time (us).
call('SET', base .. 'recovered', ARGV[6])
for _, guid in ipairs(call('ZRANGEBYSCORE', base .. 'tries', '-inf', '(' .. ARGV[7], 'LIMIT', 0, 1000)) do
  call('ZREM', base .. 'tries', guid)
  call('HDEL', base .. 'tried', guid)
end
return 1
