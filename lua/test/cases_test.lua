-- The cases that every language runs: conformance/cases.json.

local check = require 'check'
local message = require 'plait.message'
local schema = assert(message.load(check.folder .. '/all.pb'))

-- JSON, as far as that file needs it.
local function parse(text)
  local at = 1
  local value
  local function skip() at = text:find('[^%s]', at) end
  local function string_of()
    local from, to = text:find('^"[^"]*"', at)
    at = to + 1
    return text:sub(from + 1, to - 1)
  end
  local function list_of(close, one)
    at = at + 1
    skip()
    while text:sub(at, at) ~= close do
      one()
      skip()
      if text:sub(at, at) == ',' then at = at + 1 end
      skip()
    end
    at = at + 1
  end
  function value()
    skip()
    local first = text:sub(at, at)
    if first == '"' then return string_of() end
    local made = {}
    if first == '{' then
      list_of('}', function()
        local key = string_of()
        at = text:find(':', at, true) + 1
        made[key] = value()
      end)
      return made
    elseif first == '[' then
      list_of(']', function() made[#made + 1] = value() end)
      return made
    end
    local from, to = text:find('^-?[%d.]+', at)
    at = to + 1
    return tonumber(text:sub(from, to))
  end
  return value()
end

local file = assert(io.open 'conformance/cases.json')
local cases = parse(file:read '*a').cases
file:close()
assert(#cases > 30)

for _, case in ipairs(cases) do
  check.test(case.name, function()
    local Type = assert(schema.type(case.type))
    local bytes = check.unhex(case.bytes)
    local value, _, code = Type.decode(bytes, { int64 = 'string' })
    if case.error then
      check.equal({ value, code }, { nil, case.error })
      return
    end
    assert(value, code)
    check.equal(check.hex(assert(Type.encode(value))), case.again or case.bytes)
    check.equal(Type.decode(bytes, { int64 = 'string', unknown = false }), case.value)
  end)
end

check.done()
