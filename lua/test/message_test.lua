-- The API plait.message: the result of each function, with the bytes written out.

local check = require 'check'
local message = require 'plait.message'
local test, equal, raises, unhex, hex = check.test, check.equal, check.raises, check.unhex, check.hex

local schema = assert(message.load(check.folder .. '/all.pb'))
local Person = assert(schema.type 'tutorial.Person')
local Two, Three = assert(schema.type 'kinds.Two'), assert(schema.type 'kinds.Three')

local function fails(code, pattern, value, reason, got)
  if value ~= nil then error('expected nil, got ' .. check.show(value), 2) end
  if got ~= code or not reason:find(pattern) then
    error(('got %s, %s; expected %s, %s'):format(got, reason, code, pattern), 2)
  end
end

test('a table becomes the expected bytes and comes back', function()
  local person = {
    name = 'Alice',
    id = 123,
    phone = { { number = '1', type = 'WORK' }, { number = '22' } },
    test = { 1, 2, -3 },
    ['tutorial.Ext.test'] = 7,
    ['tutorial.marks'] = { -1, 1 },
  }
  local bytes = assert(Person.encode(person))
  equal(
    hex(bytes),
    '0a05416c696365107b22050a01311002' .. '22040a023232' .. '2a0c0102fdffffffffffffffff01' .. '5007' .. '58015802'
  )
  equal(Person.decode(bytes), person)
end)

test('every kind comes back, at its limits', function()
  local big = check.integers and math.mininteger or '-9223372036854775808'
  local all = {
    f_double = 1e300,
    f_float = 0.5,
    f_int64 = big,
    f_int32 = -2147483648,
    f_fixed32 = 4294967295,
    f_bool = true,
    f_string = 'ä€𝄞',
    f_bytes = '\0\255',
    f_uint32 = 4294967295,
    f_enum = 'BLUE',
    f_sfixed32 = -2147483648,
    f_sfixed64 = big,
    f_sint32 = -2147483648,
    f_sint64 = big,
    f_message = { f_int32 = 1, f_message = {} },
    r_double = { 1 / 0, -1 / 0, -1 / (1 / 0) },
    r_float = { 1.5 },
    r_bool = { true, false },
    r_string = { '', 'a' },
    r_message = { {}, { f_int32 = 2 } },
    r_enum = { 'RED', 'BLUE', 77 },
    r_loose = { 1, -1 },
    m_string = { a = 1, [''] = 0 },
    m_message = { [-5] = { f_int32 = 1 }, [7] = {} },
    m_bool = { [true] = 'y', [false] = 'n' },
    m_enum = { [3] = 'GREEN' },
    c_text = '',
    o_int32 = 0,
    o_string = '',
  }
  equal(Three.decode(assert(Three.encode(all))), all)
  local nan = Three.decode(assert(Three.encode { f_double = 0 / 0 })).f_double
  assert(nan ~= nan)
end)

test('64-bit integers lose nothing, in every form', function()
  local bytes = unhex '20 ff ff ff ff ff ff ff ff ff 01' -- f_uint64 = 2^64 - 1
  equal(Three.decode(bytes, { int64 = 'string' }).f_uint64, '18446744073709551615')
  equal(Three.decode(bytes, { int64 = 'exact' }).f_uint64, '18446744073709551615')
  equal(Three.decode(bytes, { int64 = 'number' }).f_uint64, check.integers and -1 or 2 ^ 64)
  for _, form in ipairs { 'string', 'exact', check.integers and 'number' or 'string' } do
    equal(Three.encode(assert(Three.decode(bytes, { int64 = form }))), bytes)
  end
  equal(Three.decode(bytes).f_uint64, check.integers and -1 or '18446744073709551615')
  equal(Three.encode { f_uint64 = '0xffffffffffffffff' }, bytes)
  equal(Three.decode(Three.encode { f_int64 = 9007199254740992 }).f_int64, 9007199254740992)
  if jit then
    local ffi = require 'ffi'
    local got = Three.decode(bytes, { int64 = 'cdata' }).f_uint64
    assert(ffi.istype('uint64_t', got) and got == ffi.cast('uint64_t', ffi.cast('int64_t', -1)))
    equal(Three.encode { f_uint64 = got }, bytes)
    assert(
      Three.decode(Three.encode { f_int64 = ffi.cast('int64_t', -5) }, { int64 = 'cdata' }).f_int64
        == ffi.cast('int64_t', -5)
    )
    fails('RANGE', 'f_uint64', Three.encode { f_uint64 = ffi.cast('int64_t', -1) })
    fails('TYPE', 'f_int64', Three.encode { f_int64 = ffi.new 'int[2]' })
  end
end)

test('numbers that do not fit are refused', function()
  for field, values in pairs {
    f_int32 = { 2147483648, -2147483649, 1.5, 1 / 0, 0 / 0 },
    f_uint32 = { -1, 4294967296 },
    f_int64 = { 2 ^ 63, '9223372036854775808' },
    f_uint64 = { '-1', '18446744073709551616', 2 ^ 64 },
    f_enum = { 2 ^ 31 },
  } do
    for _, value in ipairs(values) do
      fails('RANGE', '^kinds%.Three%.' .. field .. ':', Three.encode { [field] = value })
    end
  end
  for field, value in pairs {
    f_int32 = 'x',
    f_bool = 1,
    f_string = 5,
    f_message = 5,
    r_int64 = 5,
    f_double = {},
    f_bytes = true,
  } do
    fails('TYPE', '^kinds%.Three%.' .. field .. ':', Three.encode { [field] = value })
  end
  fails('NAME', '%.f_enum:', Three.encode { f_enum = 'PINK' })
  fails('RANGE', '%.closed:', Two.encode { closed = 1 })
end)

test('errors name type, path and byte', function()
  fails(
    'TYPE',
    '^tutorial%.Person%.phone%[2%]%.number: ',
    Person.encode { phone = { { number = 'x' }, { number = {} } } }
  )
  fails('NAME', '^tutorial%.Person%.phone%[1%]%.nmber: ', Person.encode { phone = { { nmber = 'x' } } })
  fails('LENGTH', '^tutorial%.Person%.phone%[1%]%.number: .*byte 3', Person.decode(unhex '22 04 0a 05 61 62'))
  fails('UTF8', '^kinds%.Three%.f_string: .*byte 2', Three.decode(unhex '4a 01 ff'))
  fails('UTF8', '%.f_string', Three.encode { f_string = '\255' })
  fails('TRUNCATED', 'byte 1', Person.decode(unhex '10'))
  fails('VARINT', 'byte 1', Person.decode(unhex '10 80 80 80 80 80 80 80 80 80 80 01'))
  fails('TAG', 'byte 0', Person.decode(unhex '00 01'))
  fails('GROUP', 'byte 0', Person.decode(unhex '0c'))
  fails('GROUP', 'byte', Person.decode(unhex '0b'))
end)

test('absent is nil; presence is kept; implicit zero is not written', function()
  local empty = Two.decode ''
  equal(empty, {})
  equal(hex(Two.encode { number = -7, text = 'none' }), '08f9ffffffffffffffff01' .. '12046e6f6e65')
  equal(Three.encode { f_int32 = 0, f_string = '', f_bool = false, f_enum = 'RED', f_double = 0 }, '')
  equal(hex(Three.encode { f_double = -1 / (1 / 0) }), '090000000000000080')
  equal(hex(Three.encode { o_int32 = 0, c_number = 0 }), '980300' .. 'e80300')
end)

test('packed and unpacked lists are both read', function()
  equal(Person.decode(unhex '2a 02 01 02 28 03 2a 01 04').test, { 1, 2, 3, 4 })
  equal(Three.decode(unhex 'ba 02 02 01 02 b8 02 05').r_loose, { 1, 2, 5 })
  equal(hex(Three.encode { r_loose = { 1, 2 } }), 'b80201b80202')
  equal(hex(Two.encode { floats = { 1, 2 }, words = { 7 } }), '72080000803f00000040' .. '7a0407000000')
end)

test('messages that occur twice are merged, oneofs keep the last', function()
  equal(Three.decode(unhex '5a 02 28 01 5a 03 4a 01 61'), { f_message = { f_int32 = 1, f_string = 'a' } })
  equal(Three.decode(unhex '98 03 01 a2 03 01 62'), { c_text = 'b' })
  equal(Three.decode(unhex 'aa 03 02 28 01 98 03 05 aa 03 02 18 02'), { c_message = { f_int64 = 2 } })
  equal(Two.decode(unhex '53 08 01 54 53 10 02 54').pair, { left = 1, right = 2 })
end)

test('two members of one oneof are refused', function()
  fails('ONEOF', '^kinds%.Three%.c_text: ', Three.encode { c_number = 0, c_text = 'x' })
  fails(
    'ONEOF',
    '^kinds%.Three%.f_message%.c_message: ',
    Three.encode { f_message = { c_text = '', c_message = {}, f_int32 = 1 } }
  )
  equal(hex(Three.encode { c_text = 'x', f_message = { c_number = 1 } }), '5a03980301' .. 'a2030178')
  local wide = { c_number = 1, c_text = 'x' }
  for _, field in ipairs(schema.fields 'kinds.Three') do
    if field.repeated then
      wide[field.name] = {}
    elseif field.kind:find 'int' and not field.oneof then
      wide[field.name] = 1
    end
  end
  for _, field in ipairs(schema.fields 'kinds.Three') do
    if field.kind:find 'fixed' and not field.repeated then wide[field.name] = 1 end
  end
  fails('ONEOF', '%.c_text: ', Three.encode(wide))
  wide.c_number = nil
  assert(Three.encode(wide))
  local flat = schema.pattern 'kinds.Three c_number f_message.c_text f_message.c_number c_message.f_int32'
  fails('ONEOF', '%.c_message: ', flat.pack(1, nil, nil, 2))
  fails('ONEOF', '%.f_message%.c_text: ', flat.pack(1, 'x', 5, nil))
  equal({ flat.unpack(flat.pack(1, 'x', nil, nil)) }, { 1, 'x' })
end)

test('items of a MessageSet are fields for every function', function()
  local set = { ['kinds.Item.item'] = { number = 7, more = { ['kinds.Item.item'] = { number = 8 } } } }
  local bytes = assert(Two.encode { set = set })
  equal(hex(bytes), '8a0112' .. '0b10051a0c' .. '0807' .. '1208' .. '0b10051a02' .. '0808' .. '0c0c')
  equal(Two.decode(bytes).set, set)
  equal(Two.view(bytes).set['kinds.Item.item'].more['kinds.Item.item'].number, 8)
  local flat =
    assert(schema.pattern 'kinds.Two set.kinds.Item.item.number set.kinds.Item.item.more.kinds.Item.item.number')
  equal({ flat.unpack(bytes) }, { 7, 8 })
  equal(flat.pack(7, 8), bytes)
  local whole = schema.pattern 'kinds.Two set.kinds.Item.item'
  equal(whole.unpack(bytes), unhex '0807 1208 0b10051a02 0808 0c')
  equal(whole.pack(whole.unpack(bytes)), bytes)
  -- The number behind the message, the plain form, two of them, a stranger, and one without a message.
  local odd = unhex '0b 1a 02 08 01 10 05 0c  2a 02 12 00  0b 10 05 1a 02 08 09 0c  0b 10 06 1a 01 ff 0c  0b 10 05 0c'
  odd = unhex '8a01' .. string.char(#odd) .. odd
  local got = assert(Two.decode(odd)).set
  equal(
    got,
    { ['kinds.Item.item'] = { number = 9, more = {} }, [message.unknown] = unhex '0b 10 06 1a 01 ff 0c 0b 10 05 0c' }
  )
  equal(Two.view(odd).set['kinds.Item.item'].number, 9)
  equal({ flat.unpack(odd) }, { 9 })
  equal(Two.decode(Two.encode(Two.decode(odd))), Two.decode(odd))
  fails(
    'LENGTH',
    '^kinds%.Two%.set%.kinds%.Item%.item%.more: .*byte 9',
    Two.decode(unhex '8a01 09 0b 10 05 1a 03 12 05 0b 0c')
  )
  fails('GROUP', '^kinds%.Two%.set: ', Two.decode(unhex '8a01 03 0b 10 05'))
end)

test('wrong wire types, unknown fields and unknown closed enums are kept', function()
  local odd = unhex '0d 01 00 00 00 38 01 42 02 03 09 92 7d 01 61 6a 05 0a 01 78 10 09'
  local two = assert(Two.decode(odd))
  equal(two, {
    many = { 'SOME' },
    named = {},
    [message.unknown] = unhex '0d 01 00 00 00 38 01 40 09 92 7d 01 61 6a 05 0a 01 78 10 09',
  })
  equal(Two.decode(Two.encode(two)), two)
  equal(Two.decode(odd, { unknown = false }), { many = { 'SOME' }, named = {} })
  equal(Three.decode(unhex '5a 03 98 7d 01').f_message, { [message.unknown] = unhex '98 7d 01' })
end)

test('options: enums, required, deterministic, depth', function()
  equal(Three.decode(unhex '70 05', { enums = 'number' }).f_enum, 5)
  equal(Three.encode { f_enum = 5 }, unhex '70 05')
  fails('REQUIRED', '^tutorial%.Person%.id: ', Person.encode({ name = 'x' }, { required = true }))
  fails(
    'REQUIRED',
    '^tutorial%.Person%.phone%[1%]%.number: ',
    Person.decode(unhex '0a 00 10 01 22 00', { required = true })
  )
  assert(Person.decode(unhex '22 00'))
  local Strict = assert(schema.type('tutorial.Person', { required = true }))
  fails('REQUIRED', 'name', Strict.encode {})
  local map = {}
  for i = 1, 50 do
    map['k' .. i] = i
  end
  local first = Three.encode({ m_string = map }, { deterministic = true })
  local again = {}
  for i = 50, 1, -1 do
    again['k' .. i] = i
  end
  equal(Three.encode({ m_string = again }, { deterministic = true }), first)
  equal(Three.decode(first).m_string, map)
  fails('DEPTH', 'f_message', Three.decode(unhex '5a 02 5a 00', { depth = 1 }))
  assert(Three.decode(unhex '5a 02 5a 00', { depth = 2 }))
  raises('unknown option', Three.decode, '', { enmus = 'name' })
  raises('option enums', Three.decode, '', { enums = 'x' })
  raises('depth', Three.decode, '', { depth = 0 })
end)

test('decoding into a table gives the same as into a new one', function()
  local old = {
    name = 'old',
    email = 'x',
    phone = { { number = '9', type = 'WORK' }, { number = '8' }, { number = '7' } },
    test = { 9, 9, 9 },
    mine = 1,
    [message.unknown] = 'x',
  }
  local phone, first = old.phone, old.phone[1]
  local got = assert(Person.decode(unhex '0a 01 61 22 03 0a 01 31 2a 01 05', nil, old))
  assert(got == old and got.phone == phone and got.phone[1] == first)
  equal(got, { name = 'a', phone = { { number = '1' } }, test = { 5 }, mine = 1 })
  local seen = { m_string = { a = 1, b = 2 }, f_message = { f_int32 = 5, f_message = {} }, c_number = 1 }
  equal(
    Three.decode(unhex '5a 02 18 01 ca 02 05 0a 01 63 10 03 a2 03 01 78', nil, seen),
    { m_string = { c = 3 }, f_message = { f_int64 = 1 }, c_text = 'x' }
  )
end)

test('an encoded sub-message may stand for its table', function()
  local phone = assert(schema.type 'tutorial.Person.PhoneNumber').encode { number = '5' }
  equal(
    Person.decode(Person.encode { name = 'a', phone = { phone, { number = '6' } } }).phone,
    { { number = '5' }, { number = '6' } }
  )
end)

test('patterns pack and unpack, nested names too', function()
  local flat = assert(
    schema.pattern 'kinds.Three f_int32, f_message.f_string f_message.f_message.f_int32 r_sint64 m_string c_text f_message.f_enum'
  )
  local bytes = assert(flat.pack(5, 'x', 7, { -1, 2 }, { a = 1 }, nil, 'BLUE'))
  equal(Three.decode(bytes), {
    f_int32 = 5,
    f_message = { f_string = 'x', f_enum = 'BLUE', f_message = { f_int32 = 7 } },
    r_sint64 = { -1, 2 },
    m_string = { a = 1 },
  })
  equal({ flat.unpack(bytes) }, { 5, 'x', 7, { -1, 2 }, { a = 1 }, nil, 'BLUE' })
  equal(select('#', flat.unpack ''), 7)
  equal({ flat.unpack '' }, {})
  local both = assert(schema.pattern 'kinds.Three f_message f_message.f_int32 f_int32 f_int32')
  equal(
    { both.unpack(bytes) },
    { Three.encode { f_string = 'x', f_message = { f_int32 = 7 }, f_enum = 'BLUE' }, nil, 5, 5 }
  )
  fails('PATTERN', 'pattern', both.pack(nil, 1, 2, 3))
  fails('RANGE', '^kinds%.Three%.f_int32: ', flat.pack(2 ^ 40))
  fails('NAME', 'no such field: nam', schema.pattern 'tutorial.Person nam')
  fails('NAME', 'no such message', schema.pattern 'tutorial.Nobody name')
  fails('PATTERN', 'phone.number', schema.pattern 'tutorial.Person phone.number')
  fails('LENGTH', 'f_message', flat.unpack(unhex '5a 05 28 01'))
  local extension = assert(schema.pattern 'tutorial.Person tutorial.Ext.test tutorial.marks name')
  equal({ extension.unpack(extension.pack(5, { 6 }, 'n')) }, { 5, { 6 }, 'n' })
  local group = assert(schema.pattern 'kinds.Two pair.left pair number')
  equal({ group.unpack(unhex '53 08 01 54 08 02') }, { 1, unhex '08 01', 2 })
end)

test('wide patterns', function()
  local names, values = {}, {}
  for _, field in ipairs(schema.fields 'kinds.Three') do
    if field.kind == 'int32' and not field.repeated and not field.oneof then
      names[#names + 1] = field.name
      for depth = 1, 14 do
        names[#names + 1] = ('f_message.'):rep(depth) .. field.name
      end
    end
  end
  for i = 1, #names do
    values[i] = i
  end
  local wide = assert(schema.pattern('kinds.Three ' .. table.concat(names, ' ')))
  equal({ wide.unpack(wide.pack((unpack or table.unpack)(values))) }, values)
  while #names < 200 do
    names[#names + 1] = 'f_int32'
  end
  assert(schema.pattern('kinds.Three ' .. table.concat(names, ' ')))
  fails('PATTERN', '200', schema.pattern('kinds.Three ' .. table.concat(names, ' ') .. ' f_int32'))
end)

test('views read single fields', function()
  local bytes = Three.encode {
    f_int32 = 5,
    f_message = { f_string = 'in', r_int64 = { 1, 2 } },
    r_message = { { f_int32 = 1 } },
    m_string = { a = 1 },
    c_text = 'x',
  }
  local view = Three.view(bytes)
  equal(view.f_int32, 5)
  equal(view.f_message.f_string, 'in')
  equal(view.f_message.r_int64, { 1, 2 })
  equal(view.r_message, { { f_int32 = 1 } })
  equal(view.m_string, { a = 1 })
  equal(view.o_int32, nil)
  equal(view.f_message.f_message, nil)
  equal({ message.bytes(view.f_message) }, { Three.encode { f_string = 'in', r_int64 = { 1, 2 } }, 'kinds.Three' })
  equal(message.expand(view), Three.decode(bytes))
  equal(Three.view(unhex '5a 02 28 01 5a 03 4a 01 61').f_message.f_string, 'a')
  equal(Three.view(unhex '5a 02 28 01 5a 03 4a 01 61').f_message.f_int32, 1)
  equal(Three.view(unhex '98 03 01 a2 03 01 62').c_number, nil)
  equal(Two.view(unhex '53 08 01 54').pair.left, 1)
  raises('no field nme', function() return view.nme end)
  raises('only read', function() view.f_int32 = 1 end)
  raises('kinds%.Three', function() return Three.view(unhex '5a 05').f_int32 end)
end)

test('schemas list their types, and can be frozen', function()
  equal(schema.types()['kinds.Color'], 'enum')
  equal(schema.types()['tutorial.Person'], 'message')
  equal(schema.enum 'tutorial.Person.PhoneType', { MOBILE = 0, HOME = 1, WORK = 2, ODD = -3 })
  equal(schema.fields 'nobody', nil)
  local fields = schema.fields 'kinds.Two'
  equal(fields[2], { name = 'text', number = 2, kind = 'string', default = 'none\t"x"' })
  equal(fields[3].default, '\0\255a')
  equal(fields[5].default, -1 / 0)
  equal(fields[7].default, 'SOME')
  equal(fields[9].default, check.integers and -1 or '18446744073709551615')
  local bytes, address, length = schema.freeze()
  equal(#bytes, length)
  for _, other in ipairs { assert(message.thaw(bytes)), assert(message.share(address, length)) } do
    equal(other.type('tutorial.Person').decode(Person.encode { name = 'a', id = 1 }), { name = 'a', id = 1 })
  end
  fails('SCHEMA', 'image', message.thaw(bytes:sub(1, -9)))
  fails('SCHEMA', 'image', message.thaw '')
  fails('SCHEMA', 'protoc %-%-include_imports', message.schema(check.read 'kinds2_alone.pb'))
  assert(message.schema(check.read 'kinds2_alone.pb', check.read 'kinds3.pb'))
  fails('NAME', 'nobody', schema.type 'nobody')
  fails('FILE', 'nowhere', message.load '/nowhere')
end)

test('a wide table is encoded like a narrow one', function()
  local wide = {}
  for _, field in ipairs(schema.fields 'kinds.Three') do
    if not field.oneof then
      wide[field.name] = field.map and {}
        or field.repeated and {}
        or field.kind == 'message' and {}
        or field.kind == 'enum' and 'BLUE'
        or field.kind == 'bool' and true
        or (field.kind == 'string' or field.kind == 'bytes') and 'x'
        or 1
    end
  end
  wide[message.unknown] = unhex '98 7d 01'
  local bytes = assert(Three.encode(wide))
  for key, value in pairs(wide) do
    if type(value) == 'table' and key:find '^[rm]_' then wide[key] = nil end
  end
  equal(Three.decode(bytes), wide)
  wide.nobody = 1
  fails('NAME', 'nobody', Three.encode(wide))
end)

test('misuse raises errors', function()
  raises('dot', Person.encode, Person, {})
  raises('dot', Person.decode, Person, '')
  raises('table expected', Person.encode, 5)
  raises('string', Person.decode, 5)
  raises('string', message.schema, 5)
end)

check.done()
