-- The lines of person.lua or person.cc, of any number of processes, as a table: case, best / median.

local order, times, sizes = {}, {}, {}
for line in io.lines() do
  local case, each, size = line:match '^([^\t]+)\t([%d.]+)\t(%d+)$'
  if not times[case] then
    order[#order + 1] = case
    times[case], sizes[case] = {}, tonumber(size)
  end
  table.insert(times[case], tonumber(each))
end
for _, case in ipairs(order) do
  local all, size = times[case], sizes[case]
  table.sort(all)
  local best, median = all[1], all[math.ceil(#all / 2)]
  local rate = size > 0 and (', %.0f / %.0f MB/s'):format(size / best * 1000, size / median * 1000) or ''
  print(('| %s | %.0f / %.0f ns%s |'):format(case, best, median, rate))
end
