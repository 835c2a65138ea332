-- plait.message: Protocol Buffers with schemas that are loaded at run time. docs/reference/lua.md has the whole API.
--
--     local schema = assert(message.load 'person.pb')
--     local Person = assert(schema.type 'tutorial.Person')
--     local bytes = assert(Person.encode { name = 'Alice', id = 123 })
--     local person = assert(Person.decode(bytes))
--
-- Every object is a table of its functions, called with a dot, so each can be kept in a local. For wrong bytes, values
-- or names, functions return nil, message, code. Misuse of a function raises an error.

local core = require 'plait.message.core'

local message = {
  unknown = core.unknown, -- the key under which decode keeps unknown fields, as one string of encoded fields
}

local pattern_of = core.pattern
if type(jit) == 'table' and jit.status then
  local ok, ffi_pattern = pcall(require, 'plait.message.ffi') -- also for 64-bit integers, where nothing is compiled
  if ok and ffi_pattern and jit.status() then pattern_of = ffi_pattern end
end

local function schema_of(handle, keys, code)
  if not handle then return nil, keys, code end
  local schema = { is_plait = true }

  -- A message type: { encode, decode, view, name }.
  function schema.type(name, options) return core.type(handle, keys, name, options) end

  -- Flat access by a list of names: { pack, unpack }.
  function schema.pattern(text, options)
    local pattern, reason, status = pattern_of(handle, keys, text, options)
    if not pattern then return nil, reason, status end
    return pattern
  end

  -- { [full name] = 'message' | 'enum' }
  function schema.types() return core.types(handle) end

  -- The fields of a message type in the order of their numbers; nil if there is no such type.
  function schema.fields(name) return core.fields(handle, keys, name) end

  -- { [value name] = number }; nil if there is no such enum.
  function schema.enum(name) return core.enum(handle, name) end

  -- The schema as one block: its bytes for message.thaw, then its address and length in this process for message.share.
  function schema.freeze() return core.freeze(handle) end

  return schema
end

-- A schema from the bytes of one or more FileDescriptorSets (protoc --include_imports --descriptor_set_out).
function message.schema(...)
  for i = 1, select('#', ...) do
    if type((select(i, ...))) ~= 'string' then
      error('message.schema takes strings: the bytes of descriptor sets', 2)
    end
  end
  return schema_of(core.schema(table.concat { ... }))
end

-- The same from a file.
function message.load(path)
  local file, reason = io.open(path, 'rb')
  if not file then return nil, reason, 'FILE' end
  local bytes = file:read '*a'
  file:close()
  if not bytes then return nil, 'cannot read ' .. path, 'FILE' end
  return schema_of(core.schema(bytes))
end

-- A schema from the bytes of schema.freeze(). It only copies and checks them.
function message.thaw(bytes)
  if type(bytes) ~= 'string' then error('message.thaw takes the bytes of schema.freeze()', 2) end
  return schema_of(core.image(bytes))
end

-- The schema of descriptor.proto: FileDescriptorSet and all that is in it.
function message.descriptor() return message.schema((require 'plait.message.descriptor')) end

-- A schema in memory that the caller owns. The memory must stay valid and unchanged as long as the schema is used.
function message.share(address, length) return schema_of(core.image(address, length)) end

-- A view as a table.
function message.expand(view) return core.expand(view) end

-- The encoded bytes of a view, and the name of its type.
function message.bytes(view) return core.view_bytes(view) end

return message
