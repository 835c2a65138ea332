-- Tables that are not lists, and empty tables with metatables: every element of a table is written, or an error names
-- it.

local check = require 'check'
local message = require 'plait.message'
local protobuf = require 'protobuf'
local test, equal, raises, random = check.test, check.equal, check.raises, check.random

local schema = assert(message.load(check.folder .. '/all.pb'))
protobuf.register_file(check.folder .. '/all.pb')
local Three = schema.type 'kinds.Three'
local pattern = schema.pattern 'kinds.Three r_int64 r_string r_message'

local function value_of(field, i)
  if field == 'r_string' then return 's' .. i end
  if field == 'r_message' then return { f_int32 = i } end
  return field == 'r_double' and i + 0.5 or i
end

-- Checks that both APIs, and patterns, refuse the list with this path.
local function refused(path, field, list)
  local bytes, reason, code = Three.encode { [field] = list }
  equal({ bytes, code, (reason or ''):sub(1, #path + 14) }, { nil, 'LIST', 'kinds.Three.' .. path .. ': ' }, field)
  raises('kinds%.Three%.' .. path:gsub('%p', '%%%0') .. ': ', protobuf.encode, 'kinds.Three', { [field] = list })
end

for _, field in ipairs { 'r_int64', 'r_double', 'r_string', 'r_message', 'r_loose' } do
  test(field .. ': holes and odd keys', function()
    local function v(i) return value_of(field, i) end
    refused(field .. '[2]', field, { v(1), nil, v(3) })
    refused(field .. '[2]', field, { [1] = v(1), [3] = v(3) })
    refused(field .. '[1]', field, { [2] = v(1) })
    refused(field .. '[1]', field, { nil, nil, v(3) })
    refused(field .. '[3]', field, { v(1), v(2), nil, v(4), nil, v(6) })
    refused(field .. '[0]', field, { [0] = v(1) })
    refused(field .. '[0]', field, { [0] = v(1), v(2), v(3) })
    refused(field .. '[-1]', field, { v(1), [-1] = v(2) })
    refused(field .. '[1.5]', field, { v(1), [1.5] = v(2) })
    local late = {}
    for i = 1, 200 do
      late[i] = v(i)
    end
    late[150] = nil
    refused(field .. '[150]', field, late)
    late[150], late[1000] = v(150), v(1)
    refused(field .. '[201]', field, late)
    -- A string is not an index: an error. ipairs(), and so pbc, ignore it.
    for _, key in ipairs { 'key', '2', '01' } do
      local list = { v(1), [key] = v(2) }
      equal(select(3, Three.encode { [field] = list }), 'LIST')
      equal(protobuf.encode('kinds.Three', { [field] = list }), Three.encode { [field] = { v(1) } })
    end
    -- The result of table.pack().
    equal(Three.encode { [field] = { n = 2, v(1), v(2) } }, Three.encode { [field] = { v(1), v(2) } })
    equal(select(3, Three.encode { [field] = { n = 3, v(1), v(2) } }), 'LIST')
    -- nil at the end is not an element.
    equal(Three.encode { [field] = { v(1), nil } }, Three.encode { [field] = { v(1) } })
    equal(Three.encode { [field] = {} }, '')
  end)
end

test('the path leads through messages, maps and patterns', function()
  local function reason_of(value) return (select(2, Three.encode(value))) end
  local hole = { 1, nil, 3 }
  assert(
    reason_of { r_message = { {}, { f_message = { r_int64 = hole } } } }:find 'r_message%[2%]%.f_message%.r_int64%[2%]: '
  )
  assert(reason_of { m_message = { [5] = { r_int64 = hole } } }:find 'm_message%.value%.r_int64%[2%]: ')
  local bytes, reason, code = pattern.pack({ 1 }, { 'a', nil, 'c' }, nil)
  assert(bytes == nil and code == 'LIST' and reason:find 'r_string%[2%]: ', reason)
  raises('r_int64%[2%]', protobuf.pack, 'kinds.Three r_int64', hole)
end)

-- A table is written whole, or refused, however its keys were set.
test('random tables', function()
  for _ = 1, check.rounds(3000) do
    local list, last, odd = {}, random(0, 12), false
    if random(1, 2) == 1 then
      for i = 1, random(1, 9) do
        list['x' .. i] = 1
      end
      for key in pairs(list) do
        if random(1, 4) > 1 then list[key] = nil end
      end
    end
    local order = {}
    for i = 1, last do
      order[i] = i
    end
    for i = last, 2, -1 do
      local j = random(1, i)
      order[i], order[j] = order[j], order[i]
    end
    for _, i in ipairs(order) do
      list[i] = i
    end
    if random(1, 2) == 1 and last > 0 then list[random(1, last)] = nil end
    if random(1, 3) == 1 then list[random(-2, 30)] = 1 end
    local count = 0
    while list[count + 1] ~= nil do
      count = count + 1
    end
    local plain = {}
    for i = 1, count do
      plain[i] = list[i]
    end
    local numbers_odd = false
    for key in pairs(list) do
      local is_number = type(key) == 'number'
      if not is_number or key < 1 or key > count then
        odd = true
        numbers_odd = numbers_odd or is_number
      end
    end
    local bytes, _, code = Three.encode { r_int64 = list }
    if odd then
      equal({ bytes, code }, { nil, 'LIST' }, check.show(list))
    else
      equal(bytes, Three.encode { r_int64 = plain })
    end
    local ok, got = pcall(protobuf.encode, 'kinds.Three', { r_int64 = list })
    equal(ok, not numbers_odd, check.show(list))
    if ok then equal(got, Three.encode { r_int64 = plain }) end
  end
end)

-- ---- metatables: pbc reads messages with pairs() and lists with ipairs() ----

local function behind_pairs(value)
  if type(value) ~= 'table' then return value end
  local inner = {}
  for key, one in pairs(value) do
    inner[key] = behind_pairs(one)
  end
  return setmetatable({}, { __pairs = function() return next, inner, nil end })
end

test('pbc: what __pairs yields is encoded, at every level', function()
  local value = {
    f_int32 = 5,
    f_string = 'x',
    f_message = { f_int32 = 6, r_int64 = { 1 } },
    r_int64 = { 1, 2, 300 },
    r_string = { 'a', 'b' },
    r_message = { { f_int32 = 7 }, {}, { f_message = {} } },
    m_string = { a = 1 },
    m_message = { [3] = { f_int32 = 8 } },
  }
  local expected = protobuf.encode('kinds.Three', value)
  equal(protobuf.encode('kinds.Three', behind_pairs(value)), expected)
  for key, inner in pairs(value) do
    local mixed = { [key] = behind_pairs(inner) }
    equal(protobuf.encode('kinds.Three', mixed), protobuf.encode('kinds.Three', { [key] = inner }), key)
  end
  equal(
    protobuf.pack('kinds.Three r_int64 m_string', behind_pairs { 1, 2 }, behind_pairs { a = 1 }),
    protobuf.pack('kinds.Three r_int64 m_string', { 1, 2 }, { a = 1 })
  )
  -- A __pairs that yields more than the table has, one with its own iterator, and one whose keys are not fields.
  local logged = setmetatable({ f_int32 = 1 }, {
    __pairs = function(self)
      local step = 0
      return function()
        step = step + 1
        if step == 1 then
          return 'f_int32', rawget(self, 'f_int32') + 1
        elseif step == 2 then
          return 'f_string', 'more'
        end
      end
    end,
  })
  equal(protobuf.encode('kinds.Three', logged), Three.encode { f_int32 = 2, f_string = 'more' })
  raises('nobody', protobuf.encode, 'kinds.Three', behind_pairs { nobody = 1 })
  raises('r_int64%[2%]', protobuf.encode, 'kinds.Three', { r_int64 = behind_pairs { 1, nil, 3 } })
  raises(
    'mine',
    protobuf.encode,
    'kinds.Three',
    { f_message = setmetatable({}, { __pairs = function() error 'mine' end }) }
  )
  -- 40 keys: more than stay on the stack.
  local wide = {}
  for _, one in ipairs(schema.fields 'kinds.Three') do
    if one.kind:find 'int' and not one.repeated and not one.oneof or one.repeated and not one.map then
      wide[one.name] = one.repeated and {} or 1
    end
  end
  equal(protobuf.encode('kinds.Three', behind_pairs(wide)), protobuf.encode('kinds.Three', wide))
end)

test('pbc: an undecoded message is encoded like a decoded one', function()
  local decoded = protobuf.decode('kinds.Three', Three.encode { f_message = { f_int32 = 5 } })
  equal(protobuf.encode('kinds.Three', rawget(decoded, 'f_message')), Three.encode { f_int32 = 5 })
  equal(protobuf.encode('kinds.Three', decoded), Three.encode { f_message = { f_int32 = 5 } })
end)

test('pbc: lists with __index', function()
  local function list(count, methods)
    methods.__index = function(_, i) return type(i) == 'number' and i <= count and i * 2 or nil end
    return { r_int64 = setmetatable({}, methods) }
  end
  local function len(count)
    return { __len = function() return count end }
  end
  equal(protobuf.encode('kinds.Three', list(3, len(3))), Three.encode { r_int64 = { 2, 4, 6 } })
  equal(protobuf.encode('kinds.Three', list(0, len(0))), '')
  raises('r_int64%[4%]', protobuf.encode, 'kinds.Three', list(3, len(5)))
  -- Without a length, as ipairs() of this Lua: it calls __index since 5.3.
  equal(protobuf.encode('kinds.Three', list(3, {})), check.integers and Three.encode { r_int64 = { 2, 4, 6 } } or '')
  -- A class of lists.
  local class = { __index = { sum = function() end } }
  equal(
    protobuf.encode('kinds.Three', { r_int64 = setmetatable({ 1, 2 }, class) }),
    Three.encode { r_int64 = { 1, 2 } }
  )
  raises('r_int64%[2%]', protobuf.encode, 'kinds.Three', { r_int64 = setmetatable({ 1, nil, 3 }, class) })
end)

check.done()
