-- The fast paths for tables, compared with the general path. The encoding of many fields must equal the concatenated
-- encodings of single fields, because the format defines concatenation that way. So single fields are the oracle.

local check = require 'check'
local message = require 'plait.message'
local test, equal, unhex, random = check.test, check.equal, check.unhex, check.random

local schema = assert(message.load(check.folder .. '/all.pb'))
local Three, Two = schema.type 'kinds.Three', schema.type 'kinds.Two'

-- Values at the limits of short encodings: a byte of a varint, a length of one byte, copies of a few bytes, the
-- buffer's size.
local integers = { 1, 2, 63, 64, 127, 128, 255, 16383, 16384, 2147483647 }
local signed = { -1, -64, -65, -128, -2147483648 }
local lengths = {
  1,
  2,
  3,
  4,
  7,
  8,
  9,
  15,
  16,
  17,
  31,
  126,
  127,
  128,
  129,
  500,
  1000,
  1015,
  1016,
  1017,
  1018,
  1019,
  1020,
  1021,
  1022,
  1023,
  1024,
  1025,
  1030,
  3000,
}
local function text()
  local length = lengths[random(1, random(1, 3) == 1 and #lengths or 14)]
  return string.char(random(97, 122)):rep(length - 1) .. string.char(random(97, 122))
end
local function number(kind)
  if kind == 'bool' then return true end
  if kind == 'double' or kind == 'float' then return random(-1000, 1000) / 8 + 0.0625 end -- never zero
  if not kind:find 'u' and not kind:find '^f' and random(1, 4) == 1 then return signed[random(1, #signed)] end
  return integers[random(1, #integers)]
end

local function value_of(field)
  if field.kind == 'string' or field.kind == 'bytes' then return text() end
  if field.kind == 'enum' then
    for name, value in pairs(schema.enum(field.type)) do
      if value ~= 0 then return name end
    end
  end
  if field.kind == 'message' or field.kind == 'group' then return nil end
  return number(field.kind)
end

local function single_fields(name)
  local some = {}
  for _, field in ipairs(schema.fields(name)) do
    if
      not field.map
      and not field.oneof
      and not field.extension
      and field.kind ~= 'message'
      and field.kind ~= 'group'
    then
      some[#some + 1] = field
    end
  end
  return some
end

local function shuffle(list)
  for i = #list, 2, -1 do
    local j = random(1, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

test('a table is encoded as its fields, in the order of their numbers', function()
  local most = 0
  for round = 1, check.rounds(4000) do
    local Type = round % 2 == 0 and Two or Three
    local fields = shuffle(single_fields(Type.name))
    -- The first of each type has them all.
    local value, count = {}, round <= 2 and #fields or random(1, round % 7 == 0 and #fields or 6)
    for i = 1, math.min(count, #fields) do
      local field = fields[i]
      local one = value_of(field)
      value[field.name] = field.repeated and one ~= nil and { one, value_of(field) } or one
    end
    local parts, all = {}, 0
    for _, field in ipairs(schema.fields(Type.name)) do
      if value[field.name] ~= nil then
        parts[#parts + 1] = assert(Type.encode { [field.name] = value[field.name] })
        all = all + 1
      end
    end
    most = math.max(most, all)
    equal(check.hex(assert(Type.encode(value))), check.hex(table.concat(parts)))
    equal(Type.decode(table.concat(parts)), value)
    equal(Type.decode(table.concat(shuffle(parts))), value, 'in another order')
    local into = {}
    for _, field in ipairs(fields) do
      into[field.name] = random(1, 3) == 1 and value_of(field) or nil
    end
    equal(Type.decode(table.concat(parts), nil, into), value, 'into a table')
    equal(Type.decode(table.concat(parts) .. table.concat(parts)).f_string, value.f_string)
  end
  assert(most > 24, 'tables with more keys than lie on the stack: ' .. most)
end)

test('every truncation of a message on the fast path names the field and the byte', function()
  local bytes = Three.encode { f_double = 1, f_int64 = 300, f_int32 = 5, f_string = 'hello' }
  local starts = { [0] = true, [9] = true, [12] = true, [14] = true }
  for length = 0, #bytes - 1 do
    local value, reason, code = Three.decode(bytes:sub(1, length))
    if starts[length] then
      assert(value, length)
    else
      assert(
        not value and (code == 'TRUNCATED' or code == 'LENGTH') and reason:find '^kinds%.Three%.f_%w+: .*%(byte %d+%)$',
        reason
      )
    end
  end
end)

-- a: int32, b and c: bytes, d: sint32, with tags of one byte.
local function part(at, bytes) return string.char(at * 8 + 2, #bytes) .. bytes end
local function made(...)
  return assert(message.schema(part(1, part(1, 'made.proto') .. part(4, part(1, 'M') .. table.concat { ... })))).type 'M'
end
local function member(name, tag, kind)
  return part(2, part(1, name) .. '\24' .. string.char(tag) .. '\32\1\40' .. string.char(kind))
end

test('a buffer that is just full, or one byte short', function()
  local M = made(member('a', 1, 5), member('b', 2, 12), member('c', 3, 12), member('d', 4, 17))
  for length = 980, 1040 do
    local c = ('c'):rep(length)
    local behind = '\26' .. string.char(length % 128 + 128, math.floor(length / 128)) .. c .. '\32\5'
    for short = 0, 20 do
      local b = ('b'):rep(short)
      local before = '\18' .. string.char(short) .. b
      equal(M.encode { a = 7, b = b, c = c, d = -3 }, '\8\7' .. before .. behind)
      equal(M.encode { b = b, c = c, d = -3 }, before .. behind)
    end
    equal(M.encode { a = 7, c = c, d = -3 }, '\8\7' .. behind)
  end
  for value, byte in pairs { [3] = '\6', [63] = '\126', [-64] = '\127', [-1] = '\1' } do
    equal(M.encode { d = value }, '\32' .. byte)
    equal(M.decode('\32' .. byte), { d = value })
  end
end)

-- The first byte of another field's tag is the whole tag of field 16, as a number.
test('a tag of two bytes is not read as one byte', function()
  local M = made(member('a', 16, 5))
  equal(M.decode '\128\1\5', { a = 5 })
  equal(M.decode '\128\5\1', { [message.unknown] = '\128\5\1' })
  equal(M.encode { a = 5 }, '\128\1\5')
end)

test('zero of fields without presence is not written, whatever it is', function()
  local all = {}
  for _, field in ipairs(single_fields 'kinds.Three') do
    if field.implicit and not field.repeated then
      local zero = (field.kind == 'string' or field.kind == 'bytes') and '' or field.kind ~= 'bool' and 0
      equal(Three.encode { [field.name] = zero }, '', field.name)
      all[field.name] = zero
    end
  end
  equal(Three.encode(all), '')
  local minus = -1
  equal(Three.encode { f_double = minus * 0.0, f_int32 = 1 }, unhex '09 00 00 00 00 00 00 00 80 28 01')
  if type(jit) == 'table' then
    local zero, one = assert(loadstring 'return 0ULL, 1ULL')()
    for _, name in ipairs { 'f_int64', 'f_uint64', 'f_fixed64', 'f_sfixed64', 'f_sint64', 'f_double' } do
      equal(Three.encode { [name] = zero }, '', name)
      equal(Three.encode { [name] = one }, Three.encode { [name] = 1 }, name)
    end
  end
end)

test('values that do not fit are refused beside values that do', function()
  for _, wrong in ipairs {
    { 2147483648, 'RANGE' },
    { -2147483649, 'RANGE' },
    { 1.5, 'RANGE' },
    { 'x', 'TYPE' },
    { {}, 'TYPE' },
    { true, 'TYPE' },
    { 0 / 0, 'RANGE' },
    { 1 / 0, 'RANGE' },
  } do
    for _, value in ipairs {
      { f_int32 = wrong[1] },
      { f_int32 = wrong[1], f_string = 'a', f_double = 1 },
      { o_int32 = wrong[1], f_int32 = 1 },
    } do
      local bytes, reason, code = Three.encode(value)
      assert(not bytes and reason:find '^kinds%.Three%.[fo]_int32: ', reason)
      equal(code, wrong[2])
    end
  end
  equal(Three.encode { f_int32 = 5.0, f_int64 = 5.0 }, unhex '18 05 28 05')
end)

check.done()
