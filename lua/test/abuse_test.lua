-- Programs that go wrong, and bytes that want them to: nothing here may crash, or turn into something else.

local check = require 'check'
local message = require 'plait.message'
local protobuf = require 'protobuf'
local test, equal, raises, unhex = check.test, check.equal, check.raises, check.unhex

local schema = assert(message.load(check.folder .. '/all.pb'))
protobuf.register_file(check.folder .. '/all.pb')

-- LuaJIT has its objects inside of NaNs, so a NaN from outside could be any of them.
test('every NaN is a number', function()
  local doubles, floats = schema.pattern 'kinds.Three f_double', schema.pattern 'kinds.Three f_float'
  for _, bytes in ipairs { 'ffffffffffffffff', '00000000000cfbff', 'efbeaddedec0faff', '785634120000fbff', '010000000000f07f', '000000000000f8ff' } do
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

-- Their metatables can be had from decoded messages.
test('the functions of metatables, called by hand', function()
  local decoded = protobuf.decode('kinds.Three', unhex '5a 00')
  local lazy = getmetatable(rawget(decoded, 'f_message'))
  for _, run in ipairs { getmetatable(decoded).__index, lazy.__index, lazy.__newindex, lazy.__pairs } do
    for _, value in ipairs { 1, 'text', true, print, coroutine.create(print) } do raises('table expected', run, value, 'r_int64', 1) end
    raises('table expected', run)
  end
end)

check.done()
