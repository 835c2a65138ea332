-- Misuse by programs, and hostile bytes: nothing here may crash, or change the type of a value.

local check = require 'check'
local message = require 'plait.message'
local protobuf = require 'protobuf'
local test, equal, raises, unhex = check.test, check.equal, check.raises, check.unhex

local schema = assert(message.load(check.folder .. '/all.pb'))
protobuf.register_file(check.folder .. '/all.pb')

-- LuaJIT encodes objects as NaNs, so a NaN from outside could pass for any object.
test('every NaN is a number', function()
  local doubles, floats = schema.pattern 'kinds.Three f_double', schema.pattern 'kinds.Three f_float'
  for _, bytes in ipairs {
    'ffffffffffffffff',
    '00000000000cfbff',
    'efbeaddedec0faff',
    '785634120000fbff',
    '010000000000f07f',
    '000000000000f8ff',
  } do
    local value = doubles.unpack(unhex('09' .. bytes))
    assert(type(value) == 'number' and value ~= value, bytes)
  end
  for _, bytes in ipairs { 'ffffffff', '0000ffff', 'ffffdfff', '0100807f' } do
    local value = floats.unpack(unhex('15' .. bytes))
    assert(type(value) == 'number' and value ~= value, bytes)
  end
  equal(doubles.unpack(unhex '09 000000000000f0ff'), -1 / 0)
  equal(floats.unpack(unhex '15 0000807f'), 1 / 0)
end)

-- Programs can get the metatables from decoded messages.
test('the functions of metatables, called by a program', function()
  local decoded = protobuf.decode('kinds.Three', unhex '5a 00')
  local lazy = getmetatable(rawget(decoded, 'f_message'))
  for _, run in ipairs { getmetatable(decoded).__index, lazy.__index, lazy.__newindex, lazy.__pairs } do
    for _, value in ipairs { 1, 'text', true, print, coroutine.create(function() end) } do
      raises('table expected', run, value, 'r_int64', 1)
    end
    raises('table expected', run)
  end
end)

test('metamethods are not called', function()
  local Three = schema.type 'kinds.Three'
  local angry = {}
  for _, name in ipairs { '__index', '__newindex', '__len', '__pairs', '__ipairs', '__call', '__eq', '__tostring' } do
    angry[name] = function() error('a metamethod was called: ' .. name) end
  end
  local function arm(value)
    if type(value) == 'table' then
      for _, inner in pairs(value) do
        arm(inner)
      end
      setmetatable(value, angry)
    end
    return value
  end
  local function make()
    return {
      f_int32 = 1,
      r_int64 = { 1, 2 },
      r_message = { { f_string = 'x' }, {} },
      m_string = { a = 1 },
      f_message = {},
      m_message = { [1] = {} },
    }
  end
  local bytes = assert(Three.encode(make(), { deterministic = true }))
  equal(Three.encode(arm(make()), { deterministic = true }), bytes)
  for _, sent in ipairs { bytes, unhex '5a 03 98 7d 01 5a 03 98 7d 02 98 7d 03' } do
    local got = assert(Three.decode(sent, nil, arm(make())))
    local plain = assert(Three.decode(sent))
    local function strip(value)
      if type(value) == 'table' then
        setmetatable(value, nil)
        for _, inner in pairs(value) do
          strip(inner)
        end
      end
      return value
    end
    equal(strip(got), plain)
  end
  equal({
    schema
      .pattern('kinds.Three r_int64 m_string')
      .unpack(schema.pattern('kinds.Three r_int64 m_string').pack(arm { 1, 2 }, arm { a = 1 })),
  }, { { 1, 2 }, { a = 1 } })
end)

test('keys that are not names', function()
  local Three = schema.type 'kinds.Three'
  for _, key in ipairs {
    1,
    1.5,
    true,
    {},
    print,
    coroutine.create(function() end),
    io.stdout,
    ('long'):rep(100),
    'f_int3',
    'F_INT32',
    '',
  } do
    local value, _, code = Three.encode { [key] = 1 }
    equal({ value, code }, { nil, 'NAME' })
    value, _, code = Three.encode { f_int32 = 1, f_message = { f_string = 'x', [key] = 1 } }
    equal({ value, code }, { nil, 'NAME' })
  end
  -- The same tables after tables of another order, and names made at run time.
  for _ = 1, 3 do
    equal(
      Three.decode(Three.encode { ['f_' .. 'int32'] = 1, f_string = 'a', o_int32 = 3 }),
      { f_int32 = 1, f_string = 'a', o_int32 = 3 }
    )
    equal(
      Three.decode(Three.encode { o_int32 = 3, f_double = 0.5, f_int32 = 1 }),
      { f_int32 = 1, f_double = 0.5, o_int32 = 3 }
    )
  end
end)

-- Whatever the finalizer does to the tables, a call returns a value or an error, and never exposes an internal table.
test('a finalizer that changes the tables in use', function()
  local Three = schema.type 'kinds.Three'
  local current, runs = {}, 0
  local function finalize()
    runs = runs + 1
    for _ = 1, 2 do
      current.f_string, current.f_message, current.r_message, current[message.unknown] = nil, nil, { current }, nil
      current['new' .. runs % 5] = runs
      if type(rawget(current, 'inner')) == 'table' then
        current.inner[message.unknown], current.inner.f_message = io.stdout, current
      end
      collectgarbage 'step'
    end
  end
  local bytes = unhex '5a 03 98 7d 01 98 7d 01':rep(30)
    .. Three.encode { f_string = ('y'):rep(3000), r_message = { {}, { f_string = 'z' } } }
  local pause, speed = collectgarbage('setpause', 1), collectgarbage('setstepmul', 10000)
  for round = 1, 300 do
    if newproxy then
      getmetatable(newproxy(true)).__gc = finalize
    else
      setmetatable({}, { __gc = finalize })
    end
    current = {
      f_string = ('x'):rep(1500),
      f_message = { f_string = ('y'):rep(1500), r_string = { ('z'):rep(3000) } },
      r_message = { { f_string = ('w'):rep(5000) } },
    }
    if round % 2 == 0 then
      pcall(Three.encode, current)
    else
      current.inner = current.f_message
      local ok, got = pcall(Three.decode, bytes, nil, current)
      assert(ok, got)
    end
  end
  collectgarbage('setpause', pause)
  collectgarbage('setstepmul', speed)
  assert(runs > 0)
end)

-- When a state is closed, the oldest finalizers run last.
test('a finalizer that is older than the schema it uses', function()
  local path = os.tmpname()
  local file = assert(io.open(path, 'w'))
  file:write(([[
    require 'plait.message.core' -- before: Lua 5.1 unloads a library in the same order
    local uses, calls = {}, {}
    local function finish()
      for i, use in ipairs(uses) do
        local ok, reason = pcall(use)
        calls[i] = ok and 'ok' or tostring(reason):match 'already collected' or reason
      end
      io.stdout:write(table.concat(calls, ' '), ' ', #uses, '\n')
    end
    if newproxy then anchor = newproxy(true) getmetatable(anchor).__gc = finish else anchor = setmetatable({}, { __gc = finish }) end
    local message, protobuf = require 'plait.message', require 'protobuf'
    local schema = assert(message.load '%s/all.pb')
    protobuf.register_file '%s/all.pb'
    local Three, flat = schema.type 'kinds.Three', schema.pattern 'kinds.Three f_int32 f_string'
    local list = schema.pattern 'kinds.Three r_int64'
    local view, decoded = Three.view '', protobuf.decode('kinds.Three', '\90\0')
    protobuf.unpack('kinds.Three f_int32', '')
    uses = {
      function() Three.encode {} end, function() Three.decode '' end, function() Three.view '' return view.f_int32 end,
      function() message.expand(view) end, function() message.bytes(view) end, function() flat.pack(1, 'x') end,
      function() flat.unpack '' end, function() list.pack { 1 } end, function() schema.pattern 'kinds.Three f_int64' end,
      function() schema.fields 'kinds.Three' end, function() schema.freeze() end, function() schema.type 'kinds.Two' end,
      function() protobuf.encode('kinds.Three', {}) end, function() protobuf.decode('kinds.Two', '') end,
      function() protobuf.pack('kinds.Three f_int32', 1) end, function() protobuf.unpack('kinds.Three f_bool', '') end,
      function() return decoded.f_int64 end, function() return decoded.f_message.f_int64 end, function() protobuf.default('kinds.Two', {}) end,
    }
  ]]):format(check.folder, check.folder))
  file:close()
  local pipe = assert(io.popen(('%s %s 2>&1'):format(arg[-1], path)))
  local said = pipe:read '*a'
  pipe:close()
  os.remove(path)
  equal(said, ('already collected '):rep(19) .. '19\n')
end)

local function part(number, bytes)
  return string.char(number * 8 + 2, #bytes % 128 + (#bytes > 127 and 128 or 0))
    .. (#bytes > 127 and string.char(math.floor(#bytes / 128)) or '')
    .. bytes
end

-- A set with one file of proto2 that has these declarations.
local function set_of(...) return part(1, part(1, 'made.proto') .. table.concat { ... }) end

-- An optional int32.
local function field(name, number) return part(2, part(1, name) .. '\24' .. string.char(number) .. '\32\1\40\5') end

test('more than 64 fields are decoded into a table', function()
  local fields = {}
  for i = 1, 90 do
    fields[i] = field('f' .. i, i)
  end
  local Wide = assert(message.schema(set_of(part(4, part(1, 'Wide') .. table.concat(fields))))).type 'Wide'
  local into = { other = 'kept' }
  for i = 1, 90 do
    into['f' .. i] = -i
  end
  into = Wide.decode(Wide.encode { f2 = 1, f88 = 2, f90 = 3 }, nil, into)
  equal(into, { f2 = 1, f88 = 2, f90 = 3, other = 'kept' })
end)

test('an image with a field that its message does not list', function()
  local image = assert(
    message.schema(set_of(part(4, part(1, 'A') .. field('a', 1)), part(4, part(1, 'B') .. field('b', 1))))
  ).freeze()
  local little = image:byte(1) == 0x50
  local function word(at)
    local a, b, c, d = image:byte(at + 1, at + 4)
    return little and a + b * 256 + c * 65536 + d * 16777216 or d + c * 256 + b * 65536 + a * 16777216
  end
  local function put(at, value)
    local bytes = string.char(value, 0, 0, 0)
    image = image:sub(1, at) .. (little and bytes or bytes:reverse()) .. image:sub(at + 5)
  end
  local messages, fields = word(32), word(36)
  assert(message.thaw(image))
  put(messages + 12, 0) -- A has no field,
  put(messages + 20, 0)
  put(fields + 16, 1) -- and its former field names B
  local changed = message.thaw(image)
  if changed then changed.type('B').encode { a = 1 } end
  equal(changed, nil)
end)

test('required fields in tables that contain themselves, or serve two fields', function()
  local Three = schema.type 'kinds.Three'
  local loop, list = {}, {}
  loop.f_message = loop
  equal(select(3, Three.decode(unhex '5a 00', { required = true }, loop)), 'DEPTH')
  equal(
    select(3, Three.decode(unhex 'fa 01 00 b8 01 05', { required = true }, { r_message = list, r_int64 = list })),
    'TYPE'
  )
  local both = { r_message = list, m_message = list }
  Three.decode(unhex 'fa 01 00 d2 02 02 08 02', { required = true }, both)
end)

test("pbc's undecoded messages with a number for their bytes, or decoded while they are written", function()
  local decoded = protobuf.decode('kinds.Three', unhex '5a 02 28 01')
  local lazy = getmetatable(rawget(decoded, 'f_message'))
  raises('kinds.Three', protobuf.encode, 'kinds.Three', { f_message = setmetatable({ 'kinds.Three', 42 }, lazy) })
  local large = protobuf.encode('kinds.Three', { f_message = { f_string = ('x'):rep(5000) } })
  for _ = 1, 200 do
    local message_of = protobuf.decode('kinds.Three', large)
    local inner = rawget(message_of, 'f_message')
    local function finalize()
      local _ = inner.f_int32
      collectgarbage()
    end
    if newproxy then
      getmetatable(newproxy(true)).__gc = finalize
    else
      setmetatable({}, { __gc = finalize })
    end
    message_of.r_string = { 'a' }
    local ok, bytes = pcall(protobuf.encode, 'kinds.Three', message_of)
    assert(ok and #bytes == #large + 4, bytes)
  end
end)

test('a finalizer that registers while a type is looked up', function()
  local text, count = ('x'):rep(100), 0
  local value = { f_string = text }
  local bytes = protobuf.encode('kinds.Three', value)
  local function register()
    count = count + 1
    protobuf.register(
      set_of(part(2, 'made' .. count), part(4, part(1, 'M') .. field('f' .. count, 1))):gsub(
        'made.proto',
        ('%010d'):format(count)
      )
    )
  end
  local speed = collectgarbage('setstepmul', 1000000)
  for i = 1, 20 do
    collectgarbage 'stop'
    register() -- which empties the caches
    if newproxy then
      getmetatable(newproxy(true)).__gc = register
    else
      setmetatable({}, { __gc = register })
    end
    collectgarbage 'restart' -- the next allocation collects
    if i % 2 == 0 then
      equal(protobuf.encode('kinds.Three', value), bytes)
    else
      equal(protobuf.unpack('kinds.Three f_string', bytes), text)
    end
    collectgarbage()
    collectgarbage()
    equal(protobuf.encode('kinds.Three', value), bytes)
    equal(protobuf.unpack('kinds.Three f_string', bytes), text)
  end
  collectgarbage('setstepmul', speed)
  equal(count, 40)
end)

test('an unknown number of a closed enum sets no member of its oneof, however it is read', function()
  local function member(name, number, kind, more)
    return part(2, part(1, name) .. '\24' .. string.char(number) .. '\32\1\40' .. kind .. '\72\0' .. (more or ''))
  end
  local made = assert(
    message.schema(
      set_of(
        part(5, part(1, 'E') .. part(2, part(1, 'ONE') .. '\16\1')),
        part(4, part(1, 'M') .. part(8, part(1, 'o')) .. member('i', 1, '\5') .. member('e', 2, '\14', part(6, '.E')))
      )
    )
  )
  local M, bytes = made.type 'M', unhex '08 05 10 63'
  equal(M.decode(bytes, { unknown = false }), { i = 5 })
  equal(M.view(bytes).i, 5)
  equal({ made.pattern('M i').unpack(bytes) }, { 5 })
  equal({ made.pattern('M e i').unpack(bytes) }, { nil, 5 })
  equal({ M.view(unhex '08 05 10 01').i, made.pattern('M i').unpack(unhex '08 05 10 01') }, {})
  equal({ made.pattern('M i e').unpack(unhex '08 05 10 01') }, { nil, 'ONE' })
end)

test('a message in several parts is whole in a pattern, too', function()
  local bytes = unhex '5a 02 28 01 5a 02 18 07 5a 00'
  local whole = { f_int32 = 1, f_int64 = 7 }
  local Three = schema.type 'kinds.Three'
  local one, number, two = schema.pattern('kinds.Three f_message f_message.f_int32 f_message').unpack(bytes)
  equal({ Three.decode(one), number, Three.decode(two) }, { whole, 1, whole })
  local span = protobuf.unpack('kinds.Three f_message', bytes)
  collectgarbage()
  equal({ protobuf.unpack('kinds.Three f_int32 f_int64', span[1], span[2]) }, { 1, 7 })
  -- another member of the oneof between them
  equal(
    { schema.pattern('kinds.Three c_message').unpack(unhex 'aa 03 02 28 01 aa 03 02 18 07 98 03 01 aa 03 02 28 02') },
    { unhex '28 02' }
  )
  local Two = schema.pattern 'kinds.Two pair'
  equal({ Two.unpack(unhex '53 08 01 54 53 10 02 54') }, { unhex '08 01 10 02' })
end)

test('a view obeys the option depth', function()
  local Three = schema.type 'kinds.Three'
  raises('nested deeper', function() return Three.view(unhex '5a 02 5a 00', { depth = 1 }).f_message.f_message end)
  equal(Three.view(unhex '5a 02 28 07', { depth = 1 }).f_message.f_int32, 7)
end)

if type(jit) == 'table' then
  test("integers of LuaJIT's FFI for doubles and enums", function()
    local Three, Two = schema.type 'kinds.Three', schema.type 'kinds.Two'
    local number = assert(loadstring 'return { 5LL, -5LL, 18446744073709551615ULL, 77LL, 3LL }')()
    equal(
      Three.decode(Three.encode { f_double = number[1], f_float = number[2], r_double = { number[3] } }),
      { f_double = 5, f_float = -5, r_double = { 2 ^ 64 } }
    )
    equal(select(3, Two.encode { closed = number[4] }), 'RANGE')
    equal(Two.decode(Two.encode { closed = number[5] }), { closed = 'SOME' })
  end)

  test('keys of maps are not cdata, which could not be looked up', function()
    local got = schema.type 'kinds.Three'.decode(
      unhex 'd2 02 04 08 05 12 00 d2 02 04 08 05 12 00 d2 02 0c 08 ff ff ff ff ff ff ff ff 7f 12 00',
      { int64 = 'cdata' }
    )
    equal(got.m_message, { [5] = {}, ['9223372036854775807'] = {} })
  end)

  test('64-bit integers of the FFI without the compiler', function()
    local script = ("assert(require 'plait.message'.load '%s/all.pb').type 'kinds.Three'.decode('\24\5', { int64 = 'cdata' })"):format(
      check.folder
    )
    local pipe = assert(io.popen(('%s -joff -e "print(%s.f_int64)" 2>&1'):format(arg[-1], script)))
    local said = pipe:read '*a'
    pipe:close()
    equal(said, '5LL\n')
  end)
end

check.done()
