-- The script of memory.c: two functions. The first tests everything, the second the calls whose only allocations are
-- Lua's own.

local message = require 'plait.message'
local protobuf = require 'protobuf'
local file = assert(io.open(... .. '/all.pb', 'rb'))
local set = file:read '*a'
file:close()

local schema = assert(message.schema(set))
local Three = assert(schema.type 'kinds.Three')
local Two = assert(schema.type 'kinds.Two')
local two = assert(schema.pattern 'kinds.Two set.kinds.Item.item')
local flat = assert(schema.pattern 'kinds.Three f_int32 f_string f_message.f_double r_int64 m_message c_text')
protobuf.register(set)

local value = {
  f_double = 1.5,
  f_int64 = -1,
  f_string = ('long'):rep(500),
  f_message = { f_message = { f_string = 'deep' } },
  r_int64 = { 1, -1, 300 },
  r_string = { 'a', '' },
  r_message = { { f_bool = true }, {} },
  m_string = { a = 1, b = 2 },
  m_message = { [3] = { f_bytes = 'x' } },
  c_message = {},
  [message.unknown] = '\152\125\1',
}
local expected = assert(Three.encode(value, { deterministic = true }))

-- f_message three times, with an unknown field each time; an entry of m_message whose value comes twice; a MessageSet's
-- item twice.
local parts = ('\90\3\152\125\1'):rep(3) .. '\210\2\12\8\3\18\3\152\125\1\18\3\152\125\1'
local sets = '\138\1\18' .. ('\11\16\5\26\3\152\125\1\12'):rep(2)

local function same(a, b)
  if type(a) ~= 'table' or type(b) ~= 'table' then return a == b end
  for key in pairs(a) do
    if not same(a[key], b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local function work()
  assert(Three.encode(value, { deterministic = true }) == expected)
  assert(same(Three.decode(expected), value))
  assert(same(Three.decode(expected, nil, { f_message = {}, r_string = { 1, 2, 3 } }), value))
  local in_parts = assert(Three.decode(parts))
  assert(#in_parts.f_message['?unknown'] == 9 and #in_parts.m_message[3]['?unknown'] == 6)
  assert(
    Three.decode(parts, nil, { f_message = { ['?unknown'] = 'old' } }).f_message['?unknown']
      == in_parts.f_message['?unknown']
  )
  assert(not Three.decode(parts .. '\255'))
  assert(#Two.decode(sets).set['kinds.Item.item']['?unknown'] == 6 and Two.view(sets).set['kinds.Item.item'])
  assert(#two.unpack(sets) == 6)
  assert(#protobuf.unpack('kinds.Three f_message', parts) == 3)
  assert(protobuf.extract(protobuf.decode('kinds.Three', parts)))
  local _, reason, code = Three.decode(expected:sub(1, -2))
  assert(reason and code)
  assert(not Three.encode { f_int32 = 'x' })
  local a, b, c, d = flat.unpack((flat.pack(1, value.f_string, 2.5, { 4, 5 }, { [1] = {} }, 'x')))
  assert(a == 1 and b == value.f_string and c == 2.5 and d[2] == 5)
  local view = Three.view(expected)
  assert(view.f_message.f_message.f_string == 'deep' and view.r_message[1].f_bool and view.m_string.b == 2)
  local got = protobuf.decode('kinds.Three', expected)
  assert(got and got.f_message.f_message.f_string == 'deep' and got.o_int32 == 0)
  protobuf.extract(got)
  assert(protobuf.encode('kinds.Three', protobuf.decode('kinds.Three', expected)))
  assert(select('#', protobuf.unpack('kinds.Three f_string f_message', expected)) == 2)
  local proxy = setmetatable({}, {
    __pairs = function()
      return next, { r_string = setmetatable({}, { __pairs = function() return next, { 'a', 'b' } end }) }
    end,
  })
  assert(protobuf.encode('kinds.Three', proxy) == Three.encode { r_string = { 'a', 'b' } })
  assert(not Three.encode { r_string = { 'a', nil, 'c' } })
  assert(protobuf.encode('kinds.Three', { r_message = { value } }, function(_, length) return length end) > 2000)
end

-- Creates all objects that are created once.
work()

return function()
  local made = message.schema(set)
  if not made then error 'not enough memory' end
  local thawed = message.thaw((made.freeze()))
  local type_of = thawed.type 'kinds.Three'
  assert(type_of.decode(expected))
  local pattern = made.pattern 'kinds.Three f_int32 f_string'
  if not pattern then error 'not enough memory' end
  pattern.pack(1, 'x')
  local ok, reason = pcall(protobuf.register, set)
  if not ok then error(reason == 'not enough memory' and reason or 'memory: ' .. tostring(reason)) end
  work()
end,
  work
