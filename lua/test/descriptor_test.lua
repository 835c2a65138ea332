-- descriptor.proto is known without a file: uses by programs for pbc, and sets that users register beside it.

local check = require 'check'
local message = require 'plait.message'
local descriptor = assert(message.descriptor())
local protobuf = require 'protobuf'
local test, equal, raises = check.test, check.equal, check.raises

local bytes = require 'plait.message.descriptor'
local set_name = 'google.protobuf.FileDescriptorSet'
local scratch = check.folder .. '/descriptor-' .. check.version
local protoc = os.getenv 'PROTOC' or 'protoc'
os.execute("mkdir -p '" .. scratch .. "'")

local function read(path)
  local file = assert(io.open(path, 'rb'))
  local all = file:read '*a'
  file:close()
  return all
end

local function run(arguments)
  local ok = os.execute(("cd '%s' && %s %s"):format(scratch, protoc, arguments))
  return ok == true or ok == 0
end

local function write(name, text)
  local file = assert(io.open(scratch .. '/' .. name, 'wb'))
  file:write(text)
  file:close()
end

local function plain(value)
  if type(value) ~= 'table' then return value end
  local copy = {}
  for key, inner in next, protobuf.extract(value) do
    copy[key] = plain(inner)
  end
  return copy
end

test("the module equals protoc's output for descriptor.proto", function()
  assert(run '--version >version.txt')
  local version = read(scratch .. '/version.txt'):match '[^\n]+'
  if
    not read(
      package.searchpath and package.searchpath('plait.message.descriptor', package.path)
        or 'lua/plait/message/descriptor.lua'
    ):find(version, 1, true)
  then
    print('  it was made with another protoc than ' .. version)
  elseif run '--descriptor_set_out=own.pb google/protobuf/descriptor.proto 2>errors.txt' then
    assert(read(scratch .. '/own.pb') == bytes, 'run: node tools/descriptor.js')
  else
    print '  this protoc comes without descriptor.proto'
  end
end)

test('a set is decoded and encoded before anything is registered', function()
  assert(protobuf.check(set_name) and protobuf.check('google.protobuf.FieldDescriptorProto', 'label'))
  equal(protobuf.enum_id('google.protobuf.FieldDescriptorProto.Type', 'TYPE_SINT64'), 18)
  for _, set in ipairs { bytes, check.read 'all.pb' } do
    local got = protobuf.decode(set_name, set)
    equal(protobuf.encode(set_name, protobuf.extract(got)), set)
  end
  local file = protobuf.decode(set_name, check.read 'all.pb').file[3]
  equal({ file.name, file.package, file.message_type[1].name }, { 'person.proto', 'tutorial', 'Person' })
  local field = file.message_type[1].field[4]
  equal(
    { field.name, field.number, field.label, field.type, field.type_name },
    { 'phone', 4, 'LABEL_REPEATED', 'TYPE_MESSAGE', '.tutorial.Person.PhoneNumber' }
  )
  equal({
    protobuf.unpack(
      'google.protobuf.FileDescriptorProto name package',
      protobuf.pack('google.protobuf.FileDescriptorProto name package', 'a', 'b')
    ),
  }, { 'a', 'b' })
end)

test('plait.message has them as a schema', function()
  local Set = descriptor.type(set_name)
  for _, set in ipairs { bytes, check.read 'all.pb' } do
    equal(Set.encode(Set.decode(set)), set)
  end
end)

-- The output of a parser of .proto text: names of labels and types, "max" as -1, full names with a dot.
local parsed = {
  name = 'shop.proto',
  package = 'shop',
  dependency = {},
  message_type = {
    {
      name = 'Order',
      field = {
        { name = 'id', number = 1, label = 'LABEL_REQUIRED', type = 'TYPE_INT32' },
        {
          name = 'state',
          number = 2,
          label = 'LABEL_OPTIONAL',
          type = 'TYPE_ENUM',
          type_name = '.shop.Order.State',
          default_value = 'PAID',
        },
        { name = 'items', number = 3, label = 'LABEL_REPEATED', type = 'TYPE_MESSAGE', type_name = '.shop.Order.Item' },
        { name = 'marks', number = 4, label = 'LABEL_REPEATED', type = 'TYPE_INT32', options = { packed = true } },
      },
      nested_type = {
        { name = 'Item', field = { { name = 'label', number = 1, label = 'LABEL_OPTIONAL', type = 'TYPE_STRING' } } },
      },
      enum_type = { { name = 'State', value = { { name = 'OPEN', number = 0 }, { name = 'PAID', number = 1 } } } },
      extension_range = { { start = 10, ['end'] = -1 } },
    },
  },
  extension = {
    { name = 'note', number = 10, label = 'LABEL_OPTIONAL', type = 'TYPE_STRING', extendee = '.shop.Order' },
  },
}

test('the output of a parser of .proto text is encoded and registered', function()
  local set = protobuf.encode(set_name, { file = { parsed } })
  write(
    'shop.proto',
    'syntax = "proto2"; package shop; message Order { enum State { OPEN = 0; PAID = 1; } message Item { optional string label = 1; } '
      .. 'required int32 id = 1; optional State state = 2 [default = PAID]; repeated Item items = 3; repeated int32 marks = 4 [packed = true]; '
      .. 'extensions 10 to max; } extend Order { optional string note = 10; }'
  )
  assert(run '--descriptor_set_out=shop.pb shop.proto')
  local theirs = plain(protobuf.decode(set_name, read(scratch .. '/shop.pb')))
  local function strip(value) -- what only protoc adds
    if type(value) == 'table' then
      value.json_name = nil
      for _, inner in pairs(value) do
        strip(inner)
      end
    end
    return value
  end
  strip(theirs).file[1].message_type[1].extension_range[1]['end'] = -1
  local ours = plain(protobuf.decode(set_name, set))
  equal(ours, theirs)
  protobuf.register(set)
  local order = { id = 5, items = { { label = 'a' }, {} }, marks = { 1, 300 }, ['shop.note'] = 'x' }
  local got = protobuf.decode('shop.Order', protobuf.encode('shop.Order', order))
  equal(got.state, 'PAID')
  equal(plain(got), order)
end)

test('a set that includes descriptor.proto, or needs it, or has its types under another file name', function()
  write(
    'options.proto',
    'syntax = "proto2"; package opt; import "google/protobuf/descriptor.proto"; '
      .. 'extend google.protobuf.FieldOptions { optional string unit = 50000; } message M { optional int32 a = 1 [(unit) = "m"]; optional google.protobuf.FileOptions o = 2; }'
  )
  if not run '--descriptor_set_out=alone.pb options.proto 2>errors.txt' then
    return print '  this protoc comes without descriptor.proto'
  end
  assert(run '--include_imports --descriptor_set_out=whole.pb options.proto')
  local alone, whole = read(scratch .. '/alone.pb'), read(scratch .. '/whole.pb')
  local function usable()
    local file = protobuf.decode(set_name, alone).file[1]
    equal(file.message_type[1].field[1].options['opt.unit'], 'm')
    equal(protobuf.decode('opt.M', protobuf.encode('opt.M', { a = 1, o = { java_package = 'p' } })).o.java_package, 'p')
  end
  for _, sets in ipairs { { alone }, { whole }, { alone, whole }, { whole, alone }, { bytes, alone }, { alone, bytes } } do
    package.loaded.protobuf = nil
    protobuf = require 'protobuf'
    for _, set in ipairs(sets) do
      protobuf.register(set)
    end
    usable()
  end
  -- A newer descriptor.proto of the user's wins, under its own name or any other.
  for _, name in ipairs { 'google/protobuf/descriptor.proto', 'descriptor.proto' } do
    package.loaded.protobuf = nil
    protobuf = require 'protobuf'
    local set = plain(protobuf.decode(set_name, bytes))
    set.file[1].name = name
    table.insert(
      set.file[1].message_type,
      { name = 'Newer', field = { { name = 'field', number = 1, label = 'LABEL_OPTIONAL', type = 'TYPE_INT32' } } }
    )
    local newer = protobuf.encode(set_name, set)
    protobuf.register(newer)
    assert(protobuf.check('google.protobuf.Newer', 'field') and protobuf.check(set_name), name)
    protobuf.register(alone)
    usable()
  end
end)

test('every truncation of a set is refused', function()
  local all = check.read 'person.pb'
  for length = 1, #all - 1 do
    raises('register fail', protobuf.register, all:sub(1, length))
  end
end)

check.done()
