-- The program that the conformance runner of Protocol Buffers talks to: binary in, binary out; all else is skipped.
--
--     LUA_PATH=… LUA_CPATH=… lua5.4 conformance/testee.lua DESCRIPTORS
--
-- On standard input and output: a length of four bytes, little-endian, then a ConformanceRequest or -Response.
-- run.sh starts the runner with it.

local message = require 'plait.message'

local schema = assert(message.load(assert(arg[1], 'which descriptors?')))
local Request = assert(schema.type 'conformance.ConformanceRequest')
local Response = assert(schema.type 'conformance.ConformanceResponse')

local function answer(request)
  if request.message_type == 'conformance.FailureSet' then return { protobuf_payload = '' } end
  if not request.protobuf_payload then return { skipped = 'only binary input' } end
  if request.requested_output_format ~= 'PROTOBUF' then return { skipped = 'only binary output' } end
  local Type, reason = schema.type(request.message_type)
  if not Type then return { skipped = reason } end
  local value, problem = Type.decode(request.protobuf_payload)
  if not value then return { parse_error = problem } end
  local bytes, failure = Type.encode(value)
  if not bytes then return { serialize_error = failure } end
  return { protobuf_payload = bytes }
end

while true do
  local head = io.read(4)
  if not head or #head < 4 then break end
  local a, b, c, d = head:byte(1, 4)
  local length = a + b * 256 + c * 65536 + d * 16777216
  local request = assert(Request.decode(length > 0 and io.read(length) or ''))
  local bytes = assert(Response.encode(answer(request)))
  local size = #bytes
  io.write(
    string.char(size % 256, math.floor(size / 256) % 256, math.floor(size / 65536) % 256, math.floor(size / 16777216)),
    bytes
  )
  io.flush()
end
