-- The cost of bytes is proportional to their number, also for hostile bytes. Eight times the bytes allocate about eight
-- times the memory in total, not 64 times. The collector is stopped, so that garbage counts, too.

local check = require 'check'
local message = require 'plait.message'
local protobuf = require 'protobuf'
local test, equal, unhex = check.test, check.equal, check.unhex

local schema = assert(message.load(check.folder .. '/all.pb'))
protobuf.register_file(check.folder .. '/all.pb')
local Three, Two = schema.type 'kinds.Three', schema.type 'kinds.Two'

-- Kilobytes that run(argument) allocates.
local function cost(run, argument)
  run(argument)
  collectgarbage()
  collectgarbage 'stop'
  local before = collectgarbage 'count'
  run(argument)
  local after = collectgarbage 'count'
  collectgarbage 'restart'
  return after - before
end

local function grows(what, make, run)
  local few, many = make(500), make(4000)
  local small, large = cost(run, few), cost(run, many)
  if large > small * 12 + 64 then
    error(('%s: %d bytes took %.0f KB, %d bytes %.0f KB'):format(what, #few, small, #many, large), 2)
  end
end

local unknown = unhex '98 7d 01' -- field 2003

-- A length, as a varint.
local function varint(number)
  local bytes = {}
  repeat
    bytes[#bytes + 1] = string.char(number % 128 + (number >= 128 and 128 or 0))
    number = math.floor(number / 128)
  until number == 0
  return table.concat(bytes)
end
local function field(tag, bytes) return unhex(tag) .. varint(#bytes) .. bytes end

local once = field('5a', unknown) -- f_message with an unknown field
local nested = field('5a', field('5a', unknown) .. unknown)

test('a message that occurs many times with unknown fields', function()
  equal(Three.decode(once:rep(5)), { f_message = { [message.unknown] = unknown:rep(5) } })
  equal(
    Three.decode(nested:rep(5)),
    { f_message = { f_message = { [message.unknown] = unknown:rep(5) }, [message.unknown] = unknown:rep(5) } }
  )
  equal(Three.encode(Three.decode(once:rep(5))), field('5a', unknown:rep(5)))
  grows('decode', function(n) return once:rep(n) end, Three.decode)
  grows('decode, nested', function(n) return nested:rep(n) end, Three.decode)
  grows(
    'decode into',
    function(n) return once:rep(n) end,
    function(bytes) return Three.decode(bytes, nil, { f_message = { [message.unknown] = 'old' } }) end
  )
  equal(
    Three.decode(once:rep(2), nil, { f_message = { [message.unknown] = 'old' } }),
    { f_message = { [message.unknown] = unknown:rep(2) } }
  )
  grows(
    'view',
    function(n) return once:rep(n) end,
    function(bytes) return message.expand(Three.view(bytes).f_message) end
  )
end)

test('the value of a map that occurs many times', function()
  local value = field('12', unknown) -- in an entry of m_message
  local function entry(n) return field('d2 02', unhex '08 03' .. value:rep(n)) end
  equal(Three.decode(entry(5)), { m_message = { [3] = { [message.unknown] = unknown:rep(5) } } })
  grows('decode', entry, Three.decode)
  grows('a pattern', entry, schema.pattern('kinds.Three m_message').unpack)
  grows('pbc', entry, function(bytes) return protobuf.extract(protobuf.decode('kinds.Three', bytes)) end)
  equal(
    rawget(
      protobuf.decode(
        'kinds.Three',
        field('d2 02', unhex '08 03' .. field('12', unhex '28 01') .. field('12', unhex '18 07'))
      ).m_message,
      3
    ).f_int64,
    7
  )
end)

test('items of a MessageSet that occur many times', function()
  local item = unhex '0b 10 05 1a 03' .. unknown .. unhex '0c'
  local function set(n) return field('8a 01', item:rep(n)) end
  equal(Two.decode(set(3)), { set = { ['kinds.Item.item'] = { [message.unknown] = unknown:rep(3) } } })
  grows('decode', set, Two.decode)
  grows('a pattern', set, schema.pattern('kinds.Two set.kinds.Item.item set.kinds.Item.item.number').unpack)
  grows('pbc', set, function(bytes) return protobuf.extract(protobuf.decode('kinds.Two', bytes)) end)
end)

test("pbc's undecoded messages and patterns", function()
  local part = field('5a', unhex '28 01')
  equal(protobuf.decode('kinds.Three', part:rep(3) .. field('5a', unhex '18 07')).f_message.f_int64, 7)
  equal(rawget(protobuf.decode('kinds.Three', part:rep(300)), 'f_message')[2], unhex '28 01':rep(300))
  grows('decode', function(n) return part:rep(n) end, function(bytes) return protobuf.decode('kinds.Three', bytes) end)
  grows(
    'unpack',
    function(n) return part:rep(n) end,
    function(bytes) return protobuf.unpack('kinds.Three f_message', bytes) end
  )
  grows(
    'a pattern',
    function(n) return part:rep(n) end,
    schema.pattern('kinds.Three f_message f_message.f_int32').unpack
  )
  equal(schema.pattern('kinds.Three f_message').unpack(part:rep(100)), unhex '28 01':rep(100))
end)

test('an error leaves no buffers behind', function()
  local into = {}
  equal((Three.decode(once:rep(3) .. '\255', nil, into)), nil)
  for _, value in pairs(into.f_message) do
    assert(type(value) == 'string')
  end
end)

-- pbc decodes each level separately, each from depth 0. So the function that walks all levels limits their depth.
test("pbc's extract is limited to the depth of a message", function()
  local function nest(depth)
    local bytes = ''
    for _ = 1, depth do
      bytes = field('5a', bytes)
    end
    return bytes
  end
  protobuf.extract(protobuf.decode('kinds.Three', nest(99)))
  check.raises('nested deeper', function() protobuf.extract(protobuf.decode('kinds.Three', nest(30000))) end)
end)

test("a user's userdata in place of unknown fields is not taken for a buffer", function()
  if not io.stdout then return end
  local into = { f_message = { [message.unknown] = io.stdout } }
  equal(Three.decode(once:rep(3), nil, into), { f_message = { [message.unknown] = unknown:rep(3) } })
  local loop = { [message.unknown] = io.stdout }
  loop.f_message = loop
  assert(Three.decode(once:rep(3) .. unknown, nil, loop))
end)

check.done()
