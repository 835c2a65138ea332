-- plait.message.ffi: flat access on LuaJIT, in a form that its compiler can compile. Calls of the C API end a trace;
-- calls through the FFI do not. So a pattern of plain fields becomes two generated Lua functions, which fill an array
-- of values and call the core. In all other cases (a wrong type, an error, a 64-bit integer that is not a number) they
-- call the functions of core.pattern, which behave the same everywhere.
--
-- A finalizer that the collector runs in between may use the same pattern. `busy` is set then, and core.pattern is
-- called.

local ffi = require 'ffi'
local core = require 'plait.message.core'

ffi.cdef [[
typedef struct {
  union { double number; const char *data; };
  uint32_t length;
  uint32_t present;
} plait_ffi_value;
]]

local registry = debug.getregistry()
local int64, uint64, cell = ffi.typeof 'int64_t', ffi.typeof 'uint64_t', ffi.typeof 'int64_t[1]'

-- For int64 = 'cdata', and for 64-bit integers of the FFI as values: see values.c.
registry['plait.to_cdata'] = function(bits, unsigned)
  local box = cell()
  ffi.copy(box, bits, 8)
  return unsigned and ffi.cast(uint64, box[0]) or box[0]
end
registry['plait.from_cdata'] = function(value)
  local signed = ffi.istype(int64, value)
  if not signed and not ffi.istype(uint64, value) then return nil end
  return ffi.string(cell(value), 8), signed and value < 0
end

if not core.ffi then return false end

local pack_address, unpack_address = core.ffi()
local pack = ffi.cast('int (*)(const void *, plait_ffi_value *, char *, int)', pack_address)
local unpack = ffi.cast('int (*)(const void *, const char *, size_t, plait_ffi_value *)', unpack_address)

local BUFFER = 1024
local values_of, buffer_of = ffi.typeof 'plait_ffi_value[?]', ffi.typeof 'char[?]'

-- kinds: one letter for each value. n: a number; b: a boolean; s: a string.
local to_value = {
  n = "if type(a%d) == 'number' then values[%d].number = a%d values[%d].present = 1 elseif a%d == nil then values[%d].present = 0 else return slow_pack(%s) end",
  b = "if type(a%d) == 'boolean' then values[%d].number = a%d and 1 or 0 values[%d].present = 1 elseif a%d == nil then values[%d].present = 0 else return slow_pack(%s) end",
  s = "if type(a%d) == 'string' then values[%d].data = a%d values[%d].length = #a%d values[%d].present = 1 elseif a%d == nil then values[%d].present = 0 else return slow_pack(%s) end",
}
local from_value = {
  n = 'local a%d if values[%d].present ~= 0 then a%d = values[%d].number end',
  b = 'local a%d if values[%d].present ~= 0 then a%d = values[%d].number ~= 0 end',
  s = 'local a%d, n%d if values[%d].present ~= 0 then a%d, n%d = values[%d].data, values[%d].length end',
}

local function numbered(template, i, list)
  return (template:gsub('%%([ds])', function(kind) return kind == 'd' and tostring(i) or list end))
end

local function source_of(kinds)
  local names, filled, read, made = {}, {}, {}, {}
  for i = 0, #kinds - 1 do
    names[#names + 1] = 'a' .. i
  end
  local list = table.concat(names, ', ')
  for i = 0, #kinds - 1 do
    local kind = kinds:sub(i + 1, i + 1)
    filled[#filled + 1] = numbered(to_value[kind], i, list)
    read[#read + 1] = numbered(from_value[kind], i, list)
    if kind == 's' then made[#made + 1] = ('if a%d ~= nil then a%d = to_string(a%d, n%d) end'):format(i, i, i, i) end
  end
  return ([[
    local values, buffer, pattern, pack, unpack, slow_pack, slow_unpack, to_string, size = ...
    local type = type
    local busy = false
    local function fast_pack(%s)
      if busy then return slow_pack(%s) end
      busy = true
      local length = -1
      do
        %s
      end
      length = pack(pattern, values, buffer, size)
      if length < 0 then
        busy = false
        return slow_pack(%s)
      end
      local bytes = to_string(buffer + (size - length), length)
      busy = false
      return bytes
    end
    local function fast_unpack(bytes, length)
      if busy or type(bytes) ~= 'string' then return slow_unpack(bytes, length) end
      busy = bytes -- keeps the bytes alive as long as values point into them
      if unpack(pattern, bytes, #bytes, values) ~= 0 then
        busy = false
        return slow_unpack(bytes)
      end
      %s
      %s
      busy = false
      return %s
    end
    return fast_pack, fast_unpack
  ]]):format(
    list,
    list,
    (table.concat(filled, '\n'):gsub('return slow_pack', 'busy = false return slow_pack')),
    list,
    table.concat(read, '\n'),
    table.concat(made, '\n'),
    list
  )
end

-- core.pattern, with fast functions if the pattern's fields allow them.
return function(handle, keys, text, options)
  local pattern, userdata, code = core.pattern(handle, keys, text, options)
  if not pattern then return nil, userdata, code end
  local kinds = core.ffi_kinds(userdata)
  if not kinds or #kinds == 0 or #kinds > 50 then return pattern end
  local fast = assert(loadstring(source_of(kinds), '=plait.pattern'))
  pattern.pack, pattern.unpack = fast(
    values_of(#kinds),
    buffer_of(BUFFER),
    ffi.cast('const void *', userdata),
    pack,
    unpack,
    pattern.pack,
    pattern.unpack,
    ffi.string,
    BUFFER
  )
  return pattern
end
