-- The API of pbc: behavior that programs written for it rely on, and fixes.

local check = require 'check'
local protobuf = require 'protobuf'
local test, equal, raises, unhex = check.test, check.equal, check.raises, check.unhex

-- A plain copy of a decoded message: no metatables, nothing lazy.
local function plain(value)
  if type(value) ~= 'table' then return value end
  local copy = {}
  for key, inner in next, protobuf.extract(value) do
    copy[key] = plain(inner)
  end
  return copy
end

test('nothing is known before it is registered', function()
  equal(protobuf.check 'tutorial.Person', false)
  raises('tutorial.Person', protobuf.encode, 'tutorial.Person', {})
  local person, reason = protobuf.decode('tutorial.Person', '')
  equal(person, false)
  assert(reason:find 'tutorial.Person' and protobuf.lasterror() == reason and protobuf.lasterror() == nil)
end)

test('register: order, repetition, failure', function()
  raises('register fail', protobuf.register, 'garbage')
  assert(protobuf.lasterror())
  raises('register fail', protobuf.register, '')
  raises('register fail', protobuf.register, check.read 'kinds2_alone.pb')
  assert(protobuf.lasterror():find 'kinds.Three')
  equal(protobuf.register(check.read 'kinds3.pb'), nil)
  protobuf.register(check.read 'kinds2_alone.pb')
  protobuf.register_file(check.folder .. '/all.pb')
  protobuf.register_file(check.folder .. '/all.pb')
  raises('nowhere', protobuf.register_file, '/nowhere')
  assert(
    protobuf.check 'tutorial.Person'
      and protobuf.check('tutorial.Person', 'id')
      and protobuf.check('tutorial.Person', 'tutorial.Ext.test')
  )
  assert(not protobuf.check 'nobody' and not protobuf.check('tutorial.Person', 'nothing'))
  if _VERSION == 'Lua 5.1' then assert(rawget(_G, 'protobuf') == protobuf) end
end)

local person = {
  name = 'Alice',
  id = 123,
  phone = { { number = '1', type = 'WORK' }, { number = '2' } },
  test = { 1, -2 },
  ['tutorial.Ext.test'] = 5,
}

test('encode and decode', function()
  local bytes = protobuf.encode('tutorial.Person', person)
  equal(plain(protobuf.decode('tutorial.Person', bytes)), person)
  local length, tail
  equal(
    protobuf.encode('tutorial.Person', person, function(address, size, extra)
      assert(type(address) == 'userdata')
      length, tail = size, extra
      return plain(protobuf.decode('tutorial.Person', address, size)).name, 'second'
    end, 'x'),
    'Alice'
  )
  equal({ length, tail }, { #bytes, 'x' })
  equal(select('#', protobuf.encode('tutorial.Person', {}, function() return 1, 2, 3 end)), 3)
  raises('^nothing$', protobuf.encode, 'tutorial.Person', { nothing = 1 })
  raises('tutorial.Person.id', protobuf.encode, 'tutorial.Person', { id = {} })
end)

test('large messages reach the function whole', function()
  local book = { person = {} }
  for i = 1, 500 do
    book.person[i] = { name = 'n' .. i, id = i }
  end
  local copy = protobuf.encode(
    'tutorial.AddressBook',
    book,
    function(address, size) return plain(protobuf.decode('tutorial.AddressBook', address, size)) end
  )
  equal(copy, book)
end)

test('decoded messages have defaults', function()
  local got = protobuf.decode(
    'tutorial.Person',
    protobuf.encode('tutorial.Person', { name = 'a', id = 1, phone = { { number = '5' } } })
  )
  equal(got.email, '')
  equal(rawget(got, 'email'), nil)
  equal(got.phone[1].type, 'HOME')
  equal(got.test, {})
  assert(rawget(got, 'test') == got.test)
  raises('^nothing$', function() return got.nothing end)
  local two = protobuf.decode('kinds.Two', '')
  equal(
    { two.number, two.text, two.data, two.rate, two.yes, two.closed },
    { -7, 'none\t"x"', '\0\255a', 1.5e-3, true, 'SOME' }
  )
  equal(two.three.f_enum, 'RED')
  assert(rawget(two, 'three') == two.three)
  equal(two.inner.inner.number, -7)
  local made = protobuf.default('tutorial.Person', { phone = { { number = '1' } } })
  equal({ made.name, made.id, made.phone[1].type }, { '', 0, 'HOME' })
end)

test('sub-messages stay encoded until they are touched', function()
  local bytes = protobuf.encode('tutorial.Person', person)
  local got = protobuf.decode('tutorial.Person', bytes)
  equal(rawget(got.phone[1], 1), 'tutorial.Person.PhoneNumber')
  equal(rawget(got.phone[1], 2), unhex '0a 01 31 10 02')
  equal(protobuf.encode('tutorial.Person', got), bytes)
  equal(got.phone[1].number, '1')
  equal(rawget(got.phone[1], 2), nil)
  if _VERSION ~= 'Lua 5.1' then
    local seen = {}
    for key, value in pairs(got.phone[2]) do
      seen[key] = value
    end
    equal(seen, { number = '2' })
  end
  got.phone[2].type = 'MOBILE'
  equal(plain(got).phone[2], { number = '2', type = 'MOBILE' })
  local broken = protobuf.decode('tutorial.Person', unhex '22 02 0a 05')
  local touched = broken.phone[1]
  raises('tutorial.Person.PhoneNumber.number', function() return touched.number end)
  equal(rawget(touched, 2), unhex '0a 05')
  equal(plain(protobuf.decode('kinds.Two', unhex '62 02 28 01 62 02 18 02').three), { f_int32 = 1, f_int64 = 2 })
end)

test('malformed messages return false and a reason', function()
  local got, reason = protobuf.decode('tutorial.Person', unhex '72 fe ff ff ff 0f 61 62 63')
  equal(got, false)
  assert(reason:find 'tutorial.Person')
  equal((protobuf.decode('tutorial.Person', unhex '98 01 ff ff ff ff ff ff ff ff ff')), false)
end)

test('pack and unpack', function()
  local bytes = protobuf.pack('tutorial.Person name id', 'Bob', 7)
  equal(bytes, unhex '0a 03 42 6f 62 10 07')
  equal({ protobuf.unpack('tutorial.Person id name email', bytes) }, { 7, 'Bob', '' })
  raises('bad argument', protobuf.pack, 'tutorial.Person name id', 'x')
  equal(select('#', protobuf.unpack('tutorial.Person id', unhex '10')), 0)
  assert(protobuf.lasterror():find 'tutorial.Person.id')
  equal({ protobuf.unpack('tutorial.Person.PhoneNumber type', unhex '10 02') }, { 2 })
  equal({ protobuf.unpack('tutorial.Person.PhoneNumber type', '') }, { 1 })
  equal(
    { protobuf.unpack('tutorial.Person test', protobuf.pack('tutorial.Person test', { 1, 2, 300 })) },
    { { 1, 2, 300 } }
  )
  equal({
    protobuf.unpack(
      'kinds.Three f_sint64 f_float r_float',
      protobuf.pack('kinds.Three f_sint64 f_float r_float', -5, 0.5, { 1, 2 })
    ),
  }, { -5, 0.5, { 1, 2 } })
  equal({ protobuf.unpack('tutorial.Person id id', bytes) }, { 7, 7 })
  raises('no such field', protobuf.pack, 'tutorial.Person nobody', 1)
end)

test('sub-messages of patterns live as long as they are held', function()
  local inner = protobuf.pack('kinds.Three f_string', ('x'):rep(100))
  local bytes = protobuf.pack('kinds.Two three', inner)
  local span = protobuf.unpack('kinds.Two three', bytes)
  assert(type(span[1]) == 'userdata' and span[2] == #inner)
  bytes, inner = nil, nil -- luacheck: ignore 311 (only the span holds them now)
  for _ = 1, 5 do
    collectgarbage()
    local _ = ('y'):rep(100) .. _
  end
  equal(protobuf.unpack('kinds.Three f_string', span[1], span[2]), ('x'):rep(100))
  equal(
    protobuf.unpack(
      'kinds.Three f_string',
      protobuf.unpack('kinds.Two three', protobuf.pack('kinds.Two three', span))[1],
      span[2]
    ),
    ('x'):rep(100)
  )
  equal(protobuf.unpack('kinds.Two three', '')[2], 0)
end)

test('fixed: proto3, maps, oneofs, presence, negative enums, conversions', function()
  local three = {
    r_int64 = { 1, 2, 3 },
    m_string = { a = 1 },
    m_message = { [5] = { f_int32 = 1 } },
    c_number = 0,
    o_int32 = 0,
    r_enum = { 'BLUE' },
  }
  equal(plain(protobuf.decode('kinds.Three', protobuf.encode('kinds.Three', three))), three)
  equal(protobuf.enum_id('tutorial.Person.PhoneType', 'ODD'), -3)
  equal(protobuf.enum_id('tutorial.Person.PhoneType', 'NEVER'), nil)
  equal(protobuf.enum_id('nobody', 'NEVER'), nil)
  equal(
    plain(
      protobuf.decode(
        'kinds.Three',
        protobuf.encode('kinds.Three', { f_string = 12, f_int32 = '7', f_sint32 = 2.9, f_double = '0.5' })
      )
    ),
    { f_string = '12', f_int32 = 7, f_sint32 = 2, f_double = 0.5 }
  )
  raises('f_int32', protobuf.encode, 'kinds.Three', { f_int32 = 'seven' })
  raises('f_int32', protobuf.encode, 'kinds.Three', { f_int32 = 2 ^ 40 })
  equal(plain(protobuf.decode('kinds.Two', unhex '53 08 01 54')).pair, { left = 1 })
end)

test('decoded messages outlive a registration, and defaults do not hide undecoded fields', function()
  local bytes = protobuf.encode('tutorial.Person', person)
  local before = protobuf.decode('tutorial.Person', bytes)
  protobuf.register(check.read 'kinds2_alone.pb' .. check.read 'kinds3.pb')
  equal(protobuf.encode('tutorial.Person', before), bytes)
  local after = protobuf.default('tutorial.Person', protobuf.decode('tutorial.Person', bytes))
  equal({ after.phone[1].number, after.phone[1].type, after.phone[2].type }, { '1', 'WORK', 'HOME' })
  equal(protobuf.encode('tutorial.Person', after), bytes)
end)

test('registering the same again changes nothing and costs nothing', function()
  local metatable = getmetatable(protobuf.decode('tutorial.Person', ''))
  for _ = 1, 3 do
    protobuf.register_file(check.folder .. '/all.pb')
  end
  assert(getmetatable(protobuf.decode('tutorial.Person', '')) == metatable)
end)

check.done()
