-- complete: id, fence, worker, summary. The result is published already, so
-- it counts even if the job was asked to stop meanwhile.
local id = ARGV[6]
local h, answer = held(id, ARGV[7], ARGV[8], 'complete')
if not h then return answer end
set(id, h, {summary = ARGV[9]})
clear(id, h, 'stop')
finish(id, h, 'done')
return close(id, h, 'complete', 'done')
