-- protoc is the oracle for generated schemas and values. protoc encodes each value from text. The module must produce
-- the same bytes, and must decode protoc's bytes to the same value. Then the bytes are changed at random, and must be
-- accepted by both or by neither.

local check = require 'check'
local message = require 'plait.message'
local test, equal, random = check.test, check.equal, check.random

local scratch = check.folder .. '/oracle-' .. check.version
local protoc = os.getenv 'PROTOC' or 'protoc'
os.execute("mkdir -p '" .. scratch .. "'")

local function write(name, bytes)
  local file = assert(io.open(scratch .. '/' .. name, 'wb'))
  file:write(bytes)
  file:close()
end

local function read(name)
  local file = assert(io.open(scratch .. '/' .. name, 'rb'))
  local bytes = file:read '*a'
  file:close()
  return bytes
end

local function run(arguments)
  local ok, _, code = os.execute(("cd '%s' && %s %s 2>errors.txt"):format(scratch, protoc, arguments))
  return ok == true or ok == 0, code
end

-- ---- schemas ----

local scalars = {
  'double',
  'float',
  'int64',
  'uint64',
  'int32',
  'fixed64',
  'fixed32',
  'bool',
  'string',
  'bytes',
  'uint32',
  'sfixed32',
  'sfixed64',
  'sint32',
  'sint64',
}
local keys = {
  'int64',
  'uint64',
  'int32',
  'fixed64',
  'fixed32',
  'bool',
  'string',
  'uint32',
  'sfixed32',
  'sfixed64',
  'sint32',
  'sint64',
}

local function pick(list) return list[random(1, #list)] end

-- A schema as .proto text and as a list of messages: { name, fields = { { name, kind, label, type, key, oneof } } }.
local function new_schema(syntax, count)
  local messages, lines =
    {}, {
      ('syntax = "%s";'):format(syntax),
      'package gen;',
      'enum E { E_ZERO = 0; E_ONE = 1; E_FAR = 1000000; E_LOW = -5; }',
    }
  local function line(...) lines[#lines + 1] = string.format(...) end
  for m = 1, count do
    local made = { name = 'M' .. m, fields = {} }
    messages[m] = made
    line('message M%d {', m)
    local used, groups = {}, 0
    local function number()
      local n
      repeat
        n = random(1, 4) > 1 and random(1, 40) or random(1, 18000)
      until not used[n]
      used[n] = true
      return n
    end
    local in_oneof = 0
    for f = 1, random(1, 14) do
      local field = { name = 'f' .. f, number = number() }
      local what = random(1, 10)
      if what <= 6 then
        field.kind = pick(scalars)
        field.type = field.kind
      elseif what == 7 then
        field.kind, field.type = 'enum', 'E'
      else
        field.kind, field.type = 'message', 'M' .. random(1, count)
      end
      local form = random(1, 10)
      if in_oneof > 0 then
        field.oneof = true
        line('    %s %s = %d;', field.type, field.name, field.number)
        in_oneof = in_oneof - 1
        if in_oneof == 0 then line '  }' end
      elseif form <= 2 then
        field.repeated = true
        local numbers = field.kind ~= 'string' and field.kind ~= 'bytes' and field.kind ~= 'message'
        local packed = numbers
            and random(1, 2) == 1
            and (' [packed = %s]'):format(random(1, 2) == 1 and 'true' or 'false')
          or ''
        line('  repeated %s %s = %d%s;', field.type, field.name, field.number, packed)
      elseif form == 3 then
        field.map, field.key = true, pick(keys)
        line('  map<%s, %s> %s = %d;', field.key, field.type, field.name, field.number)
      elseif form == 4 and syntax == 'proto2' then
        groups = groups + 1
        field.name, field.kind, field.type = 'g' .. groups, 'group', 'G' .. groups
        field.text = field.type
        field.fields = { { name = 'x', kind = 'int32', number = 1 }, { name = 's', kind = 'string', number = 2 } }
        field.repeated = random(1, 2) == 1
        line(
          '  %s group %s = %d { optional int32 x = 1; optional string s = 2; }',
          field.repeated and 'repeated' or 'optional',
          field.type,
          field.number
        )
      elseif form == 5 and f < 13 then
        in_oneof = random(1, 3)
        field.oneof = true
        line('  oneof o%d {', f)
        line('    %s %s = %d;', field.type, field.name, field.number)
      else
        local optional = syntax == 'proto2' or random(1, 3) == 1
        field.implicit = not optional and field.kind ~= 'message'
        line('  %s%s %s = %d;', optional and 'optional ' or '', field.type, field.name, field.number)
      end
      made.fields[#made.fields + 1] = field
    end
    if in_oneof > 0 then line '  }' end
    line '}'
  end
  line 'message All { repeated M1 items = 1; }'
  return table.concat(lines, '\n'), messages
end

-- ---- values ----

local wide = check.integers and function(text) return math.tointeger(text) end or function(text) return text end
local ranges = {
  int32 = { -2147483648, 2147483647, 0, -1, 1, 300 },
  sint32 = { -2147483648, 2147483647, 0, -1, 64 },
  sfixed32 = { -2147483648, 2147483647, 0, -1 },
  uint32 = { 0, 1, 127, 128, 4294967295 },
  fixed32 = { 0, 1, 4294967295 },
  int64 = { 0, -1, 1, 9007199254740992, wide '9223372036854775807', wide '-9223372036854775807' },
  sint64 = { 0, -1, 1, -9007199254740992, wide '9223372036854775807', wide '-9223372036854775807' },
  sfixed64 = { 0, -1, 1, wide '9223372036854775807', wide '-9223372036854775807' },
  uint64 = { 0, 1, 9007199254740992, wide '9223372036854775807' },
  fixed64 = { 0, 5, wide '9223372036854775807' },
  double = { 0, 1.5, -1e300, 1 / 0, -1 / 0, 0.1, 5e-324 },
  float = { 0, 1.5, -0.25, 1 / 0, 16777216, 2 ^ -149 },
  bool = { true, false },
  enum = { 'E_ZERO', 'E_ONE', 'E_FAR', 'E_LOW' },
}

local function new_scalar(kind)
  if kind == 'string' then return ('äb€"\\\n'):sub(1, ({ 0, 2, 3, 6, 7, 9 })[random(1, 6)]):rep(random(1, 3)) end
  if kind == 'bytes' then
    local bytes = {}
    for i = 1, random(0, 200) % random(1, 200) do
      bytes[i] = string.char(random(0, 255))
    end
    return table.concat(bytes)
  end
  return pick(ranges[kind])
end

local function is_zero(value) return value == 0 or value == '' or value == false or value == 'E_ZERO' end

local new_message

local function new_value(by_name, field, depth)
  if field.kind == 'message' then return new_message(by_name, by_name[field.type], depth - 1) end
  if field.kind == 'group' then return new_message(by_name, field, depth - 1) end
  return new_scalar(field.kind)
end

function new_message(by_name, of, depth)
  local value, oneof_done = {}, {}
  for _, field in ipairs(of.fields) do
    local deep = field.kind == 'message' or field.kind == 'group'
    if random(1, 3) > 1 and not (deep and depth <= 0) and not (field.oneof and oneof_done[1]) then
      if field.repeated then
        local list = {}
        for i = 1, random(1, 4) do
          list[i] = new_value(by_name, field, depth)
        end
        value[field.name] = list
      elseif field.map then
        local map = {}
        for _ = 1, random(1, 4) do
          map[new_scalar(field.key)] = new_value(by_name, field, depth)
        end
        value[field.name] = map
      else
        local one = new_value(by_name, field, depth)
        if not (field.implicit and is_zero(one)) then value[field.name] = one end
        if field.oneof then oneof_done[1] = true end -- one of all oneofs: enough
      end
    end
  end
  return value
end

-- ---- the text format ----

local function number_text(value)
  if value ~= value then return 'nan' end
  if value == 1 / 0 then return 'inf' end
  if value == -1 / 0 then return '-inf' end
  return ('%.17g'):format(value)
end

local function scalar_text(kind, value)
  if kind == 'string' or kind == 'bytes' then
    return '"' .. value:gsub('.', function(c) return ('\\%03o'):format(c:byte()) end) .. '"'
  end
  if kind == 'double' or kind == 'float' then return number_text(value) end
  if type(value) == 'number' then
    return ('%.0f'):format(value) == tostring(value) and tostring(value)
      or (check.integers and ('%d'):format(value) or ('%.0f'):format(value))
  end
  return tostring(value)
end

local message_text

local function value_text(by_name, field, value)
  if field.kind == 'message' then return '{ ' .. message_text(by_name, by_name[field.type], value) .. ' }' end
  if field.kind == 'group' then return '{ ' .. message_text(by_name, field, value) .. ' }' end
  return scalar_text(field.kind, value)
end

local function field_text(field, text)
  if text:sub(1, 1) == '{' then return (field.text or field.name) .. ' ' .. text end
  return field.name .. ': ' .. text
end

function message_text(by_name, of, value)
  local parts = {}
  for _, field in ipairs(of.fields) do
    local one = value[field.name]
    if one == nil then -- absent
    elseif field.repeated then
      for _, element in ipairs(one) do
        parts[#parts + 1] = field_text(field, value_text(by_name, field, element))
      end
    elseif field.map then
      for key, element in pairs(one) do
        parts[#parts + 1] = ('%s { key: %s %s }'):format(
          field.name,
          scalar_text(field.key, key),
          field_text({ name = 'value' }, value_text(by_name, field, element))
        )
      end
    else
      parts[#parts + 1] = field_text(field, value_text(by_name, field, one))
    end
  end
  return table.concat(parts, ' ')
end

-- Compiled code of LuaJIT 2.1.0-beta3 sometimes loses entries of pairs() in a recursive function. Its interpreter does
-- not.
if jit then jit.off(message_text, true) end

-- Whether the text of a message (as protoc prints it, a line for each field) has a key twice in one map. protoc decodes
-- into its reflection, where a map is the list of its entries: it keeps both, in text as in bytes. A reader of those
-- bytes keeps the last.
local function has_a_key_twice(text)
  local open = { {} } -- the blocks around this line, each with the keys that were met within it
  for line in text:gmatch '[^\n]+' do
    local block, key = line:match '^ *([%w_]+) {$', line:match '^ *key: (.*)$'
    if block then
      open[#open + 1] = { name = block }
    elseif key and #open > 1 then
      local around, entry = open[#open - 1], open[#open].name .. ' ' .. key
      if around[entry] then return true end
      around[entry] = true
    elseif line:find '^ *}$' then
      open[#open] = nil
    end
  end
  return false
end

-- Decodes the bytes and encodes the message again.
local function rewritten(type, bytes)
  return type.encode(type.decode(bytes, { unknown = false }), { deterministic = true })
end

test('of a key that occurs twice in one map, protoc keeps both entries, the module the last', function()
  write(
    'twice.proto',
    'syntax = "proto2"; package gen; message Twice { map<bool, double> f = 10; optional Twice in = 1; }'
  )
  assert(run '--descriptor_set_out=twice.pb twice.proto', 'protoc refuses the schema')
  local Twice = assert(message.schema(read 'twice.pb')).type 'gen.Twice'
  -- every varint but 0 is true
  local once, key_again = '\82\11\8\1\17' .. ('\0'):rep(8), '\82\11\8\123\17' .. ('\1'):rep(8)
  for _, bytes in ipairs { once .. key_again, '\10\26' .. once .. key_again } do
    write('twice.bin', bytes)
    assert(run '--decode=gen.Twice twice.proto < twice.bin > twice.txt', 'protoc refuses the bytes')
    assert(
      run '--deterministic_output --encode=gen.Twice twice.proto < twice.txt > again.bin',
      'protoc refuses its own text'
    )
    equal(has_a_key_twice(read 'twice.txt'), true)
    equal(#read 'again.bin', #bytes)
    equal(rewritten(Twice, read 'again.bin'), rewritten(Twice, bytes))
  end
  equal(
    has_a_key_twice 'f {\n  key: true\n  value: 1\n}\nin {\n  f {\n    key: true\n    value: 1\n  }\n  f {\n    key: false\n    value: 1\n  }\n}\n',
    false
  )
end)

for round = 1, check.rounds(8) do
  local syntax = round % 2 == 0 and 'proto2' or 'proto3'
  test(('generated schema %d (%s)'):format(round, syntax), function()
    local text, messages = new_schema(syntax, random(2, 5))
    local by_name = {}
    for _, one in ipairs(messages) do
      by_name[one.name] = one
    end
    write('gen.proto', text)
    assert(run '--descriptor_set_out=gen.pb gen.proto', 'protoc refuses the schema')
    local schema = assert(message.schema(read 'gen.pb'))
    local M1, All = schema.type 'gen.M1', assert(schema.type 'gen.All')
    local items, lines = {}, {}
    for i = 1, 40 do
      items[i] = new_message(by_name, by_name.M1, 4)
      lines[i] = 'items { ' .. message_text(by_name, by_name.M1, items[i]) .. ' }'
    end
    write('values.txt', table.concat(lines, '\n'))
    assert(
      run '--deterministic_output --encode=gen.All gen.proto < values.txt > values.bin',
      'protoc refuses the values'
    )
    local theirs = read 'values.bin'
    local ours = assert(All.encode({ items = items }, { deterministic = true }))
    local decoded = assert(All.decode(theirs))
    for i = 1, #items do
      equal(decoded.items[i], items[i], 'item ' .. i)
    end
    if ours ~= theirs then error(('our bytes differ: %s; theirs %s'):format(check.hex(ours), check.hex(theirs))) end
    -- Changed bytes: protoc says which still are a message.
    for _ = 1, check.rounds(8) do
      local one
      repeat
        one = assert(M1.encode(items[random(1, #items)]))
      until #one > 0 or random(1, 5) == 1
      local at = random(1, math.max(1, #one))
      local changed = one:sub(1, at - 1) .. string.char(random(0, 255)) .. one:sub(at + random(0, 1))
      write('changed.bin', changed)
      local accepted = run '--decode=gen.M1 gen.proto < changed.bin > changed.txt'
      local value, reason = M1.decode(changed)
      if accepted ~= (value ~= nil) then
        error(
          ('protoc %s what we %s (%s): %s'):format(
            accepted and 'accepts' or 'refuses',
            value and 'accept' or 'refuse',
            tostring(reason),
            check.hex(changed)
          )
        )
      end
      -- protoc reads the bytes and writes them again. The module must write the same.
      if accepted and run '--deterministic_output --encode=gen.M1 gen.proto < changed.txt > again.bin' then
        local again, theirs_again = rewritten(M1, changed), read 'again.bin'
        local text_of = read 'changed.txt'
        if has_a_key_twice(text_of) then theirs_again = rewritten(M1, theirs_again) end
        if
          not text_of:find('^%d')
          and not text_of:find 'nan'
          and not text_of:find '\n%s*%d+[:{ ]'
          and again ~= theirs_again
        then
          error(
            ('from %s we write %s, protoc %s'):format(check.hex(changed), check.hex(again), check.hex(theirs_again))
          )
        end
      end
    end
  end)
end

check.done()
