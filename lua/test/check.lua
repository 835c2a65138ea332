-- check: functions for the tests of the Lua module: test(name, function), comparisons, and random numbers. The seed is
-- printed, and fixed unless PLAIT_SEED sets it.

local check = { failed = 0, passed = 0 }

check.version = assert(arg[1], 'which build?')
check.folder = assert(arg[2], 'where are the descriptors?')
check.integers = math.type ~= nil
check.only = os.getenv 'PLAIT_TEST'

local seed = tonumber(os.getenv 'PLAIT_SEED' or '') or 1
print('# seed ' .. seed)
local state = seed % 2147483647
if state == 0 then state = 1 end

-- An integer from low to high, the same on every Lua.
function check.random(low, high)
  state = state * 16807 % 2147483647
  return low + state % (high - low + 1)
end

function check.rounds(usual) return tonumber(os.getenv 'PLAIT_ROUNDS' or '') or usual end

function check.test(name, run)
  if check.only and not name:find(check.only, 1, true) then return end
  local ok, reason = xpcall(run, debug.traceback)
  collectgarbage()
  collectgarbage()
  print((ok and 'ok ' or 'not ok ') .. name)
  if ok then
    check.passed = check.passed + 1
  else
    check.failed = check.failed + 1
    print('  ' .. tostring(reason):gsub('\n', '\n  '))
  end
end

function check.hex(bytes)
  return (bytes:gsub('.', function(c) return ('%02x'):format(c:byte()) end))
end
function check.unhex(text)
  return (text:gsub('%s', ''):gsub('..', function(pair) return string.char(tonumber(pair, 16)) end))
end

local function show(value, depth)
  if type(value) ~= 'table' then return type(value) == 'string' and ('%q'):format(value) or tostring(value) end
  if depth > 6 then return '{...}' end
  local parts = {}
  for key, inner in pairs(value) do
    parts[#parts + 1] = '[' .. tostring(key) .. '] = ' .. show(inner, depth + 1)
  end
  table.sort(parts)
  return '{ ' .. table.concat(parts, ', ') .. ' }'
end
function check.show(value) return show(value, 0) end

-- Deep equality; numbers that are not equal to themselves are equal here.
local function same(a, b)
  if type(a) ~= 'table' or type(b) ~= 'table' then return a == b or (a ~= a and b ~= b) end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end
check.same = same

function check.equal(got, expected, what)
  if not same(got, expected) then
    error((what and what .. ': ' or '') .. 'got ' .. show(got, 0) .. ', expected ' .. show(expected, 0), 2)
  end
end

function check.raises(pattern, run, ...)
  local ok, reason = pcall(run, ...)
  if ok then error('no error was raised, expected ' .. pattern, 2) end
  if not tostring(reason):find(pattern) then
    error('the error was ' .. tostring(reason) .. ', expected ' .. pattern, 2)
  end
end

function check.read(name)
  local file = assert(io.open(check.folder .. '/' .. name, 'rb'))
  local bytes = file:read '*a'
  file:close()
  return bytes
end

function check.done()
  print(('%d passed, %d failed'):format(check.passed, check.failed))
  os.exit(check.failed == 0 and 0 or 1)
end

return check
