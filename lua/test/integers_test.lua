-- 64-bit integers of every kind, around every limit of exact numbers, at every position where a field may have one.
-- protoc is the oracle.

local check = require 'check'
local message = require 'plait.message'
local protobuf = require 'protobuf'
local test, equal = check.test, check.equal

local scratch = check.folder .. '/integers-' .. check.version
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
  local ok = os.execute(("cd '%s' && %s %s"):format(scratch, protoc, arguments))
  assert(ok == true or ok == 0, arguments)
end

local kinds = { 'int64', 'sint64', 'sfixed64', 'uint64', 'fixed64' }
local low = {
  '-9223372036854775808',
  '-9223372036854775807',
  '-9007199254740994',
  '-9007199254740993',
  '-9007199254740992',
  '-9007199254740991',
  '-1',
}
local middle = {
  '1',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '9007199254740994',
  '9007199254740995',
  '18014398509481985',
  '9223372036854775807',
}
local high = { '9223372036854775808', '18446744073709551614', '18446744073709551615' }
-- The values that are numbers with 'exact': up to 2^53, or all that a Lua integer holds.
local few = {
  ['1'] = true,
  ['-1'] = true,
  ['9007199254740991'] = true,
  ['9007199254740992'] = true,
  ['-9007199254740991'] = true,
  ['-9007199254740992'] = true,
}

local beyond = {} -- values that no Lua integer holds
for _, text in ipairs(high) do
  beyond[text] = true
end
local function is_number(text) return few[text] or (check.integers and not beyond[text]) end

-- In a message of its own for each kind: single, repeated, packed, the key and value of a map, a default.
local lines = { 'syntax = "proto2";' }
for _, kind in ipairs(kinds) do
  lines[#lines + 1] = ([[
message M_%s {
  optional KIND single = 1;
  repeated KIND loose = 2;
  repeated KIND packed = 3 [packed = true];
  map<KIND, KIND> map = 4;
  optional KIND default = 5 [default = 9007199254740993];
  oneof one { KIND member = 6; }
}]]):format(kind):gsub('KIND', kind)
end
write('integers.proto', table.concat(lines, '\n'))
run '--descriptor_set_out=integers.pb integers.proto'
local schema = assert(message.schema(read 'integers.pb'))
protobuf.register(read 'integers.pb')

local function values_of(kind)
  local values = {}
  for _, list in ipairs(kind:find '^[uf]' and { middle, high } or { low, middle }) do
    for _, value in ipairs(list) do
      values[#values + 1] = value
    end
  end
  return values
end

-- { [text of a value] = the bytes of the message that has it everywhere }
local function encode_all(kind)
  local texts, bytes = values_of(kind), {}
  for i, text in ipairs(texts) do
    write(
      i .. '.txt',
      ('single: V loose: V loose: V packed: V packed: V map { key: V value: V } default: V member: V'):gsub('V', text)
    )
  end
  local done = os.execute(
    ([[cd '%s' && for i in $(seq %d); do %s --encode=M_%s integers.proto <$i.txt >$i.bin || exit 1; done]]):format(
      scratch,
      #texts,
      protoc,
      kind
    )
  )
  assert(done == true or done == 0)
  for i, text in ipairs(texts) do
    bytes[text] = read(i .. '.bin')
  end
  return bytes
end

-- A decoded value as decimal text.
local function decimal(value)
  if type(value) == 'string' then return value end
  if type(value) == 'number' then return (check.integers and '%d' or '%.0f'):format(value) end
  return (tostring(value):gsub('U?LL$', ''))
end

for _, kind in ipairs(kinds) do
  test(kind .. ' loses nothing', function()
    local name = 'M_' .. kind
    for text, bytes in pairs(encode_all(kind)) do
      local forms = { 'exact', 'string' }
      if jit then forms[#forms + 1] = 'cdata' end
      if check.integers and not beyond[text] then forms[#forms + 1] = 'number' end
      for _, form in ipairs(forms) do
        local function right(value, what)
          equal(decimal(value), text, form .. ' ' .. what)
          local expected = form
          if form == 'cdata' and what:find 'key' then expected = 'exact' end
          if expected == 'exact' then expected = is_number(text) and 'number' or 'string' end
          equal(type(value), expected, form .. ' ' .. what .. ' ' .. text)
        end
        local Type = schema.type(name, { int64 = form })
        local got = assert(Type.decode(bytes))
        right(got.single, 'single')
        right(got.loose[2], 'loose')
        right(got.packed[2], 'packed')
        right(got.default, 'default')
        right(got.member, 'member')
        local key, value = next(got.map)
        right(key, 'key')
        right(value, 'value')
        right(Type.view(bytes).single, 'view')
        equal(Type.encode(got), bytes, form)
        equal(Type.encode(got, { deterministic = true }), bytes, form)
        local whole = schema.pattern(name .. ' single loose packed map default member', { int64 = form })
        local single, loose, packed, map, default, member = whole.unpack(bytes)
        for what, one in pairs {
          single = single,
          loose = loose[1],
          packed = packed[1],
          default = default,
          member = member,
          key = (next(map)),
        } do
          right(one, 'pattern, ' .. what)
        end
        equal(whole.pack(single, loose, packed, map, default, member), bytes)
        local plain = schema.pattern(name .. ' single default', { int64 = form })
        for _ = 1, 100 do -- so that LuaJIT compiles it
          single, default = plain.unpack(bytes)
          right(single, 'plain pattern')
          right(default, 'plain pattern')
        end
        equal(plain.pack(single, default), schema.type(name).encode { single = text, default = text })
      end
      equal(
        protobuf.encode(name, {
          single = text,
          loose = { text, text },
          packed = { text, text },
          map = { [text] = text },
          default = text,
          member = text,
        }),
        bytes
      )
    end
  end)
end

test('a default is exact too', function()
  for _, kind in ipairs(kinds) do
    for _, field in ipairs(schema.fields('M_' .. kind)) do
      if field.name == 'default' then equal(decimal(field.default), '9007199254740993') end
    end
  end
end)

check.done()
