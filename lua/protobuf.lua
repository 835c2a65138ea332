-- protobuf: the Lua API of cloudwu's pbc, for programs that were written for it. docs/reference/lua-pbc.md lists the
-- differences.

local core = require 'plait.message.core'
local descriptor = require 'plait.message.descriptor'

-- The schema of all these sets, and of descriptor.proto, which pbc knows, too. It comes last, so that a newer one of
-- the user's wins. If a file of another name has the same types, only the user's file counts.
local function schema_of(sets)
  local bytes = table.concat(sets)
  local handle, keys, code = core.schema(bytes, true, descriptor)
  if code == 'SCHEMA' then return core.schema(bytes, true) end
  return handle, keys
end

local types, patterns = {}, {} -- caches by name, emptied by each registration
local state = { sets = {} }
state[1], state[2] = assert(schema_of {})
local bound = core.pbc(state, types, patterns)

local protobuf = {
  -- (type, table [, function, ...]): bytes, or what the function returns for (address, length, ...)
  encode = bound.encode,
  decode = bound.decode, -- (type, bytes) or (type, address, length): table, or false and a message
  pack = bound.pack, -- (pattern, ...): bytes
  unpack = bound.unpack, -- (pattern, bytes) or (pattern, address, length): values; nothing if the bytes are malformed
}

local function clear(cache)
  for key in pairs(cache) do
    cache[key] = nil
  end
end

-- Adds the files of a FileDescriptorSet. A file that is known by its name is skipped.
function protobuf.register(bytes)
  if type(bytes) ~= 'string' then error('register takes the bytes of a descriptor set', 2) end
  local sets = state.sets
  if sets[bytes] then return end -- some programs register a set again wherever they use one of its types
  sets[#sets + 1] = bytes
  local handle, keys = schema_of(sets)
  if not handle or bytes == '' then
    sets[#sets] = nil
    state.error = handle and 'an empty set' or keys
    error('register fail', 2)
  end
  sets[bytes] = true
  state[1], state[2] = handle, keys
  clear(types)
  clear(patterns)
end

function protobuf.register_file(path)
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read '*a'
  file:close()
  protobuf.register(bytes)
end

-- Whether there is such a type, or such a field in it.
function protobuf.check(name, field)
  local fields = core.fields(state[1], state[2], name)
  if not fields then return field == nil and core.enum(state[1], name) ~= nil end
  if field == nil then return true end
  for _, one in ipairs(fields) do
    if one.name == field then return true end
  end
  return false
end

-- The number of an enum's value, nil if there is none.
function protobuf.enum_id(name, value)
  local numbers = core.enum(state[1], name)
  return numbers and numbers[value]
end

-- The reason of the last failure, once.
function protobuf.lasterror()
  local text = state.error
  state.error = nil
  return text
end

local DEPTH = 200 -- 100 messages in each other, with a list or map between

local function extract(message, depth)
  if depth == 0 then error('messages are nested deeper than the limit', 0) end
  core.touch(message)
  for _, value in next, message do
    if type(value) == 'table' then extract(value, depth - 1) end
  end
end

-- Decodes all sub-messages that are not decoded yet.
function protobuf.extract(message)
  extract(message, DEPTH)
  return message
end

-- Gives a table that the program has created, and all messages in it, the defaults of its type.
function protobuf.default(name, message)
  local fields = core.fields(state[1], state[2], name)
  if not fields then error('no message type has the name ' .. tostring(name), 2) end
  core.touch(message)
  for _, field in ipairs(fields) do
    local value = rawget(message, field.name)
    if type(value) == 'table' and field.type and field.kind ~= 'enum' then
      if field.map then
        local entry = core.fields(state[1], state[2], field.type)[2]
        if entry.type and entry.kind ~= 'enum' then
          for _, element in pairs(value) do
            protobuf.default(entry.type, element)
          end
        end
      elseif field.repeated then
        for _, element in ipairs(value) do
          protobuf.default(field.type, element)
        end
      else
        protobuf.default(field.type, value)
      end
    end
  end
  return setmetatable(message, core.metatable(state[2], state[1], name, false))
end

-- Where modules are globals, pbc was one.
if _VERSION == 'Lua 5.1' then _G.protobuf = protobuf end

return protobuf
