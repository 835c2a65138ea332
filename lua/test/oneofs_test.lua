-- Large oneofs and messages of very many fields: the same values as protoc reads, at a cost that does not depend on
-- their number.

local check = require 'check'
local message = require 'plait.message'
local test, equal, random = check.test, check.equal, check.random

local scratch = check.folder .. '/oneofs-' .. check.version
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

local function run(command)
  local ok = os.execute(("cd '%s' && %s"):format(scratch, command))
  assert(ok == true or ok == 0, command)
end

-- Three oneofs, whose members lie among each other, below and above the 64th field; messages among them; the message in
-- itself.
local function new_schema(members)
  local oneofs, lines =
    { {}, {}, {} }, {
      'syntax = "proto2"; message M { optional M sub = 1; repeated M list = 2; map<int32, M> map = 3; repeated int32 numbers = 4;',
    }
  local number = 5
  for i = 1, members do
    for j = 1, 3 do
      local kind = i % 4 == 0 and 'M' or i % 4 == 1 and 'string' or 'int32'
      if j < 3 or i <= 4 then table.insert(oneofs[j], ('%s f%d = %d;'):format(kind, number, number)) end
      number = number + 1
    end
  end
  for j, oneof in ipairs(oneofs) do
    table.insert(lines, ('oneof o%d { %s }'):format(j, table.concat(oneof, ' ')))
  end
  for i = number, number + members do
    table.insert(lines, ('optional int32 f%d = %d;'):format(i, i))
  end
  write('M.proto', table.concat(lines, '\n') .. ' }')
  run(protoc .. ' --descriptor_set_out=M.pb M.proto')
  return assert(message.schema(read 'M.pb'))
end

local keys = 0

-- Bytes of fields in any order: a member may come again, and several of one oneof.
local function random_bytes(M, fields, depth)
  local parts = {}
  for i = 1, random(0, 12) do
    local field = fields[random(1, 4) == 1 and random(1, 4) or random(1, #fields)]
    local value = field.kind == 'int32' and random(0, 300) or 'x'
    if field.kind == 'message' then value = depth > 0 and random_bytes(M, fields, depth - 1) or '' end
    if field.map then
      keys = keys + 1 -- protoc keeps a repeated key twice
      value = { [keys] = value }
    elseif field.repeated then
      value = { value }
    end
    parts[i] = assert(M.encode { [field.name] = value })
  end
  return table.concat(parts)
end

test('members that occur many times, in messages that occur many times: protoc reads the same', function()
  for _, members in ipairs { 6, 40 } do
    local schema = new_schema(members)
    local M, fields = schema.type 'M', schema.fields 'M'
    local all, old = {}, {}
    for i = 1, 60 do
      all[i] = random_bytes(M, fields, 3) .. random_bytes(M, fields, 3)
    end
    write('all.bin', assert(M.encode { list = all }))
    run(protoc .. ' --decode=M M.proto <all.bin >all.txt')
    run(protoc .. ' --encode=M M.proto --deterministic_output <all.txt >all.out')
    local theirs = assert(M.decode(read 'all.out')).list
    for i = 1, #all do
      local got = assert(M.decode(all[i]))
      equal(got, theirs[i], check.hex(all[i]))
      equal(assert(M.decode(all[i], nil, old)), got, 'into a table')
      local view = M.view(all[i])
      for _, field in ipairs(fields) do
        if field.kind ~= 'message' then equal(view[field.name], got[field.name], 'view') end
      end
    end
    equal(assert(M.encode(assert(M.decode(read 'all.bin')), { deterministic = true })), read 'all.out')
  end
end)

-- The fewest seconds that work() takes.
local function seconds(work)
  local best = math.huge
  for _ = 1, 5 do
    local start = os.clock()
    work()
    best = math.min(best, os.clock() - start)
  end
  return best
end

-- The same work with a hundred times as many members.
local function costs_the_same(what, make)
  local few, many = make(new_schema(10)), make(new_schema(1000))
  few()
  many()
  local small, large = seconds(few), seconds(many)
  if large > small * 8 + 0.002 then
    error(('%s: %.1f ms with few fields, %.1f ms with many'):format(what, small * 1000, large * 1000), 2)
  end
end

test('the cost does not depend on the number of members and fields', function()
  local rounds = 2000
  local function decodes(options, ...)
    local tables = { ... }
    return function(schema)
      local M, parts = schema.type 'M', {}
      for i, one in ipairs(tables) do
        parts[i] = assert(M.encode(one))
      end
      local bytes, into = table.concat(parts):rep(rounds), options.into and {} or nil
      if options.within then
        bytes = assert(M.encode { [options.within] = options.within == 'list' and { bytes } or bytes })
      end
      return function() assert(M.decode(bytes, nil, into)) end
    end
  end
  costs_the_same('a member again and again', decodes({}, { f5 = 'x' }))
  costs_the_same('two members', decodes({}, { f5 = 'x' }, { f8 = 1 }))
  costs_the_same('a message as a member', decodes({}, { f14 = {} }, { f8 = 1 }))
  costs_the_same('two oneofs', decodes({}, { f5 = 'x' }, { f6 = 'x' }, { f8 = 1 }, { f9 = 1 }))
  costs_the_same('a message again and again', decodes({}, { sub = { f5 = 'x' } }, { sub = { f8 = 1, f9 = 2 } }))
  costs_the_same('messages in a list', decodes({}, { list = { { f5 = 'x' }, {} } }))
  costs_the_same(
    'messages in a list, into a table',
    decodes({ into = true }, { list = { { f5 = 'x' }, { numbers = { 1 } } } })
  )
  costs_the_same('into a table', decodes({ into = true }, { f5 = 'x' }, { f8 = 1 }))
  costs_the_same('in a message', decodes({ within = 'sub' }, { f5 = 'x' }, { f8 = 1 }))
  costs_the_same('in a list', decodes({ within = 'list' }, { f5 = 'x' }, { f8 = 1 }))
end)

test('the cost of a table of many keys does not depend on the number of absent fields', function()
  costs_the_same('encode', function(schema)
    local M, wide = schema.type 'M', { f5 = 'x', f6 = 'y', sub = {}, numbers = { 1 } }
    local fields = schema.fields 'M'
    for i = #fields, #fields - 9, -1 do
      wide[fields[i].name] = i
    end
    for i = 1, 20 do
      wide['f' .. fields[#fields].number - 10 - i * (#fields > 1000 and 40 or 0)] = 1
    end
    return function()
      for _ = 1, 200 do
        assert(M.encode(wide))
      end
    end
  end)
end)

check.done()
