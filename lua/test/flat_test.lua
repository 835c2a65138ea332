-- Patterns of plain fields have fast paths: lua/plain.c, and on LuaJIT lua/plait/ffi.lua. For any bytes or arguments
-- they return the same as the general functions. A pattern with a list, or with one name twice, uses the general
-- functions.

local check = require 'check'
local core = require 'plait.message.core'
local test, random = check.test, check.random

local handle, keys = core.schema(check.read 'all.pb')
local makers = { plain = core.pattern }
if type(jit) == 'table' and jit.status() then
  local ffi_pattern = require 'plait.message.ffi'
  assert(ffi_pattern, 'the FFI is not used')
  makers.ffi = ffi_pattern
end

local forms = {
  { 'kinds.Three', 'f_int32 f_string f_bool f_double f_sint64 f_bytes f_uint64', 'r_double' },
  {
    'kinds.Three',
    'f_float f_fixed32 f_sfixed64 f_uint32 f_int64 f_sint32 f_fixed64 f_sfixed32 o_int32 o_string',
    'r_int64',
  },
  { 'kinds.Two', 'text number data rate far yes big last', 'floats' },
  { 'kinds.Two', 'big', 'words' },
}

local unpack_values = table.unpack or unpack
local function pack_all(...) return { n = select('#', ...), ... } end

local pairs_of = {}
for _, form in ipairs(forms) do
  local count = select(2, form[2]:gsub('%S+', ''))
  local text = form[1] .. ' ' .. form[2]
  local slow = {
    pack = assert(core.pattern(handle, keys, text .. ' ' .. form[3])).pack, -- of which the list is never given
    unpack = assert(core.pattern(handle, keys, text .. ' ' .. form[2]:match '%S+')).unpack,
  }
  for name, make in pairs(makers) do
    pairs_of[#pairs_of + 1] =
      { name = name .. ': ' .. form[2], count = count, quick = assert(make(handle, keys, text)), slow = slow }
  end
end

-- pbc's API: a raised error counts as a result here, too.
local protobuf = require 'protobuf'
protobuf.register(check.read 'all.pb')
local function pack_pbc(...)
  local ok, bytes = pcall(protobuf.pack, ...)
  if ok then return bytes end
  return nil, bytes
end
local function unpack_pbc(...)
  local values = pack_all(protobuf.unpack(...))
  if values.n == 0 then return nil, protobuf.lasterror(), 'PBC' end
  return unpack_values(values, 1, values.n)
end
for _, form in ipairs(forms) do
  local text, count = form[1] .. ' ' .. form[2], select(2, form[2]:gsub('%S+', ''))
  local listed, twice = text .. ' ' .. form[3], text .. ' ' .. form[2]:match '%S+'
  pairs_of[#pairs_of + 1] = {
    name = 'pbc: ' .. form[2],
    count = count,
    all_given = true,
    quick = {
      pack = function(...) return pack_pbc(text, ...) end,
      unpack = function(bytes) return unpack_pbc(text, bytes) end,
    },
    slow = {
      unpack = function(bytes) return unpack_pbc(twice, bytes) end,
      pack = function(...)
        local values = { ... }
        values[count + 1] = {}
        return pack_pbc(listed, unpack_values(values, 1, count + 1))
      end,
    },
  }
end

local function alike(a, b) return a == b and (a ~= 0 or 1 / a == 1 / b) or (a ~= a and b ~= b) end

local special = {
  0,
  1,
  -1,
  127,
  128,
  300,
  2147483647,
  -2147483648,
  2147483648,
  4294967295,
  4294967296,
  9007199254740992,
  -9007199254740993,
  0.5,
  -0.5,
  1e300,
  -1e300,
  1 / 0,
  -1 / 0,
  0 / 0,
  -0.0,
  2 ^ 63,
  2 ^ 64,
  '',
  'text',
  'ä',
  '\255',
  '12',
  '0x10',
  '-1',
  '18446744073709551615',
  ('x'):rep(200),
  ('y'):rep(2000),
  true,
  false,
  {},
  print,
}
if math.mininteger then
  special[#special + 1], special[#special + 2] = math.mininteger, math.maxinteger
end
if type(jit) == 'table' then
  for _, value in ipairs(assert(loadstring 'return { 5LL, -5LL, 18446744073709551615ULL }')()) do
    special[#special + 1] = value
  end
end

local function random_values(count)
  local values = {}
  for i = 1, count do
    local choice = random(1, 4)
    if choice == 1 then
      values[i] = random(0, 1000)
    elseif choice == 2 then
      values[i] = special[random(1, #special)]
    elseif choice == 3 then
      values[i] = 'text ' .. random(0, 100)
    end
  end
  return values
end

-- Values that are valid in most fields, so that packing sometimes succeeds.
local samples = {
  { 5, 'text', true, 0.5, -7, '\0\255', 9 },
  { 0.25, 1, -2, 3, 4, -5, 6, -7, 0, '' },
  { 'text', -7, 'data', 1.5, 0.5, true, 9, 1 },
  { 9007199254740992 },
}

test('packing', function()
  local good, bad = 0, 0
  for round = 1, check.rounds(60000) do
    local one = pairs_of[random(1, #pairs_of)]
    local values = random_values(one.count)
    if random(1, 2) == 1 then
      for _, sample in ipairs(samples) do
        if #sample == one.count and random(1, 2) == 1 then
          values = { unpack_values(sample) }
          values[random(1, one.count)] = special[random(1, #special)]
        end
      end
    end
    local given = random(1, 20) == 1 and not one.all_given and random(0, one.count) or one.count
    local a = pack_all(one.quick.pack(unpack_values(values, 1, given)))
    local b = pack_all(one.slow.pack(unpack_values(values, 1, given)))
    for i = 1, 3 do
      if a[i] ~= b[i] then error(('%s, round %d: %s, not %s'):format(one.name, round, check.show(a), check.show(b))) end
    end
    if a[1] then
      good = good + 1
    else
      bad = bad + 1
    end
  end
  print(('# %d packed, %d refused'):format(good, bad))
  assert(good > bad / 20 and bad > good / 20)
end)

local function mutate(bytes)
  for _ = 1, random(0, 3) do
    local at, choice = random(1, #bytes + 1), random(1, 4)
    if choice == 1 then
      bytes = bytes:sub(1, at - 1) .. string.char(random(0, 255)) .. bytes:sub(at + 1)
    elseif choice == 2 then
      bytes = bytes:sub(1, at - 1) .. string.char(random(0, 255)) .. bytes:sub(at)
    elseif choice == 3 then
      bytes = bytes:sub(1, at - 1) .. bytes:sub(at + random(1, 3))
    else
      bytes = bytes:sub(1, at - 1)
    end
  end
  return bytes
end

test('unpacking', function()
  local good, bad = 0, 0
  for round = 1, check.rounds(100000) do
    local one = pairs_of[random(1, #pairs_of)]
    local bytes
    for _, sample in ipairs(samples) do
      if #sample == one.count then bytes = assert(one.slow.pack(unpack_values(sample))) end
    end
    if random(1, 3) == 1 then
      bytes = bytes .. pairs_of[random(1, 4)].slow.pack() .. bytes:sub(random(1, #bytes + 1))
    end
    if random(1, 10) == 1 then
      local noise = {}
      for i = 1, random(0, 30) do
        noise[i] = string.char(random(0, 3) == 0 and random(0, 255) or random(0, 127))
      end
      bytes = table.concat(noise)
    end
    bytes = mutate(bytes)
    local a, b = pack_all(one.quick.unpack(bytes)), pack_all(one.slow.unpack(bytes))
    local failed = b.n == 3
      and b[1] == nil
      and type(b[3]) == 'string'
      and b[3]:find '^%u+%d*$'
      and type(b[2]) == 'string'
      and b[2]:find '%(byte %d+%)$'
    for i = 1, failed and 3 or one.count do
      if not alike(a[i], b[i]) then
        error(('%s, round %d, %s: %s, not %s'):format(one.name, round, check.hex(bytes), check.show(a), check.show(b)))
      end
    end
    if failed then
      bad = bad + 1
    else
      good = good + 1
    end
  end
  print(('# %d unpacked, %d refused'):format(good, bad))
  assert(good > bad / 20 and bad > good / 20)
end)

check.done()
