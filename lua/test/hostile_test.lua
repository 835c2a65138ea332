-- Hostile bytes: every call returns a value, or nil and a reason.

local check = require 'check'
local message = require 'plait.message'
local protobuf = require 'protobuf'
local test, equal, unhex, random = check.test, check.equal, check.unhex, check.random

local set = check.read 'all.pb'
local schema = assert(message.schema(set))
local Two, Three = schema.type 'kinds.Two', schema.type 'kinds.Three'
local flat =
  schema.pattern 'kinds.Three f_int32 f_string f_message.f_double f_message.f_message.f_string r_int64 m_message c_text r_message'
local plain_flat = schema.pattern 'kinds.Three f_int32 f_string f_bool f_double f_sint64 c_text'
protobuf.register(set)

local sample = Three.encode {
  f_double = 1.5,
  f_int64 = -1,
  f_string = 'äx',
  f_message = { f_fixed32 = 9, f_message = { f_string = 'deep' } },
  f_enum = 'BLUE',
  r_double = { 1, 2 },
  r_int64 = { 1, -1, 300 },
  r_string = { 'a', '' },
  r_message = { { f_bool = true } },
  m_string = { a = 1 },
  m_message = { [3] = { f_bytes = 'x' } },
  c_message = { f_sint32 = -5 },
  [message.unknown] = unhex '98 7d 01',
}

local function expand_all(value)
  if type(value) == 'table' then pcall(protobuf.extract, value) end
end

-- Every function that reads the bytes returns normally. Values that were read can be written and read again.
local function read_all(bytes)
  local value, reason, code = Three.decode(bytes)
  assert(value or (type(reason) == 'string' and type(code) == 'string'))
  if value then
    local again = assert(Three.encode(value))
    local twice = assert(Three.decode(again))
    -- A zero without presence may be read but is not written, so the second time counts.
    if not check.same(Three.decode(Three.encode(twice)), twice) then error('changed: ' .. check.hex(bytes)) end
    local view = Three.view(bytes)
    for _, name in ipairs { 'f_string', 'f_message', 'r_int64', 'm_message', 'c_message' } do
      pcall(function() return view[name] end)
    end
  end
  Three.decode(bytes, nil, { f_message = { f_message = {} }, r_message = { {}, {} }, m_string = { z = 1 } })
  Two.decode(bytes)
  flat.unpack(bytes)
  plain_flat.unpack(bytes)
  expand_all(protobuf.decode('kinds.Three', bytes))
  protobuf.unpack('kinds.Three f_string f_message r_message', bytes)
end

test('every truncation', function()
  for length = 0, #sample do
    read_all(sample:sub(1, length))
  end
end)

test('every byte, changed', function()
  for at = 1, #sample do
    for _, byte in ipairs { 0, 1, 0x7f, 0x80, 0xff, sample:byte(at) == 255 and 0 or sample:byte(at) + 1, random(0, 255) } do
      read_all(sample:sub(1, at - 1) .. string.char(byte) .. sample:sub(at + 1))
    end
  end
end)

test('random bytes', function()
  for _ = 1, check.rounds(3000) do
    local bytes = {}
    for i = 1, random(0, 40) do
      bytes[i] = string.char(random(0, 3) == 0 and random(0, 255) or random(0, 127))
    end
    read_all(table.concat(bytes))
  end
end)

test('60 000 levels', function()
  local deep = ''
  for _ = 1, 60000 do
    if #deep > 300000 then break end
    local parts, length = {}, #deep
    repeat
      parts[#parts + 1] = string.char(length % 128 + (length >= 128 and 128 or 0))
      length = math.floor(length / 128)
    until length == 0
    deep = '\90' .. table.concat(parts) .. deep
  end
  equal((Three.decode(deep)), nil)
  equal(select(3, Three.decode(deep)), 'DEPTH')
  equal(select(3, Three.decode(deep, { depth = 1000 })), 'DEPTH')
  equal(select(3, Two.decode(('\83'):rep(60000))), 'DEPTH')
  equal(select(3, Two.decode(('\195\62'):rep(60000))), 'DEPTH')
  equal((flat.unpack(deep)), nil)
  local got = protobuf.decode('kinds.Three', deep)
  assert(type(got) == 'table')
  for _ = 1, 300 do
    got = got.f_message
  end
  local table_of = {}
  for _ = 1, 60000 do
    table_of = { f_message = table_of }
  end
  equal(select(3, Three.encode(table_of)), 'DEPTH')
  equal(select(3, Three.encode(table_of, { depth = 1000 })), 'DEPTH')
  local circle = {}
  circle.f_message = circle
  equal(select(3, Three.encode(circle)), 'DEPTH')
  circle.f_message, circle.r_message = nil, { circle }
  equal(select(3, Three.encode(circle)), 'DEPTH')
  circle.r_message, circle.m_message = nil, { [1] = circle }
  equal(select(3, Three.encode(circle)), 'DEPTH')
end)

test('1 000 levels, with the option depth', function()
  local value = {}
  for _ = 1, 999 do
    value = { f_message = value }
  end
  local bytes = assert(Three.encode(value, { depth = 1000 }))
  equal(#Three.encode(Three.decode(bytes, { depth = 1000 }), { depth = 1000 }), #bytes)
end)

test('lengths of 2 GiB and more', function()
  for _, length in ipairs {
    'ff ff ff ff 07',
    '80 80 80 80 08',
    'ff ff ff ff 0f',
    'fe ff ff ff ff ff ff ff ff 01',
    'ff ff ff ff ff ff ff ff 7f',
  } do
    for _, tag in ipairs { '4a', '5a', 'aa 01', 'ca 02', '92 7d', '0a' } do
      local value, _, code = Three.decode(unhex(tag .. length .. '61 62 63'))
      equal(value, nil)
      assert(code == 'LENGTH', code)
    end
  end
end)

test('random bytes as schemas', function()
  for _ = 1, check.rounds(3000) do
    local bytes = {}
    for i = 1, random(0, 60) do
      bytes[i] = string.char(random(0, 255))
    end
    message.schema(table.concat(bytes))
  end
end)

test('every truncation and many changes of a schema', function()
  for length = 0, #set, 3 do
    message.schema(set:sub(1, length))
  end
  local accepted = 0
  for _ = 1, check.rounds(2000) do
    local at = random(1, #set)
    local changed = message.schema(set:sub(1, at - 1) .. string.char(random(0, 255)) .. set:sub(at + 1))
    local type_of = changed and changed.type 'kinds.Three'
    if type_of then
      accepted = accepted + 1
      local value = type_of.decode(sample)
      if value then type_of.encode(value) end
    end
  end
  assert(accepted > 0)
end)

test('images that were changed', function()
  local image = schema.freeze()
  for _ = 1, check.rounds(2000) do
    local at = random(1, #image)
    local changed = message.thaw(image:sub(1, at - 1) .. string.char(random(0, 255)) .. image:sub(at + 1))
    local type_of = changed and changed.type 'kinds.Three'
    if type_of then
      local value = type_of.decode(sample)
      if value then type_of.encode(value) end
    end
  end
end)

test('random patterns', function()
  local words = {
    'kinds.Three',
    'kinds.Two',
    'f_int32',
    'f_message',
    'f_message.f_int32',
    'pair.left',
    'r_message.x',
    '',
    '.',
    '..',
    'm_string',
    'f_message..',
    '\0',
    ',',
  }
  for _ = 1, check.rounds(2000) do
    local text = {}
    for i = 1, random(0, 8) do
      text[i] = words[random(1, #words)]
    end
    local pattern = schema.pattern(table.concat(text, random(0, 4) == 0 and ',' or ' '))
    if pattern then pattern.unpack(sample) end
  end
end)

test('decoding into tables that contain themselves', function()
  for _, bytes in ipairs {
    sample,
    Three.encode { f_message = { [message.unknown] = unhex '98 7d 02' }, [message.unknown] = unhex '98 7d 01' },
    unhex '98 7d 01 5a 03 98 7d 02 98 7d 03',
  } do
    local loop = {}
    loop.f_message, loop.c_message, loop.r_message, loop.r_int64, loop.m_string, loop.m_message =
      loop, loop, { loop, loop }, loop, loop, loop
    assert(Three.decode(bytes, nil, loop))
  end
end)

test('a finalizer that encodes and decodes', function()
  local runs = 0
  local function finalize()
    runs = runs + 1
    local _ = Three.decode(Three.encode { f_string = ('z'):rep(3000), r_int64 = { 1, 2, 3 } })
    plain_flat.unpack(plain_flat.pack(1, 'f', true, 2, 3, 'x'))
  end
  local function plant()
    if newproxy then
      getmetatable(newproxy(true)).__gc = finalize
    else
      setmetatable({}, { __gc = finalize })
    end
  end
  local large = { f_string = ('a'):rep(2000), r_string = {} }
  for i = 1, 50 do
    large.r_string[i] = 'element ' .. i
  end
  local expected = Three.encode(large)
  for i = 1, 300 do
    plant()
    equal(Three.encode(large), expected)
    equal(Three.decode(expected), large)
    equal(
      { plain_flat.unpack(plain_flat.pack(i, 'text' .. i, true, i / 2, -i, nil)) },
      { i, 'text' .. i, true, i / 2, -i }
    )
  end
  collectgarbage()
  assert(runs > 0)
end)

check.done()
